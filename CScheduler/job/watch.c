/* watch.c — waits for and notifications of an empty set of records. gate/wait.c and groups call it.
 * Notifications are called without a lock. */
#include "job/watch.h"

#include <stdlib.h>

#include "os/futex.h"
#include "sleep/idle.h"

struct odi_notification {
    odi_notification *next;
    odi_function *function;
    void *context;
};

/* ---- emptiness: lock held ---- */

/* Whether the set is empty. `last` is the one record that may still be active among those read so far. It was
 * empty when the others were already inactive. */
bool odi_set_is_empty(const odi_set *set, bool watching)
{
    odi_record *last = NULL, *next;

    for (odi_record *record = *set->first; record != NULL; record = next) {
        next = set->next(record);
        /* relaxed: written under the lock that is held */
        if (!(odi_load_relaxed(&record->counts) & set->known))
            continue;
        if (!odi_record_is_empty(record, watching))
            return false;
        if (last != NULL) {
            if (!odi_record_make_unknown(last, set->known, watching))
                return false;
            if (set->made_unknown != NULL)
                set->made_unknown(last);
        }
        last = record;
    }
    return last == NULL || odi_record_is_empty(last, watching);
}

static bool somebody_is_interested(const odi_watch *watch)
{
    return watch->waiters != NULL || watch->notifications != NULL;
}

static void join(odi_watch_waiter **first, odi_watch_waiter *waiter)
{
    waiter->next = *first;
    waiter->link = first;
    if (*first != NULL)
        (*first)->link = &waiter->next;
    *first = waiter;
}

static void take_off(odi_watch_waiter *waiter)
{
    *waiter->link = waiter->next;
    if (waiter->next != NULL)
        waiter->next->link = waiter->link;
}

/* ---- an empty moment ---- */

static uint64_t forks; /* number of forks from the first process to this one */

void odi_watches_forked(void)
{
    forks++;
}

/* Calls the notifications. Returns false in the child, if one of them has forked: the remaining notifications
 * and all waiters belong to the parent. */
static bool notify(odi_notification *due)
{
    uint64_t before = forks;

    while (due != NULL) {
        odi_notification *following = due->next;

        due->function(due->context);
        if (forks != before)
            return false;
        free(due);
        due = following;
    }
    return true;
}

/* Releases the waiters. Lock held; releases it. A waiter whose deadline passes in between removes itself. */
static void release(odi_watch *watch, odi_watch_waiter **first)
{
    while (*first != NULL) {
        odi_watch_waiter *waiter = *first;

        take_off(waiter);
        bool more = *first != NULL;
        bool sleeps = odi_add_release(&waiter->released, ODI_WATCH_RELEASED, L10) & ODI_WATCH_SLEEPS;
        odi_lock_release(&watch->lock);
        /* `waiter` may be gone by now; the futex call uses its address only. */
        if (sleeps && odi_futex_wake(&waiter->released, 1) > 0)
            odi_woke_a_sleeper = true;
        if (!more)
            return;
        odi_lock_acquire(&watch->lock);
    }
    odi_lock_release(&watch->lock);
}

/* Ends all waits: notifications first, then waiters. Lock held; releases it. Every listed waiter began before
 * this moment. */
static void meet(odi_watch *watch)
{
    odi_notification *due = watch->notifications;
    odi_watch_waiter *first = watch->waiters;

    watch->notifications = NULL;
    watch->waiters = NULL;
    odi_store_relaxed(&watch->interested, 0); /* relaxed: a hint until the lock is held */
    for (odi_watch_waiter *each = first; each != NULL; each = each->next)
        each->met = true;
    if (first != NULL)
        first->link = &first;
    if (due != NULL) {
        odi_lock_release(&watch->lock);
        if (!notify(due))
            return;
        odi_lock_acquire(&watch->lock);
    }
    release(watch, &first);
}

/* Ends the waits if the set is empty. Lock held; releases it. */
static void signal_empty(odi_watch *watch, bool empty)
{
    bool interested = somebody_is_interested(watch);

    if (empty && interested) {
        meet(watch);
        return;
    }
    odi_store_relaxed(&watch->interested, interested); /* relaxed: as in meet */
    odi_lock_release(&watch->lock);
}

/* Sets the interest before a record is watched. The thread that empties a watched record then sees the
 * interest, by L1 on the record's job count. Lock held. */
static void show_interest(odi_watch *watch)
{
    odi_store_relaxed(&watch->interested, 1); /* relaxed: L1 carries it */
}

void odi_watch_changed(const odi_set *set)
{
    if (odi_load_relaxed(&set->watch->interested) == 0) /* relaxed: L1 carries it */
        return;
    odi_lock_acquire(&set->watch->lock);
    signal_empty(set->watch, odi_set_is_empty(set, true));
}

/* ---- waiting ---- */

bool odi_watch_is_empty(const odi_set *set)
{
    odi_lock_acquire(&set->watch->lock);
    bool empty = odi_set_is_empty(set, false);
    signal_empty(set->watch, empty);
    return empty;
}

bool odi_watch_begin(const odi_set *set, odi_watch_waiter *waiter)
{
    odi_store_relaxed(&waiter->released, 0); /* relaxed: not shared yet */
    waiter->met = false;
    odi_lock_acquire(&set->watch->lock);
    show_interest(set->watch);
    bool empty = odi_set_is_empty(set, true);
    if (!empty)
        join(&set->watch->waiters, waiter);
    signal_empty(set->watch, empty);
    return empty;
}

bool odi_watch_sleep(odi_watch_waiter *waiter, int64_t deadline_ns)
{
    while (!odi_watch_is_released(waiter)) { /* ended by release, or at the deadline */
        odi_or_relaxed(&waiter->released, ODI_WATCH_SLEEPS); /* relaxed: the kernel rechecks it */
        if (odi_futex_wait(&waiter->released, ODI_WATCH_SLEEPS, deadline_ns) == ODI_FUTEX_TIMED_OUT)
            return odi_watch_is_released(waiter);
    }
    return true;
}

bool odi_watch_end(const odi_set *set, odi_watch_waiter *waiter)
{
    odi_lock_acquire(&set->watch->lock);
    /* relaxed: written under the lock */
    bool released = odi_load_relaxed(&waiter->released) & ODI_WATCH_RELEASED, met = waiter->met;
    if (!released)
        take_off(waiter);
    odi_lock_release(&set->watch->lock);
    return met;
}

bool odi_watch_is_met(const odi_set *set, odi_watch_waiter *waiter)
{
    odi_lock_acquire(&set->watch->lock);
    bool met = waiter->met;
    odi_lock_release(&set->watch->lock);
    return met;
}

bool odi_watch_notify(const odi_set *set, odi_function *function, void *context)
{
    odi_watch *watch = set->watch;
    odi_notification *notification = malloc(sizeof *notification);

    if (notification == NULL)
        return false;
    *notification = (odi_notification){NULL, function, context};
    odi_lock_acquire(&watch->lock);
    show_interest(watch);
    if (watch->notifications == NULL)
        watch->notifications = notification;
    else
        watch->last_notification->next = notification;
    watch->last_notification = notification;
    signal_empty(watch, odi_set_is_empty(set, true));
    return true;
}
