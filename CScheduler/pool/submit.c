#include <errno.h>

#include "base/cache_line.h"
#include "base/invariant.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "worker/run.h"
#include "worker/worker.h"

/* A thread that runs a pool's job although it is none of its workers, for want of memory. It
 * may do so on top of another pool's jobs. */
typedef struct help_given {
    od_pool *pool;
    const struct help_given *outer;
} help_given;

static _Thread_local const help_given *helping;
static _Thread_local void *work, *route;
static _Thread_local void *bounce;

bool odi_pool_is_helped(const od_pool *pool)
{
    const help_given *help = helping;

    while (help != NULL && help->pool != pool)
        help = help->outer;
    return help != NULL;
}

/* There is no room for it, or no pool any more. */
ODI_COLD static void run_here(od_pool *pool, odi_entry job)
{
    help_given here = {pool, helping};

    odi_fence_light(S4); /* who finds an injector closed sees the stop */
    /* relaxed: the fence stands before it */
    if (odi_load_relaxed(&pool->team.attention) & ODI_CANCELLING) {
        odi_pool_discard(pool, job);
        return;
    }
    helping = &here;
    (void)odi_run_outside(&pool->team, job);
    helping = here.outer;
}

ODI_COLD od_status odi_pool_begin(od_pool *pool)
{
    odi_team *team = &pool->team;
    int error = 0;

    /* relaxed, both: a stop that is seen too late discards what is pushed */
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

void odi_pool_expect(od_pool *pool, od_status status)
{
    if (ODI_UNLIKELY(status == OD_NO_THREAD || status == OD_NO_MEMORY))
        odi_trap("pool \"%s\": what was submitted can never run, for %s", pool->team.name,
                 status == OD_NO_THREAD ? "not one thread can be started"
                                        : "there is no memory for a first thread");
}

/* The pool is past its deadline, and nobody looks for what this worker has just pushed, unless the stop has taken
 * it already: with it what lay above. (Running it here would never end where jobs submit themselves again.) */
ODI_COLD static void take_back(od_pool *pool, odi_worker *worker, uint32_t band, size_t pushed)
{
    odi_entry job;

    for (; pushed > 0 && odi_deque_take(&worker->deques[band], &job); pushed--)
        odi_pool_discard(pool, job);
}

/* False: memory is short, and nothing is queued. */
ODI_HOT_INLINE bool submit_inside(od_pool *pool, odi_worker *worker, uint32_t band, odi_entry job)
{
    odi_team *team = &pool->team;

    if (ODI_UNLIKELY(!odi_worker_push(worker, band, job)))
        return false;
    odi_team_publish(team, worker->site); /* whatever happens, this worker is there */
    /* relaxed: the publication's fence stands before it (S4): the stop sees the job, or this
     * sees the stop */
    if (ODI_UNLIKELY(odi_load_relaxed(&team->attention) & ODI_CANCELLING))
        take_back(pool, worker, band, 1);
    return true;
}

static void submit_outside(od_pool *pool, uint32_t band, odi_entry job)
{
    odi_team *team = &pool->team;
    odi_site *site = odi_team_site_here(team);

    if (ODI_LIKELY(odi_site_push(site, band, job)))
        odi_team_publish_push(team, site);
    else
        run_here(pool, job);
}

ODI_HOT_INLINE bool submit_if_kept(od_pool *pool, uint32_t band, odi_entry job)
{
    odi_worker *worker = odi_worker_self;

    if (worker != NULL && worker->team == &pool->team)
        return submit_inside(pool, worker, band, job);
    submit_outside(pool, band, job);
    return true;
}

bool odi_pool_submit_if_kept(od_pool *pool, uint32_t band, odi_entry job)
{
    return submit_if_kept(pool, band, job);
}

void odi_pool_submit(od_pool *pool, uint32_t band, odi_entry job)
{
    if (ODI_UNLIKELY(!submit_if_kept(pool, band, job)))
        run_here(pool, job);
}

static void submit_several_inside(od_pool *pool, odi_worker *worker, uint32_t band,
                                  const odi_entry *jobs, size_t count)
{
    odi_team *team = &pool->team;
    size_t pushed = 0;

    for (size_t i = 0; i < count; i++) {
        if (ODI_LIKELY(odi_worker_push(worker, band, jobs[i]))) {
            pushed++;
            continue;
        }
        odi_team_publish(team, worker->site); /* what runs here may wait for it */
        run_here(pool, jobs[i]);
    }
    odi_team_publish(team, worker->site); /* as in submit_inside, all of it */
    /* relaxed: the publication's fence stands before it (S4) */
    if (ODI_UNLIKELY(odi_load_relaxed(&team->attention) & ODI_CANCELLING))
        take_back(pool, worker, band, pushed);
}

static void submit_several_outside(od_pool *pool, uint32_t band, const odi_entry *jobs,
                                   size_t count)
{
    odi_team *team = &pool->team;
    odi_site *site = odi_team_site_here(team);
    bool pushed = false;

    for (size_t i = 0; i < count; i++) {
        if (ODI_LIKELY(odi_site_push(site, band, jobs[i]))) {
            pushed = true;
            continue;
        }
        if (pushed)
            odi_team_publish_push(team, site); /* what runs here may wait for it */
        pushed = false;
        run_here(pool, jobs[i]);
    }
    if (pushed)
        odi_team_publish_push(team, site);
}

void odi_pool_submit_several(od_pool *pool, uint32_t band, const odi_entry *jobs, size_t count)
{
    odi_worker *worker = odi_worker_self;

    if (count == 0)
        return;
    if (worker != NULL && worker->team == &pool->team)
        submit_several_inside(pool, worker, band, jobs, count);
    else
        submit_several_outside(pool, band, jobs, count);
}

od_status od_pool_submit(od_pool *pool, od_band band, void (*function)(void *), void *context)
{
    odi_entry job = odi_job_plain(function, context, 0);

    if (ODI_UNLIKELY((uint32_t)band >= ODI_BANDS))
        odi_trap("od_pool_submit: there is no band %d; choose one of od_band", (int)band);
    od_status status = odi_pool_admit(pool);
    if (ODI_UNLIKELY(status != OD_OK))
        return odi_pool_refuse(pool, status, job);
    odi_pool_submit(pool, (uint32_t)band, job);
    return OD_OK;
}

void od_pool_submit_executor_job(od_pool *pool, od_band band, void *job)
{
    odi_pool_expect(pool, od_pool_submit(pool, band, od_executor_run, job));
}

int od_pool_current_band(void)
{
    odi_worker *worker = odi_worker_self;
    odi_record *record = odi_outsides != NULL ? odi_outsides->record
                         : worker != NULL     ? worker->run_record
                                              : NULL;

    return record != NULL ? (int)odi_record_band(record) : -1;
}

bool od_pool_is_worker(od_pool *pool)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && (pool == NULL || worker->team == &pool->team);
}

void od_pool_set_owner(od_pool *pool, void *owner)
{
    pool->owner = owner;
}

void *od_pool_current_owner(void)
{
    odi_worker *worker = odi_worker_self;

    if (helping != NULL)
        return helping->pool->owner;
    return worker != NULL ? ((od_pool *)worker->team->pool)->owner : NULL;
}

bool od_thread_is_main(void)
{
    return odi_thread_is_first();
}

int od_thread_cpu(void)
{
    return odi_thread_cpu();
}

void *od_thread_work(void)
{
    return work;
}

void od_thread_set_work(void *now)
{
    work = now;
}

void *od_thread_route(void)
{
    return route;
}

void od_thread_set_route(void *now)
{
    route = now;
}

void *od_thread_bounce(void)
{
    return bounce;
}

void od_thread_set_bounce(void *now)
{
    bounce = now;
}
