/* semaphore.h — semaphores whose permits go to the longest waiter.
 *
 * A positive value counts permits; a negative value counts waiters without a signal on the way. One addition
 * decides: a wait that finds a permit owns it, and a signal that finds a waiter owes it a permit. Only then
 * is the lock taken, and the permit goes to the head of the list, so that no later thread can take it.
 * Signals and waiters may reach the lock in any order; `owed` accounts for this:
 *
 *     above zero   permits of signals that arrived before their waiters: no waiter is listed
 *     below zero   signals on their way to waiters that gave up: the value already has their permits
 *
 * States of a waiter   NEW -> LISTED      it joins the list
 *                      LISTED -> GRANTED  signal
 *                      LISTED -> GONE     it gives up
 *                      NEW -> GONE        it gives up before it is listed, or with a permit
 *
 * Owns     the list; a waiter's memory belongs to its caller.
 * Threads  any thread; one thread starts a waiter, another may cancel it.
 *
 * A wait ends by a signal, or by giving up (deadline, cancellation).
 *
 * Edges    M1  signal -> wait   release/acquire   the signaller's writes
 *          M2  grant -> wait    release/acquire   the signaller's writes, for a sleeper
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

enum { ODI_WAITER_HAS_PERMIT = 1, ODI_WAITER_SLEEPS = 2 };

typedef struct odi_waiter {
    odi_atomic(uint32_t) granted; /* bits: has its permit; asleep, or about to sleep. A sleeper's futex word */
    odi_waiter_state state;       /* under the lock */
    struct odi_waiter *before, *after;
    odi_function *function; /* called with the context when granted; NULL: a thread sleeps */
    void *context;
} odi_waiter;

struct odi_semaphore {
    odi_atomic(int64_t) value;
    odi_lock lock;
    odi_waiter *first, *last; /* under the lock, as the next line */
    int64_t owed;
    int64_t initial;          /* constant */
    ODI_LINE_ALIGNED char link_of_the_arena[ODI_CACHE_LINE];
};

#endif
