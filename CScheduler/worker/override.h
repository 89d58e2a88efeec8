/* override.h — bands that a waiter overrides: while it waits for jobs of a lower band, that
 * band is served as if it were the waiter's.
 *
 * What a line holds is overridden by itself (gate/override.c). A concurrent queue's jobs lie in the
 * pool's bands among other queues' jobs and cannot be taken out of their order; so the whole
 * band inherits, as far as its first jobs are what stands before the one that is waited for.
 *
 * Owns     nothing: an override lives in its waiter's frame, and names pools only while they exist.
 * Threads  anyone. Workers read `overridden` as a hint when several bands have work.
 * Locks    one for all overrides; held for a few instructions, inside a group's or a queue's.
 */
#ifndef ODI_WORKER_OVERRIDE_H
#define ODI_WORKER_OVERRIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* A waiter for jobs of more pools overrides the first ones. */
enum { ODI_OVERRIDE_TEAMS = 4 };

typedef struct odi_override {
    uint32_t band; /* the waiter's */
    uint32_t count, forks;
    struct {
        odi_team *team; /* NULL: it is gone */
        uint32_t bands; /* that it overrides */
    } of[ODI_OVERRIDE_TEAMS];
    struct odi_override *before, *after;
} odi_override;

/* The waiter's band overrides no other yet. */
static inline odi_override odi_override_of(uint32_t band)
{
    return (odi_override){.band = band};
}

/* Adds a band to what will be overridden; nothing where it is not lower. Owner. */
void odi_override_name(odi_override *override, odi_team *team, uint32_t band);

/* From here on, until the end, the bands that it names are served as the waiter's. */
void odi_override_begin(odi_override *override);
void odi_override_end(odi_override *override);

/* The band that `band` is served as. A hint. */
static inline uint32_t odi_team_served_as(odi_team *team, uint32_t band)
{
    /* relaxed: a hint */
    uint32_t overridden = odi_load_relaxed(&team->overridden) >> (4 * band) & 15;

    return overridden != 0 && overridden - 1 < band ? overridden - 1 : band;
}

/* The pool goes: overrides that name it forget it. */
void odi_overrides_forget(odi_team *team);

/* In a forked child: who waited is the parent's. */
void odi_overrides_forked(void);

#pragma GCC visibility pop

#endif
