/* due.h — workers and the timer queue (timer/timer_queue.h): which thread checks it, and when.
 *
 * A worker takes due timers when it searches for work, periodically between two jobs, and after its sleep as
 * the leader. The leader is the worker whose sleep ends at the earliest timer. A worker that stops being the
 * leader because it got work calls odi_team_watch_timers, so that another thread checks the timers. A thread
 * that arms a timer does so too. Edge: T1.
 */
#ifndef ODI_WORKER_DUE_H
#define ODI_WORKER_DUE_H

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Arms a timer entry; any thread may call it. Returns false if the pool has stopped or the entry was
 * cancelled. odi_team_timer_site chooses the `site` of a fresh entry; `delivered`: its owner runs elsewhere. */
bool odi_team_arm(odi_team *team, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns);
uint32_t odi_team_timer_site(odi_team *team, bool delivered);

/* Ensures that a thread checks the timer queue in time. It wakes the leader, wakes or starts a worker near
 * the site, or lets the monitor stand by. With `site` NULL it wakes no worker, because the caller is a worker
 * with a job. Any thread. */
void odi_team_watch_timers(odi_team *team, odi_site *site);

/* Fires the due timers on this worker. */
void odi_worker_fire_due(odi_worker *worker);

/* Checks the timers between two jobs, periodically or when another thread has marked them overdue. */
void odi_worker_pass_time(odi_worker *worker);

/* Sleeps; called between announce, with its last check for work, and leave. */
void odi_worker_sleep(odi_worker *worker, uint32_t epoch);

#pragma GCC visibility pop

#endif
