/* watch.h — waiting until a set of records is empty, asleep or by notification.
 *
 * The set is a chain of records that changes only under the watch's lock. Waiting is: read
 * the epoch, watch the first record with outstanding jobs (the last of them will call
 * odi_watch_changed), sleep on the epoch, look again. A record that drains after the look has
 * changed the epoch by then.
 *
 * How a wait ends: by odi_watch_changed, or its deadline.
 *
 * Edges    L1  complete -> wait, notification   release/acquire   what the bodies wrote
 */
#ifndef ODI_JOB_WATCH_H
#define ODI_JOB_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "job/record.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

typedef struct odi_notification odi_notification;

typedef struct {
    odi_lock lock;
    odi_atomic(uint32_t) epoch;
    /* Waiters above, notifications below: none spares the work, and no waiter the system call. */
    odi_atomic(uint64_t) interested;
    odi_notification *notifications, *last_notification;
} odi_watch;

/* Whether the set that begins at *first is empty now. */
bool odi_watch_is_empty(odi_watch *watch, odi_record **first, odi_record_walk *next);

/* Sleeps until the set that begins at *first is empty. False: the deadline came first. */
bool odi_watch_wait(odi_watch *watch, odi_record **first, odi_record_walk *next,
                    int64_t deadline_ns);

/* Calls function(context) once, on the thread that finds the set empty first: on this one if
 * it is empty now. False: memory is short. */
bool odi_watch_notify(odi_watch *watch, odi_record **first, odi_record_walk *next,
                      odi_function *function, void *context);

/* A watched record of the set has drained: waiters look again, notifications that are due
 * are made. Without the lock. */
void odi_watch_changed(odi_watch *watch, odi_record **first, odi_record_walk *next);

#pragma GCC visibility pop

#endif
