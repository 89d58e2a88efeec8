/* watch.h — waiting until a queue or a group is empty, asleep or by notification.
 *
 * A set is a chain of records that changes only under the watch's lock. It is empty at one moment, and
 * whoever finds that out, under the lock, has found a moment that ends the waits that began before it,
 * and no others: what is submitted next begins another round. A record with outstanding jobs is watched
 * while anybody is interested; its last job calls odi_watch_changed, before that job's end is told to
 * anybody else. So a leave() that is followed by an enter() has released who waited in between.
 *
 * A moment's notifications are made before its waiters are released.
 *
 * How a wait ends: by who finds the moment, or its deadline.
 *
 * Edges    L1   complete -> notification   release/acquire   what the bodies wrote
 *          L10  release -> wait            release/acquire   the same, for who sleeps
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

enum { ODI_WATCH_RELEASED = 1, ODI_WATCH_SLEEPS = 2 };

/* Somebody who waits, on the stack of who does. */
typedef struct odi_watch_waiter {
    odi_atomic(uint32_t) released; /* it may go on, and its frame may be gone; it sleeps, or is about to */
    bool met;                      /* its moment has come; under the lock, as the rest */
    struct odi_watch_waiter *next, **link;
} odi_watch_waiter;

typedef struct {
    odi_lock lock;
    odi_atomic(uint32_t) interested; /* somebody waits or is to be notified; written under the lock */
    odi_watch_waiter *waiters;
    odi_notification *notifications, *last_notification;
} odi_watch;

/* The records of a queue or a group. */
typedef struct {
    odi_watch *watch;
    odi_record **first;             /* those that are known, and perhaps others */
    odi_record_walk *next;
    uint64_t known;                 /* ODI_COUNTS_KNOWN_TO_QUEUE, or _GROUP */
    void (*made_unknown)(odi_record *record); /* may be NULL */
} odi_set;

/* Whether the set is empty now. */
bool odi_watch_is_empty(const odi_set *set);

/* The same under the lock. With `watching`, "no" leaves a record whose last job tells. */
bool odi_set_is_empty(const odi_set *set, bool watching);

/* A wait: begin, sleep until released or a deadline as often as one likes, end unless released.
 * True, all: the set was empty since the wait began. */
bool odi_watch_begin(const odi_set *set, odi_watch_waiter *waiter);
bool odi_watch_sleep(odi_watch_waiter *waiter, int64_t deadline_ns);
bool odi_watch_end(const odi_set *set, odi_watch_waiter *waiter);

/* Whether the set has been empty since the wait began. The waiter is released when the moment's notifications
 * are made, which may be later; what is submitted from that moment on is none of its. */
bool odi_watch_is_met(const odi_set *set, odi_watch_waiter *waiter);

/* Whether it has been released: its wait is over, without an end. */
static inline bool odi_watch_is_released(odi_watch_waiter *waiter)
{
    return odi_load_acquire(&waiter->released, L10) & ODI_WATCH_RELEASED;
}

/* Calls function(context) once, on the thread that finds the set empty first: on this one if
 * it is empty now. False: memory is short. */
bool odi_watch_notify(const odi_set *set, odi_function *function, void *context);

/* A watched record of the set has drained. Without the lock. */
void odi_watch_changed(const odi_set *set);

void odi_watches_forked(void);

#pragma GCC visibility pop

#endif
