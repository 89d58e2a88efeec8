#include "pool/pool.h"
#include "worker/guest.h"
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
    odi_crew *crew = &pool->crew;

    *metrics = (od_metrics){0};
    for (int slot = 0; slot < crew->capacity; slot++) {
        odi_worker *worker = odi_load_acquire(&crew->slots[slot], W1);

        if (worker != NULL)
            add_worker(metrics, worker);
    }
    for (int place = 0; place < odi_guests_seen(crew); place++) {
        odi_forks *guest = odi_guest_at(crew, place);

        if (guest != NULL)
            metrics->forks_stolen += odi_counted(&guest->stolen);
    }
    /* relaxed, all: counters */
    metrics->ran_on_callers = odi_load_relaxed(&crew->ran_outside);
    metrics->executed += metrics->ran_on_callers;
    metrics->cancelled = odi_load_relaxed(&crew->cancelled);
    metrics->grace_periods = odi_reclaim_grace_periods();
    metrics->threads_started = odi_load_relaxed(&crew->starts);
    metrics->thread_failures = odi_load_relaxed(&crew->start_failures);
    metrics->most_spares = odi_load_relaxed(&crew->most_spares);
    metrics->spare_cap_reached = odi_load_relaxed(&crew->cap_reached);
    metrics->warnings = odi_load_relaxed(&crew->warnings);
    odi_lock_acquire(&crew->lock);
    metrics->workers = crew->target;
    metrics->active = crew->active;
    odi_lock_release(&crew->lock);
}
