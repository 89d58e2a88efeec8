#include "base/cache_line.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "worker/run.h"
#include "worker/worker.h"

/* The pool whose jobs a thread that is no worker runs, for want of workers. */
static _Thread_local od_pool *helped;
static _Thread_local void *work;

/* There is nobody to run it: no thread, no memory, or no pool any more. */
ODI_COLD static void run_here(od_pool *pool, odi_entry job)
{
    od_pool *outer = helped;

    helped = pool;
    if (odi_run_outside(job))
        odi_add_relaxed(&pool->ran_outside, 1); /* relaxed: a counter */
    else
        odi_add_relaxed(&pool->cancelled_outside, 1); /* relaxed: a counter */
    helped = outer;
}

/* Jobs that run here and submit are nested this deep, so that they may wait for each other;
 * what comes beyond is left to the helper below, so that a long chain needs no deep stack. */
enum { DEEPEST_HELP = 64 };

ODI_COLD static void help(od_pool *pool)
{
    static _Thread_local int depth;
    od_pool *outer = helped;

    if (depth == DEEPEST_HELP)
        return;
    depth++;
    helped = pool;
    odi_add_relaxed(&pool->ran_outside, odi_crew_help(&pool->crew)); /* relaxed: a counter */
    helped = outer;
    depth--;
}

static void submit_inside(od_pool *pool, odi_worker *worker, uint32_t band, odi_entry job)
{
    odi_crew *crew = &pool->crew;

    /* relaxed: after a stop nobody looks at this deque any more; see od_pool_stop */
    if (ODI_UNLIKELY(odi_load_relaxed(&crew->attention) & ODI_CANCELLING) ||
        ODI_UNLIKELY(!odi_worker_push(worker, band, job)))
        run_here(pool, job);
    else
        (void)odi_crew_publish(crew, worker->site); /* whatever happens, this worker is there */
}

static void submit_outside(od_pool *pool, uint32_t band, odi_entry job)
{
    odi_crew *crew = &pool->crew;
    odi_site *site = odi_crew_site_here(crew);

    if (ODI_UNLIKELY(!odi_site_push(site, band, job)))
        run_here(pool, job);
    else if (ODI_UNLIKELY(!odi_crew_publish(crew, site)))
        help(pool);
}

void odi_pool_submit(od_pool *pool, uint32_t band, odi_entry job)
{
    odi_worker *worker = odi_worker_self;

    if (worker != NULL && worker->crew == &pool->crew)
        submit_inside(pool, worker, band, job);
    else
        submit_outside(pool, band, job);
}

void od_pool_submit(od_pool *pool, od_band band, void (*function)(void *), void *context)
{
    odi_pool_submit(pool, (uint32_t)band, odi_job_plain(function, context, 0));
}

int od_pool_current_band(void)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->run_record != NULL ? (int)worker->run_record->band : -1;
}

bool od_pool_is_worker(od_pool *pool)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && (pool == NULL || worker->crew == &pool->crew);
}

void od_pool_set_owner(od_pool *pool, void *owner)
{
    pool->owner = owner;
}

void *od_pool_current_owner(void)
{
    odi_worker *worker = odi_worker_self;

    if (helped != NULL)
        return helped->owner;
    return worker != NULL ? ((od_pool *)worker->crew->pool)->owner : NULL;
}

bool od_thread_is_main(void)
{
    return odi_thread_is_first();
}

void *od_thread_work(void)
{
    return work;
}

void od_thread_set_work(void *now)
{
    work = now;
}
