/* crowd.h — how many are at one place at once, and the most there have been. */
#ifndef SUPPORT_CROWD_H
#define SUPPORT_CROWD_H

#include <stdatomic.h>

#include "Support/check.h"

typedef struct {
    atomic_int inside, most;
    atomic_ullong visits;
} crowd;

/* Nobody is inside. */
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

/* As a job: comes, is counted and goes. */
static inline void crowd_visit(void *raw)
{
    crowd *it = raw;

    crowd_enter(it);
    atomic_fetch_add(&it->visits, 1);
    crowd_leave(it);
}

#endif
