/* submit.c — queues jobs in a pool from workers and other threads, and handles refused jobs. Queues and
 * od_pool_submit call it. */
#include <errno.h>

#include "base/cache_line.h"
#include "base/invariant.h"
#include "observe/trace.h"
#include "pool/pool.h"
#include "worker/recruit.h"
#include "worker/run.h"
#include "worker/worker.h"

/* Discards a job that could not be stored, if the pool has stopped. Returns false if an allocation failed
 * instead. */
ODI_COLD static bool discard_if_over(od_pool *pool, odi_entry job)
{
    odi_fence_light(S4); /* a thread that finds an injector closed sees the stop */
    /* relaxed: the fence precedes it */
    bool over = (odi_load_relaxed(&pool->team.attention) & ODI_CANCELLING) != 0;

    if (over)
        odi_pool_discard(pool, job);
    return over;
}

ODI_COLD od_status odi_pool_begin(od_pool *pool)
{
    odi_team *team = &pool->team;
    int error = 0;

    /* relaxed, both: a submission that misses a stop is discarded later */
    if (!(odi_load_relaxed(&team->attention) & ODI_CANCELLING))
        error = odi_team_begin(team);
    if (odi_load_relaxed(&team->attention) & ODI_CANCELLING)
        return OD_STOPPED;
    return error == 0 ? OD_OK : error == ENOMEM ? OD_NO_MEMORY : OD_NO_THREAD;
}

ODI_COLD od_status odi_pool_refuse(od_pool *pool, od_status status, odi_entry job)
{
    if (status == OD_STOPPED)
        odi_pool_discard(pool, job);
    return status;
}

void odi_pool_report_refusal(od_pool *pool, od_status status)
{
    if (status == OD_NO_THREAD || status == OD_NO_MEMORY)
        odi_trap("pool \"%s\": a submission can never run (%s). Raise the limit.", pool->team.name,
                 status == OD_NO_THREAD ? "no thread can be started" : "out of memory");
}

/* Takes jobs back after a stop's deadline. No worker looks for them, unless the stop has taken them already.
 * Running them here would never end if jobs submit themselves again. The oldest jobs are taken, and the stop
 * must then find the newest: a thread that sees the take sees the push (D3). */
ODI_COLD static void take_back(od_pool *pool, odi_worker *worker, uint32_t band, size_t pushed)
{
    odi_entry job;

    odi_fence_release(D3);
    for (; pushed > 0 && odi_deque_take(&worker->deques[band], &job); pushed--)
        odi_pool_discard(pool, job);
}

/* Queues as many of the first jobs as memory allows, with one wake-up. Discards them if the pool has passed
 * its stop's deadline. Returns the number of jobs handled. */
ODI_HOT_INLINE size_t submit_inside(od_pool *pool, odi_worker *worker, uint32_t band, const odi_entry *jobs,
                                    size_t count)
{
    odi_team *team = &pool->team;
    size_t taken = 0;

    while (taken < count && ODI_LIKELY(odi_worker_push(worker, band, jobs[taken])))
        taken++;
    odi_team_publish(team, worker->site); /* this worker keeps the team alive */
    /* relaxed: the publication's fence precedes it (S4): the stop sees the jobs, or this thread sees the
     * stop */
    if (ODI_UNLIKELY(odi_load_relaxed(&team->attention) & ODI_CANCELLING))
        take_back(pool, worker, band, taken);
    while (ODI_UNLIKELY(taken < count) && discard_if_over(pool, jobs[taken]))
        taken++;
    return taken;
}

/* Queues jobs from a thread that is not a worker of the pool. */
ODI_HOT_INLINE size_t submit_outside(od_pool *pool, uint32_t band, const odi_entry *jobs, size_t count)
{
    odi_team *team = &pool->team;
    odi_site *site = odi_team_site_here(team);
    size_t taken = 0;

    while (taken < count &&
           (ODI_LIKELY(odi_site_push(site, band, jobs[taken])) || discard_if_over(pool, jobs[taken])))
        taken++;
    if (ODI_LIKELY(taken > 0))
        odi_team_publish_push(team, site);
    return taken;
}

/* Queues one job, which stays in registers on its way to a worker's deque. */
bool odi_pool_submit(od_pool *pool, uint32_t band, odi_entry job)
{
    odi_worker *worker = odi_worker_self;

    if (ODI_UNLIKELY(worker == NULL || worker->team != &pool->team))
        return submit_outside(pool, band, &job, 1) == 1;
    if (ODI_UNLIKELY(!odi_worker_push(worker, band, job)))
        return discard_if_over(pool, job);
    odi_team_publish(&pool->team, worker->site);
    /* relaxed: as in submit_inside */
    if (ODI_UNLIKELY(odi_load_relaxed(&pool->team.attention) & ODI_CANCELLING))
        take_back(pool, worker, band, 1);
    return true;
}

bool odi_pool_submit_several(od_pool *pool, uint32_t band, const odi_entry *jobs, size_t count)
{
    odi_worker *worker = odi_worker_here(&pool->team);

    if (worker != NULL)
        return submit_inside(pool, worker, band, jobs, count) == count;
    return submit_outside(pool, band, jobs, count) == count;
}

ODI_COLD void odi_pool_submit_node(od_pool *pool, uint32_t band, odi_entry job, odi_entry_node *node)
{
    odi_team *team = &pool->team;
    odi_site *site = odi_team_site_here(team);

    if (!odi_injector_push_node(&site->injectors[band], job, node)) {
        odi_pool_discard(pool, job);
        return;
    }
    odi_site_mark(site, band);
    odi_team_publish_push(team, site);
}

od_status od_pool_submit(od_pool *pool, od_band band, void (*function)(void *), void *context)
{
    odi_entry job = odi_job_plain(function, context, 0);

    if (ODI_UNLIKELY((uint32_t)band >= ODI_BANDS))
        odi_trap("od_pool_submit: no such band (%d). Choose one of od_band.", (int)band);
    od_status status = odi_pool_admit(pool);
    if (ODI_UNLIKELY(status != OD_OK))
        return odi_pool_refuse(pool, status, job);
    if (odi_traces())
        odi_trace(ODI_TRACE_SUBMIT, (uint32_t)band, NULL, odi_job_identity(job));
    return odi_pool_submit(pool, (uint32_t)band, job) ? OD_OK : OD_NO_MEMORY;
}

void od_pool_submit_executor_job(od_pool *pool, od_band band, void *job)
{
    odi_pool_expect(pool, od_pool_submit(pool, band, od_executor_run, job));
}

void od_pool_set_owner(od_pool *pool, void *owner)
{
    pool->owner = owner;
}

void *od_pool_current_owner(void)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL ? ((od_pool *)worker->team->pool)->owner : NULL;
}
