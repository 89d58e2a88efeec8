/* override.h — band overrides: while a waiter waits for jobs of a lower band, that band is served with the
 * waiter's urgency.
 *
 * gate/override.c raises the jobs in a wait queue. A concurrent queue's jobs lie in the pool's bands among
 * jobs of other queues and cannot be reordered. The whole band therefore inherits the waiter's urgency, in
 * all pools, because workers of all pools read one word.
 *
 * Owns     nothing: an override lives in its waiter's frame.
 * Threads  any thread. Workers read `odi_overrides` as a hint if several bands have work.
 * Locks    one lock for a band's first and last override; held for a few instructions, inside a
 *          group's or a queue's lock.
 */
#ifndef ODI_WORKER_OVERRIDE_H
#define ODI_WORKER_OVERRIDE_H

#include <stdint.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

typedef struct {
    uint32_t band;  /* the waiter's band */
    uint32_t bands; /* bands that it overrides */
} odi_override;

/* Hints that workers read, on a cache line of their own. */
extern struct odi_overrides {
    /* The effective band of each band in four bits: 1 + the highest overriding band, or 0. */
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) bands;
    /* Lowest bit: an overriding waiter was woken and has not run yet. The bits above count these waiters. */
    odi_atomic(uint32_t) yields;
} odi_overrides;

/* Serves `band` as the waiter's band until the end; does nothing if `band` is not lower. Jobs of the band in
 * this team are waited for. Owner only. */
void odi_override_begin(odi_override *override, odi_team *team, uint32_t band);
void odi_override_end(odi_override *override);

/* Returns the effective band of `band`. A hint. */
static inline uint32_t odi_band_served_as(uint32_t band)
{
    uint32_t overridden = odi_load_relaxed(&odi_overrides.bands) >> (4 * band) & 15; /* relaxed: a hint */

    return overridden != 0 && overridden - 1 < band ? overridden - 1 : band;
}

/* Resets the overrides in a forked child, whose waiters belong to the parent. */
void odi_overrides_forked(void);

#pragma GCC visibility pop

#endif
