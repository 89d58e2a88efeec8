/* override.h — bands that a waiter overrides: while it waits for jobs of a lower band, that
 * band is served as if it were the waiter's.
 *
 * What a line holds is overridden by itself (gate/override.c). A concurrent queue's jobs lie in the
 * pool's bands among other queues' jobs and cannot be taken out of their order; so the whole
 * band inherits, as far as its first jobs are what stands before the one that is waited for: in all pools,
 * whose workers read one word.
 *
 * Owns     nothing: an override lives in its waiter's frame.
 * Threads  anyone. Workers read `odi_overrides` as a hint when several bands have work.
 * Locks    one for the first and the last override of a band; held for a few instructions, inside a group's or a queue's.
 */
#ifndef ODI_WORKER_OVERRIDE_H
#define ODI_WORKER_OVERRIDE_H

#include <stdint.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

typedef struct {
    uint32_t band;  /* the waiter's */
    uint32_t bands; /* that it overrides */
} odi_override;

/* What workers look at: hints, on a line of their own. */
extern struct odi_overrides {
    /* What each band is served as, in four bits: one more than the highest that overrides it, or 0. */
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) bands;
    /* A waiter that overrides and was woken has not come yet: the lowest bit; above it they are counted. */
    odi_atomic(uint32_t) yields;
} odi_overrides;

/* From here on, until the end, the band is served as the waiter's; nothing where it is not lower. In this team jobs
 * of it are waited for. Owner. */
void odi_override_begin(odi_override *override, odi_team *team, uint32_t band);
void odi_override_end(odi_override *override);

/* The band that `band` is served as. A hint. */
static inline uint32_t odi_band_served_as(uint32_t band)
{
    uint32_t overridden = odi_load_relaxed(&odi_overrides.bands) >> (4 * band) & 15; /* relaxed: a hint */

    return overridden != 0 && overridden - 1 < band ? overridden - 1 : band;
}

/* In a forked child: who waited is the parent's. */
void odi_overrides_forked(void);

#pragma GCC visibility pop

#endif
