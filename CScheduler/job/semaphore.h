/* semaphore.h — permits that are handed to whoever has waited longest.
 *
 * The value counts permits above zero and, below it, waiters that no signal is on its way to.
 * One addition decides everything: a wait that finds a permit has it, a signal that finds a
 * waiter owes it one. Only then is the lock taken, and the permit handed to the head of the
 * list, so that nobody who comes later can take it. Signals and waiters may reach the lock in
 * any order; what they owe each other is a gate of no permits (job/gate.h), which each signal leaves and
 * each waiter enters:
 *
 *     held below zero   permits of signals that came before the waiters they belong to
 *     held above zero   permits that waiters who gave up have taken before their signals came
 *
 * States of a waiter   NEW -> LISTED      begin
 *                      NEW -> GRANTED     begin, when its permit was there first
 *                      LISTED -> GRANTED  signal, or giving up when a signal is on its way
 *                      LISTED -> GONE     giving up
 *                      NEW -> GONE        giving up before begin
 *
 * Owns     the list; a waiter's memory is its caller's.
 * Threads  anyone; one thread begins a waiter, another may make it give up.
 * How a wait ends: by a signal, or by giving up (deadline, cancellation).
 *
 * Edges    M1  signal -> wait   release/acquire   what the signaller wrote
 */
#ifndef ODI_JOB_SEMAPHORE_H
#define ODI_JOB_SEMAPHORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "include/od_semaphore.h"
#include "job/gate.h"
#include "job/job.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

typedef struct odi_semaphore odi_semaphore;

typedef enum {
    ODI_WAITER_NEW,
    ODI_WAITER_LISTED,
    ODI_WAITER_GRANTED,
    ODI_WAITER_GONE
} odi_waiter_state;

typedef struct odi_waiter {
    odi_atomic(uint32_t) granted; /* a sleeper's futex word */
    odi_waiter_state state;       /* under the lock */
    struct odi_waiter *before, *after;
    odi_function *function; /* called with the context when it is granted; NULL: it sleeps */
    void *context;
} odi_waiter;

struct odi_semaphore {
    odi_atomic(int64_t) value;
    odi_lock lock;
    odi_gate gate; /* under the lock, like these */
    odi_waiter *first, *last;
    int64_t initial; /* constant */
    ODI_LINE_ALIGNED char link_of_the_arena[ODI_CACHE_LINE];
};

/* With `value` permits; NULL when memory is short. */
odi_semaphore *odi_semaphore_new(int64_t value);
void odi_semaphore_free(odi_semaphore *semaphore);

/* Takes a permit if there is one. */
bool odi_semaphore_try(odi_semaphore *semaphore);

/* Takes a permit, or gets in line. A waiter that sleeps goes on with odi_semaphore_await. */
odi_waiter_state odi_semaphore_begin(odi_semaphore *semaphore, odi_waiter *waiter);

/* Sleeps until the waiter has a permit. False: the deadline came first, and it is still in
 * line. */
bool odi_semaphore_await(odi_waiter *waiter, int64_t deadline_ns);

/* Leaves the line. False: it has a permit, because a signal came before. */
bool odi_semaphore_give_up(odi_semaphore *semaphore, odi_waiter *waiter);

/* In a forked child: who waited is not there. */
void odi_semaphores_forked(void);

#pragma GCC visibility pop

#endif
