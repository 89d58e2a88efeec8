/* due.h — workers and the timer queue (timer/timer_queue.h): who looks at it, and when.
 *
 * A worker takes what is due when it looks for work, now and then between two jobs, and when
 * it was the leader and its sleep is over. Whoever stops being a leader, or could have become
 * one, and gets work instead sees to it that somebody else looks: odi_team_watch_timers, in
 * run_loop.c's found(). So does who arms. Edge: T1.
 */
#ifndef ODI_WORKER_DUE_H
#define ODI_WORKER_DUE_H

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Arms a timer entry on behalf of the calling thread, of any kind. False: the pool has stopped, or
 * the timer entry was cancelled. A fresh timer entry's `site` is chosen by odi_team_timer_site. */
bool odi_team_arm(odi_team *team, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns);
uint32_t odi_team_timer_site(odi_team *team);

/* Sees to it that somebody looks at the timer queue in time: rouses the leader, wakes or starts a
 * worker near the site, or has the monitor stand by. Where `site` is NULL it wakes nobody: for a worker that has a
 * job in hand. Anyone. */
void odi_team_watch_timers(odi_team *team, odi_site *site);

/* Gives what is due to its owners, on this worker. */
void odi_worker_fire_due(odi_worker *worker);

/* Between two jobs: now and then, or when somebody has noticed that it is time. */
void odi_worker_pass_time(odi_worker *worker);

/* The sleep itself: between announce, with its last look, and leave. */
void odi_worker_sleep(odi_worker *worker, uint32_t epoch);

#pragma GCC visibility pop

#endif
