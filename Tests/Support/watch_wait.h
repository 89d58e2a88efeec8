/* watch_wait.h — a complete wait for a set of records. */
#ifndef SUPPORT_WATCH_WAIT_H
#define SUPPORT_WATCH_WAIT_H

#include "job/watch.h"

/* Sleeps until the set has been empty. Returns false at the deadline. */
static inline bool watch_wait(const odi_set *set, int64_t deadline_ns)
{
    odi_watch_waiter waiter;

    return odi_watch_begin(set, &waiter) || odi_watch_sleep(&waiter, deadline_ns) ||
           odi_watch_end(set, &waiter);
}

#endif
