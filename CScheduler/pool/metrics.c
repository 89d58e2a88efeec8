/* metrics.c — sums the counters of all workers for od_pool_metrics. It reads while jobs run and stops
 * nothing. */
#include "pool/pool.h"
#include "worker/external.h"
#include "worker/worker.h"

static void add_worker(od_metrics *sum, odi_worker *worker)
{
    odi_counters *counters = &worker->counters;

    sum->executed += odi_worker_executed(worker);
    for (int distance = 0; distance < ODI_DISTANCE_CLASSES; distance++) {
        sum->stolen[distance] += odi_counted(&counters->stolen[distance]);
        sum->steals[distance] += odi_counted(&counters->steals[distance]);
    }
    sum->forks_stolen += odi_counted(&worker->forks.stolen);
    sum->failed_steals += odi_counted(&counters->failed_steals);
    sum->injector_jobs += odi_counted(&counters->injector_jobs);
    sum->injector_claims += odi_counted(&counters->injector_claims);
    sum->parks += odi_counted(&counters->parks);
    sum->useful_wakes += odi_counted(&counters->useful_wakes);
    sum->spurious_wakes += odi_counted(&counters->spurious_wakes);
    sum->diverted += odi_counted(&counters->diverted);
    for (int band = 0; band < ODI_BANDS; band++)
        sum->deque_growths += odi_counted(&worker->deques[band].growths);
}

void od_pool_metrics(od_pool *pool, od_metrics *metrics)
{
    odi_team *team = &pool->team;
    odi_worker *worker;
    odi_forks *external;

    *metrics = (od_metrics){0};
    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;)
        add_worker(metrics, worker);
    for (int place = 0; (external = odi_external_next(team, &place)) != NULL;)
        metrics->forks_stolen += odi_counted(&external->stolen);
    /* relaxed, all: counters */
    metrics->ran_on_callers = odi_load_relaxed(&team->ran_outside);
    metrics->executed += metrics->ran_on_callers;
    metrics->cancelled = odi_load_relaxed(&team->cancelled);
    metrics->grace_periods = odi_reclaim_grace_periods();
    metrics->threads_started = odi_load_relaxed(&team->starts);
    metrics->thread_failures = odi_load_relaxed(&team->start_failures);
    metrics->most_spares = odi_load_relaxed(&team->most_spares);
    metrics->spare_cap_reached = odi_load_relaxed(&team->cap_reached);
    metrics->warnings = odi_load_relaxed(&team->warnings);
    odi_lock_acquire(&team->lock);
    metrics->workers = team->target;
    metrics->active = team->active;
    odi_lock_release(&team->lock);
}
