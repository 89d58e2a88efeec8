/* blocking.c — announced blocking: while a worker has announced that it waits, the team may run one more
 * worker.
 *
 * The monitor (pool/monitor.c) finds workers that block without an announcement.
 */
#include "base/invariant.h"
#include "include/od_pool.h"
#include "job/label.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "os/control.h"
#include "worker/external.h"
#include "worker/recruit.h"
#include "worker/work.h"
#include "worker/worker.h"

/* Returns the calling thread's slot if it is an external thread, otherwise NULL. */
static odi_forks *external_here(void)
{
    odi_forks *forks = (odi_forks *)od_forks_self;

    return forks != NULL && forks->team != NULL && forks->worker == NULL ? forks : NULL;
}

/* Moves the task that od_next_task would return to the deque, because this wait may be for it. */
ODI_COLD static void queue_next(odi_worker *worker)
{
    odi_entry labelled;
    void *task = worker->next_task;

    worker->next_task = NULL;
    if (odi_record_label(worker->next_record, odi_job_plain(od_task_run, task, 0), &labelled) &&
        odi_worker_push(worker, odi_record_band(worker->next_record), labelled))
        odi_team_publish(worker->team, worker->site);
    else
        worker->next_task = task; /* an allocation failed: the task runs after the wait */
}

void odi_blocking_begin(const char *what, void *queue)
{
    odi_worker *worker = odi_worker_self;
    odi_forks *external = external_here();

    if (ODI_UNLIKELY(external != NULL))
        odi_external_block(external);
    if (ODI_UNLIKELY(odi_is_controlled()))
        odi_control_note_wait(what, queue);
    if (worker == NULL)
        return;
    if (ODI_UNLIKELY(worker->next_task != NULL))
        queue_next(worker);
    odi_store_relaxed(&worker->waits_for, what); /* relaxed, both: hints for reports */
    odi_store_relaxed(&worker->waits_at, queue);
    if (worker->blocking_depth++ > 0)
        return;
    odi_store_relaxed(&worker->waits_ns, odi_clock_coarse()); /* relaxed: a hint for reports */
    odi_store_relaxed(&worker->says_blocking, true); /* relaxed: a hint for the monitor */
    if (odi_traces())
        odi_trace(ODI_TRACE_BLOCK, ODI_TRACE_NO_BAND, queue, (uintptr_t)what);
    odi_team_count_blocked(worker->team, 1);
    /* Publishes waiting work again, which found the team full before. A concurrent publisher may find the
     * team full while this check finds nothing. No heavy fence prevents this, because that publisher has
     * armed the monitor, whose next tick finds the work. If no monitor can start, the arming thread has
     * executed a heavy fence. */
    if (odi_team_has_work(worker->team))
        odi_team_publish(worker->team, worker->site);
}

void od_blocking_begin(void)
{
    odi_blocking_begin(NULL, NULL);
}

void od_blocking_end(void)
{
    odi_worker *worker = odi_worker_self;
    odi_forks *external = external_here();

    if (ODI_UNLIKELY(external != NULL))
        odi_external_unblock(external);
    if (ODI_UNLIKELY(odi_is_controlled()))
        odi_control_note_wait(NULL, NULL);
    if (worker == NULL)
        return;
    if (worker->blocking_depth == 0)
        odi_trap("od_blocking_end: no matching od_blocking_begin. Call them in pairs.");
    if (--worker->blocking_depth > 0) {
        /* relaxed, both: hints for reports. An inner wait has ended, and only its caller's wait remains. */
        odi_store_relaxed(&worker->waits_for, (const char *)NULL);
        odi_store_relaxed(&worker->waits_at, NULL);
        return;
    }
    odi_store_relaxed(&worker->says_blocking, false); /* relaxed: a hint for the monitor */
    if (odi_traces())
        odi_trace(ODI_TRACE_UNBLOCK, ODI_TRACE_NO_BAND, NULL, 0);
    /* relaxed, both: hints for reports on later jobs */
    odi_store_relaxed(&worker->back_jobs, odi_worker_activity(worker));
    odi_store_relaxed(&worker->back_ns, odi_clock_coarse());
    odi_team_count_blocked(worker->team, -1);
}
