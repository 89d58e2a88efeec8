/* blocking.c — a worker that says that it waits hands its place over: until it says that it
 * is back, the team may run one worker more. The monitor (pool/monitor.c) finds those that
 * do not say so. */
#include "base/invariant.h"
#include "include/od_pool.h"
#include "os/clock.h"
#include "worker/external.h"
#include "worker/recruit.h"
#include "worker/work.h"
#include "worker/worker.h"

/* The calling thread's place, where it is an external thread. */
static odi_forks *external_here(void)
{
    odi_forks *forks = (odi_forks *)od_forks_self;

    return forks != NULL && forks->team != NULL && forks->worker == NULL ? forks : NULL;
}

void odi_blocking_begin(const char *what, void *queue)
{
    odi_worker *worker = odi_worker_self;
    odi_forks *external = external_here();

    if (ODI_UNLIKELY(external != NULL))
        odi_external_block(external);
    if (worker == NULL)
        return;
    odi_store_relaxed(&worker->waits_for, what); /* relaxed, both: for reports */
    odi_store_relaxed(&worker->waits_at, queue);
    if (worker->blocking_depth++ > 0)
        return;
    odi_store_relaxed(&worker->waits_ns, odi_clock_coarse()); /* relaxed: for reports */
    odi_store_relaxed(&worker->says_blocking, true); /* relaxed: a hint for the monitor */
    odi_team_count_blocked(worker->team, 1);
    /* What waits now was published when the team was full: it is published again. Who publishes at
     * this moment may find the team full, and this look nothing: no heavy fence is put for that, because
     * who finds nobody has the monitor on, and its next tick finds what waits and the place. Where there is no
     * monitor to be had, who armed it has the heavy one. */
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
    if (worker == NULL)
        return;
    if (worker->blocking_depth == 0)
        odi_trap("od_blocking_end: no matching od_blocking_begin. Call them in pairs.");
    if (--worker->blocking_depth > 0) {
        /* relaxed, both: for reports. Around a wait of the engine's own is none but its caller's. */
        odi_store_relaxed(&worker->waits_for, (const char *)NULL);
        odi_store_relaxed(&worker->waits_at, NULL);
        return;
    }
    odi_store_relaxed(&worker->says_blocking, false); /* relaxed: a hint for the monitor */
    /* relaxed, both: for reports of the jobs that come after this one */
    odi_store_relaxed(&worker->back_jobs, odi_worker_activity(worker));
    odi_store_relaxed(&worker->back_ns, odi_clock_coarse());
    odi_team_count_blocked(worker->team, -1);
}
