/* od_semaphore.h — counting semaphores that serve the longest waiter first.
 *
 * Unless a comment states otherwise, a function may be called from any thread, and from inside jobs. The
 * caller keeps the semaphore alive during a call.
 */
#ifndef OD_SEMAPHORE_H
#define OD_SEMAPHORE_H

#include <stdbool.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct odi_semaphore od_semaphore;

/* Creates a semaphore with `value` permits, 0 or more. Returns NULL if an allocation fails. */
od_semaphore *od_semaphore_create(int64_t value);

/* Frees the semaphore. Traps if it has fewer permits than at creation, because a holder or a waiter remains. */
void od_semaphore_release(od_semaphore *semaphore);

/* Takes a permit, and waits in arrival order if none is free. Returns false if the timeout passes first
 * (nanoseconds; INT64_MAX: none). A timeout of 0 or less only checks. A permit that a signal gives at the
 * moment of the timeout stays with the semaphore. A worker that waits may be replaced by a spare. */
bool od_semaphore_wait(od_semaphore *semaphore, int64_t timeout_ns);

/* Returns a permit. If a thread waits, the longest waiter receives the permit and the call returns true. */
bool od_semaphore_signal(od_semaphore *semaphore);

/* Returns the number of free permits, or below zero the number of waiters. The value is a hint while it
 * changes. */
int64_t od_semaphore_value(od_semaphore *semaphore);

/* ---- waiting without a thread ---- */

/* One asynchronous wait: one thread starts it once, and any other thread may cancel it, before or after the
 * start. */
typedef struct odi_waiter od_semaphore_waiter;

typedef enum od_semaphore_outcome {
    OD_SEMAPHORE_TAKEN = 0,    /* has a permit; the function is not called */
    OD_SEMAPHORE_WAITS = 1,    /* the function is called once it has a permit */
    OD_SEMAPHORE_CANCELLED = 2 /* neither */
} od_semaphore_outcome;

/* NULL if out of memory. */
od_semaphore_waiter *od_semaphore_waiter_create(void (*function)(void *), void *context);
void od_semaphore_waiter_free(od_semaphore_waiter *waiter);

/* Starts the wait without blocking the thread. The caller frees the waiter after its function was called,
 * after TAKEN or CANCELLED, or after a cancel that returned true. */
od_semaphore_outcome od_semaphore_wait_async(od_semaphore *semaphore,
                                             od_semaphore_waiter *waiter);

/* Returns true if the waiter was in the wait queue, so that its function will not be called. */
bool od_semaphore_cancel(od_semaphore *semaphore, od_semaphore_waiter *waiter);

OD_END_DECLS
#endif
