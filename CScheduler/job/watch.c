#include "job/watch.h"

#include <limits.h>
#include <stdlib.h>

#include "os/futex.h"
#include "sleep/idle.h"

#define WAITER (UINT64_C(1) << 32)

struct odi_notification {
    odi_notification *next;
    odi_function *function;
    void *context;
};

/* With `watching`: "no" leaves a record whose last job calls odi_watch_changed. */
static bool look(odi_watch *watch, odi_record **first, odi_record_walk *next, bool watching)
{
    odi_lock_acquire(&watch->lock);
    bool empty = watching ? odi_records_empty_or_watched(*first, next)
                          : odi_records_empty(*first, next);
    odi_lock_release(&watch->lock);
    return empty;
}

bool odi_watch_is_empty(odi_watch *watch, odi_record **first, odi_record_walk *next)
{
    return look(watch, first, next, false);
}

static bool wait(odi_watch *watch, odi_record **first, odi_record_walk *next,
                 int64_t deadline_ns)
{
    for (;;) {
        uint32_t epoch = odi_load_acquire(&watch->epoch, L1);

        if (look(watch, first, next, true))
            return true;
        /* Ended by: odi_watch_changed, or the deadline. */
        bool timed_out = odi_futex_wait(&watch->epoch, epoch, deadline_ns) ==
                         ODI_FUTEX_TIMED_OUT;
        bool empty = look(watch, first, next, false);
        if (empty || timed_out)
            return empty;
    }
}

bool odi_watch_wait(odi_watch *watch, odi_record **first, odi_record_walk *next,
                    int64_t deadline_ns)
{
    if (look(watch, first, next, false))
        return true;
    /* Before the records are watched: whoever drains one that is sees the interest (L1). */
    odi_add_acqrel(&watch->interested, WAITER, L1);
    bool empty = wait(watch, first, next, deadline_ns);
    odi_add_relaxed(&watch->interested, -WAITER); /* relaxed: late is harmless */
    return empty;
}

bool odi_watch_notify(odi_watch *watch, odi_record **first, odi_record_walk *next,
                      odi_function *function, void *context)
{
    odi_notification *notification = malloc(sizeof *notification);

    if (notification == NULL)
        return false;
    *notification = (odi_notification){NULL, function, context};
    odi_add_acqrel(&watch->interested, 1, L1);
    odi_lock_acquire(&watch->lock);
    if (watch->notifications == NULL)
        watch->notifications = notification;
    else
        watch->last_notification->next = notification;
    watch->last_notification = notification;
    odi_lock_release(&watch->lock);
    odi_watch_changed(watch, first, next);
    return true;
}

/* Takes the notifications off if the set is empty; otherwise the records stay watched. */
static odi_notification *take_due(odi_watch *watch, odi_record **first, odi_record_walk *next)
{
    odi_notification *due = NULL;

    odi_lock_acquire(&watch->lock);
    if (watch->notifications != NULL && odi_records_empty_or_watched(*first, next)) {
        due = watch->notifications;
        watch->notifications = NULL;
    }
    odi_lock_release(&watch->lock);
    return due;
}

void odi_watch_changed(odi_watch *watch, odi_record **first, odi_record_walk *next)
{
    uint64_t interested = odi_load_acquire(&watch->interested, L1);

    if (interested == 0)
        return;
    if (interested >= WAITER) {
        odi_add_release(&watch->epoch, 1, L1);
        if (odi_futex_wake(&watch->epoch, INT_MAX) > 0)
            odi_woke_a_sleeper = true;
    }

    odi_notification *due = take_due(watch, first, next);
    while (due != NULL) {
        odi_notification *following = due->next;

        odi_add_relaxed(&watch->interested, (uint64_t)-1); /* relaxed: late is harmless */
        due->function(due->context);
        free(due);
        due = following;
    }
}
