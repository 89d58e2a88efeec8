/* crowd.h — counts the threads inside a section, and their maximum. */
#ifndef SUPPORT_CROWD_H
#define SUPPORT_CROWD_H

#include <stdatomic.h>

#include "Support/check.h"

typedef struct {
    atomic_int inside, most;
    atomic_ullong visits;
} crowd;

/* Resets the counts; no thread may be inside. */
static inline void crowd_begin(crowd *it)
{
    atomic_store(&it->inside, 0);
    atomic_store(&it->most, 0);
    atomic_store(&it->visits, 0);
}

static inline void crowd_enter(crowd *it)
{
    int inside = atomic_fetch_add(&it->inside, 1) + 1, most = atomic_load(&it->most);

    while (inside > most && !atomic_compare_exchange_weak(&it->most, &most, inside)) {
    }
}

static inline void crowd_leave(crowd *it)
{
    atomic_fetch_sub(&it->inside, 1);
}

/* A job that enters, is counted, and leaves. */
static inline void crowd_visit(void *raw)
{
    crowd *it = raw;

    crowd_enter(it);
    atomic_fetch_add(&it->visits, 1);
    crowd_leave(it);
}

#endif
