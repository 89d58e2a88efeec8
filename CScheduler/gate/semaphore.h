/* semaphore.h — permits that are handed to whoever has waited longest.
 *
 * The value counts permits above zero and, below it, waiters that no signal is on its way to.
 * One addition decides everything: a wait that finds a permit has it, a signal that finds a
 * waiter owes it one. Only then is the lock taken, and the permit handed to the head of the
 * list, so that nobody who comes later can take it. Signals and waiters may reach the lock in
 * any order, which `owed` settles:
 *
 *     above zero   permits of signals that came before the waiters they belong to: nobody is listed
 *     below zero   signals on their way to waiters who gave up: their permits are in the value already
 *
 * States of a waiter   NEW -> LISTED      it gets in line
 *                      LISTED -> GRANTED  signal
 *                      LISTED -> GONE     giving up
 *                      NEW -> GONE        giving up before it gets in line, or with a permit
 *
 * Owns     the list; a waiter's memory is its caller's.
 * Threads  anyone; one thread begins a waiter, another may make it give up.
 * How a wait ends: by a signal, or by giving up (deadline, cancellation).
 *
 * Edges    M1  signal -> wait   release/acquire   what the signaller wrote
 *          M2  grant -> wait    release/acquire   the same, for who sleeps
 */
#ifndef ODI_GATE_SEMAPHORE_H
#define ODI_GATE_SEMAPHORE_H

#include "base/atomic.h"
#include "base/cache_line.h"
#include "include/od_semaphore.h"
#include "job/job.h"
#include "sleep/lock.h"

typedef enum {
    ODI_WAITER_NEW, ODI_WAITER_LISTED, ODI_WAITER_GRANTED, ODI_WAITER_GONE
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
    odi_waiter *first, *last; /* under the lock, like this: */
    int64_t owed;
    int64_t initial;          /* constant */
    ODI_LINE_ALIGNED char link_of_the_arena[ODI_CACHE_LINE];
};

#endif
