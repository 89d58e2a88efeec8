/* limits.c — updates the number and placement of workers while the pool runs. */
#include "os/clock.h"
#include "pool/pool.h"
#include "worker/recruit.h"

/* Limits are read at most this often, and only while the pool is active. */
#define REFRESH_NS ODI_SECOND

/* Makes a plan for `workers` workers under these limits, and changes the team. If an allocation fails, the
 * old plan stays. Plan lock held. */
static void replan(od_pool *pool, int workers, const odi_limits *limits)
{
    odi_topology *topology = pool->topology, *over = NULL;
    bool other_cpus = !odi_cpu_mask_equal(&limits->cpus, &pool->limits.cpus);

    if (other_cpus && !pool->made_up)
        topology = odi_topology_discover(pool->source, limits,
                                         pool->placement == OD_PLACEMENT_CORE);
    odi_plan *plan = topology != NULL
                         ? odi_plan_make(topology, limits, workers, pool->placement)
                         : NULL;
    if (plan != NULL) {
        /* relaxed: a hint, read alone */
        odi_store_relaxed(&pool->pins, plan->pins);
        pool->limits = *limits;
        over = topology != pool->topology ? pool->topology : NULL;
        pool->topology = topology;
    } else if (topology != pool->topology)
        over = topology;
    odi_plan_free(odi_team_set_target(&pool->team, workers, plan));
    odi_topology_free(over); /* the plan that borrowed it is freed */
}

static void resize(od_pool *pool, int workers)
{
    odi_lock_acquire(&pool->plan_lock);
    odi_limits limits = pool->limits;
    replan(pool, workers, &limits);
    odi_lock_release(&pool->plan_lock);
    odi_team_publish_waiting(&pool->team); /* may run jobs, so no lock is held */
}

int od_pool_workers(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock);
    int workers = pool->team.target;
    odi_lock_release(&pool->team.lock);
    return workers;
}

/* Applies the current limits. Returns false if nothing changes. Plan lock held. */
static bool follow(od_pool *pool, const odi_limits *limits)
{
    if (limits->incomplete)
        return false; /* the next reading may find the missing facts */
    odi_worker_advice advice = odi_limits_workers(limits, pool->round_down, 0);
    int workers = od_pool_workers(pool);

    odi_store_relaxed(&pool->team.may_spin, advice.may_spin); /* relaxed: a hint, read alone */
    odi_store_relaxed(&odi_may_spin, advice.may_spin);        /* relaxed: a hint */
    /* relaxed: a concurrent od_pool_set_workers wins */
    if (odi_load_relaxed(&pool->follows_limits))
        workers = advice.workers < ODI_MOST_WORKERS ? advice.workers : ODI_MOST_WORKERS;
    if (workers == od_pool_workers(pool) && odi_limits_equal(limits, &pool->limits))
        return false;
    replan(pool, workers, limits);
    return true;
}

void odi_pool_refresh(odi_team *team)
{
    od_pool *pool = team->pool;

    /* relaxed, both: hints, read alone */
    if (!odi_load_relaxed(&pool->follows_limits) && !odi_load_relaxed(&pool->pins))
        return;
    int64_t now = odi_clock_now();
    int64_t due = odi_load_relaxed(&pool->next_refresh_ns);
    /* relaxed: the time alone decides which thread reads; the data is under the lock */
    if (now < due || !odi_cas_relaxed(&pool->next_refresh_ns, &due, now + REFRESH_NS))
        return;

    odi_limits limits;
    odi_lock_acquire(&pool->plan_lock);
    odi_limits_read(pool->source, &pool->cgroups, &limits);
    bool follows = follow(pool, &limits);
    odi_lock_release(&pool->plan_lock);
    if (follows)
        odi_team_publish_waiting(team);
}

od_status od_pool_set_workers(od_pool *pool, int workers)
{
    if (workers < 0 || workers > ODI_MOST_WORKERS)
        return OD_INVALID;
    odi_store_relaxed(&pool->follows_limits, workers == 0); /* relaxed: a hint, read alone */
    if (workers == 0) {
        odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed: a hint. Due now. */
        odi_pool_refresh(&pool->team);
    } else
        resize(pool, workers);
    return OD_OK;
}
