/* recruit.h — announces work: wakes a sleeper, calls back a spare or starts a worker. Any thread may call.
 *
 * Edges    S4  publish <-> attention   light/heavy fence   the submitter sees the flag, or the thread
 *                                                          that set it sees the work (except blocking.c)
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
        /* relaxed: the fence precedes it (S4) */
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

/* The only way to announce work: call it after the push. After a stop's deadline no worker takes the work.
 * The stop itself discards it, and closes the injectors before its last check. */
ODI_HOT_INLINE void odi_team_publish(odi_team *team, odi_site *site)
{
    odi_team_publish_as(team, site, false);
}

/* Announces a job after odi_site_push, whose ticket spares a fence. */
ODI_HOT_INLINE void odi_team_publish_push(odi_team *team, odi_site *site)
{
    odi_team_publish_as(team, site, true);
}

/* Starts workers for waiting work after the limit has grown. This includes work published while no worker
 * could start, because publishers use a light fence (S4). */
void odi_team_publish_waiting(odi_team *team);

/* Starts or calls back one worker, on the site or near it if possible. Does nothing if the limit is reached
 * or a search is under way. With the team's first thread it also starts its first spare. */
bool odi_team_start_one(odi_team *team, odi_site *site);

/* Whether no further thread can start. *all_others_wait: every worker but one has announced that it waits. */
bool odi_team_has_no_thread_left(odi_team *team, bool *all_others_wait);

/* Ensures that a team without threads (ODI_NO_THREADS) gets one; called before a job is accepted. The team
 * then has a thread until a stop. Returns 0 or the error number. */
int odi_team_begin(odi_team *team);

#pragma GCC visibility pop

#endif
