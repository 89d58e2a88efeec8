#include "os/clock.h"
#include "pool/pool.h"

/* Limits are read again at most this often, and only while something happens. */
#define REFRESH_NS ODI_SECOND

void odi_pool_refresh(odi_crew *crew)
{
    od_pool *pool = crew->pool;
    bool nobody = false;

    if (!odi_load_relaxed(&pool->follows_limits)) /* relaxed: looked at on its own */
        return;
    int64_t now = odi_clock_now();
    /* relaxed: a hint; the flag below admits one */
    if (now < odi_load_relaxed(&pool->next_refresh_ns) ||
        !odi_cas_acquire(&pool->refreshing, &nobody, true, P1))
        return;

    odi_limits limits;
    odi_limits_read(pool->source, &limits);
    odi_worker_advice advice = odi_limits_workers(&limits, pool->rounding, 0);
    /* relaxed: each is looked at on its own */
    odi_store_relaxed(&crew->may_spin, advice.may_spin);
    odi_store_relaxed(&pool->next_refresh_ns, now + REFRESH_NS);
    /* relaxed: who has set a number meanwhile wins */
    if (odi_load_relaxed(&pool->follows_limits) && advice.workers != od_pool_workers(pool))
        odi_crew_set_target(crew, advice.workers < ODI_MOST_WORKERS ? advice.workers
                                                                    : ODI_MOST_WORKERS);
    odi_store_release(&pool->refreshing, false, P1);
}
