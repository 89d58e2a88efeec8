/* due.h — workers and the agenda (timer/agenda.h): who looks at it, and when.
 *
 * A worker takes what is due when it looks for work, now and then between two jobs, and when
 * it was the keeper and its sleep is over. Whoever stops being a keeper, or could have become
 * one, and gets work instead sees to it that somebody else looks: odi_crew_mind_agenda, in
 * day.c's found(). So does who arms: odi_crew_watch_agenda. Edge: T1.
 */
#ifndef ODI_WORKER_DUE_H
#define ODI_WORKER_DUE_H

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Arms an alarm on behalf of the calling thread, of any kind. False: the pool has stopped, or
 * the alarm was cancelled. A fresh alarm's `site` is chosen by odi_crew_alarm_site. */
bool odi_crew_arm(odi_crew *crew, odi_alarm *alarm, int64_t due_ns, int64_t now_ns);
uint32_t odi_crew_alarm_site(odi_crew *crew);

/* Whether something is due and nobody is at it. */
bool odi_crew_is_due(odi_crew *crew);

/* Sees to it that somebody looks at the agenda in time: rouses the keeper, wakes or starts a
 * worker, or has the monitor stand by. Anyone. */
void odi_crew_watch_agenda(odi_crew *crew, odi_site *site);

/* The same for a worker that has a job in hand: it wakes no other for it. */
void odi_crew_mind_agenda(odi_crew *crew);

/* Gives what is due to its owners, on this worker. */
void odi_worker_fire_due(odi_worker *worker);

/* Between two jobs: now and then, or when somebody has noticed that it is time. */
void odi_worker_pass_time(odi_worker *worker);

/* The sleep itself: between announce, with its last look, and leave. */
void odi_worker_sleep(odi_worker *worker, uint32_t epoch);

#pragma GCC visibility pop

#endif
