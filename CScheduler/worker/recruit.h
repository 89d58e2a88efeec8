/* recruit.h — saying that there is work: who is woken, called back or started for it.
 *
 * Threads  anyone.
 *
 * Edges    S4  publish <-> attention   light/heavy fence   the submitter sees the flag, or who
 *                                                          set it sees the work (but who blocks: blocking.c)
 */
#ifndef ODI_WORKER_RECRUIT_H
#define ODI_WORKER_RECRUIT_H

#include "worker/team.h"

#pragma GCC visibility push(hidden)

void odi_team_publish_slow(odi_team *team, odi_site *site);

ODI_HOT_INLINE void odi_team_publish_as(odi_team *team, odi_site *site, bool counted)
{
    odi_fence_light(S1);
    if (ODI_LIKELY(odi_idle_nobody(&site->idle))) {
        /* relaxed: the fence stands before it (S4) */
        if (ODI_LIKELY(odi_load_relaxed(&team->attention) == 0 && team->site_count == 1))
            return;
    } else {
        odi_signal signal =
            counted ? odi_idle_signal_counted(&site->idle) : odi_idle_signal(&site->idle);

        if (signal == ODI_SIGNAL_WOKE)
            odi_woke_a_sleeper = true;
        if (signal != ODI_SIGNAL_NOBODY)
            return;
    }
    odi_team_publish_slow(team, site);
}

/* The one way to say "there is work": call it after the push. Past a stop's deadline nobody comes to it: what
 * lies outside the stop discards, which closes the injectors before its last look. */
ODI_HOT_INLINE void odi_team_publish(odi_team *team, odi_site *site)
{
    odi_team_publish_as(team, site, false);
}

/* The same after odi_site_push, whose ticket spares a fence. */
ODI_HOT_INLINE void odi_team_publish_push(odi_team *team, odi_site *site)
{
    odi_team_publish_as(team, site, true);
}

/* Waiting work starts workers, now that there may be more: also what was published while there
 * was room for none, as its publishers' fence is light (S4). */
void odi_team_publish_waiting(odi_team *team);

/* Starts (or calls back) one worker, if possible one of the site or near it, if the limit
 * allows and no search is under way. With the team's first thread its first spare is started. */
bool odi_team_start_one(odi_team *team, odi_site *site);

/* Whether no further thread is to be had. *all_others_wait: each worker but one says that it waits. */
bool odi_team_has_no_thread_left(odi_team *team, bool *all_others_wait);

/* Sees to it that a team without threads (ODI_NO_THREADS) has one. Called before a job is accepted: from
 * then on there is one until a stop. 0, or why there is none. */
int odi_team_begin(odi_team *team);

#pragma GCC visibility pop

#endif
