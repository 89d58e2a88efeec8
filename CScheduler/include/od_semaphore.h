/* od_semaphore.h — counting semaphores that serve whoever has waited longest.
 *
 * Unless a function says otherwise it may be called from any thread, and from inside jobs.
 * The caller keeps the semaphore alive during a call.
 */
#ifndef OD_SEMAPHORE_H
#define OD_SEMAPHORE_H

#include <stdbool.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct odi_semaphore od_semaphore;

/* With `value` permits, 0 or more. NULL when memory is short. */
od_semaphore *od_semaphore_create(int64_t value);

/* Traps when fewer permits are there than at the beginning: somebody still has one, or waits. */
void od_semaphore_release(od_semaphore *semaphore);

/* Takes a permit, waiting for one in line. False: the timeout (nanoseconds; INT64_MAX: none;
 * 0 or less only looks) came first; what a signal
 * gives at that very moment stays with the semaphore. A worker that waits hands its place over. */
bool od_semaphore_wait(od_semaphore *semaphore, int64_t timeout_ns);

/* Gives one permit, to the longest waiter if there is one (true). */
bool od_semaphore_signal(od_semaphore *semaphore);

/* Permits there are now, or, below zero, waiters. A hint while it changes. */
int64_t od_semaphore_value(od_semaphore *semaphore);

/* ---- waiting without a thread ---- */

/* One wait: begun once, by one thread; any other may cancel it, before or after. */
typedef struct odi_waiter od_semaphore_waiter;

typedef enum od_semaphore_outcome {
    OD_SEMAPHORE_TAKEN = 0,    /* it has a permit; the function is not called */
    OD_SEMAPHORE_WAITS = 1,    /* the function is called when it has one */
    OD_SEMAPHORE_CANCELLED = 2 /* neither */
} od_semaphore_outcome;

/* NULL when memory is short. */
od_semaphore_waiter *od_semaphore_waiter_create(void (*function)(void *), void *context);
void od_semaphore_waiter_free(od_semaphore_waiter *waiter);

od_semaphore_outcome od_semaphore_wait_async(od_semaphore *semaphore,
                                             od_semaphore_waiter *waiter);

/* True: the waiter was in line, and its function will not be called. */
bool od_semaphore_cancel(od_semaphore *semaphore, od_semaphore_waiter *waiter);

OD_END_DECLS
#endif
