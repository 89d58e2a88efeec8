/* watch.h — waits until a queue or a group is empty, asleep or by a notification.
 *
 * A set is a list of records that changes only under the watch's lock. A thread that finds the set empty
 * under the lock ends all waits that began before. Later submissions belong to later waits. A record with
 * outstanding jobs is watched while a thread is interested. Its last job calls odi_watch_changed before any
 * other thread can see that job's end. A leave() followed by an enter() therefore releases the waiters in
 * between.
 *
 * The notifications of an empty moment are called before its waiters are released. A wait ends when a thread
 * finds the set empty, or at its deadline.
 *
 * Edges    L1   complete -> notification   release/acquire   the jobs' writes
 *          L10  release -> wait            release/acquire   the jobs' writes, for a sleeper
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

/* A waiter, on the waiting thread's stack. */
typedef struct odi_watch_waiter {
    odi_atomic(uint32_t) released; /* bits: released (its frame may be gone afterwards); asleep, or about to
                                      sleep */
    bool met;                      /* the set was empty since the wait began; under the lock, as the rest */
    struct odi_watch_waiter *next, **link;
} odi_watch_waiter;

typedef struct {
    odi_lock lock;
    odi_atomic(uint32_t) interested; /* a thread waits or is to be notified; written under the lock */
    odi_watch_waiter *waiters;
    odi_notification *notifications, *last_notification;
} odi_watch;

/* The records of a queue or a group. */
typedef struct {
    odi_watch *watch;
    odi_record **first;             /* active records, and perhaps others */
    odi_record_walk *next;
    uint64_t known;                 /* ODI_COUNTS_KNOWN_TO_QUEUE or _GROUP: the bit that marks a record as
                                       active */
    void (*made_unknown)(odi_record *record); /* called when a record is deactivated; may be NULL */
} odi_set;

/* Whether the set is empty now. */
bool odi_watch_is_empty(const odi_set *set);

/* Whether the set is empty, under the lock. With `watching` and a false result, a watched record remains
 * whose last job notifies. */
bool odi_set_is_empty(const odi_set *set, bool watching);

/* A wait: begin, then any number of sleeps until released or a deadline, then end unless released. Each
 * function returns true if the set was empty since the wait began. */
bool odi_watch_begin(const odi_set *set, odi_watch_waiter *waiter);
bool odi_watch_sleep(odi_watch_waiter *waiter, int64_t deadline_ns);
bool odi_watch_end(const odi_set *set, odi_watch_waiter *waiter);

/* Whether the set has been empty since the wait began. The waiter is released after that moment's
 * notifications, perhaps later. Submissions after the moment do not belong to this wait. */
bool odi_watch_is_met(const odi_set *set, odi_watch_waiter *waiter);

/* Whether the wait has been released; it is then finished and needs no end. */
static inline bool odi_watch_is_released(odi_watch_waiter *waiter)
{
    return odi_load_acquire(&waiter->released, L10) & ODI_WATCH_RELEASED;
}

/* Calls function(context) once, on the thread that finds the set empty first: on this thread if it is empty
 * now. Returns false if an allocation fails. */
bool odi_watch_notify(const odi_set *set, odi_function *function, void *context);

/* Called when a watched record of the set has become empty. The lock is not held. */
void odi_watch_changed(const odi_set *set);

void odi_watches_forked(void);

#pragma GCC visibility pop

#endif
