/* recruit.c — how a crew comes by another worker: one from the bench, or a new thread; and who is
 * told that there is work: a sleeper near it, one further away, or such a recruit.
 */
#include "worker/crew.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/pages.h"
#include "os/thread.h"
#include "worker/homes.h"
#include "worker/worker.h"

/* After a thread could not be created, the next try comes no sooner than this. */
enum { RETRY_START_NS = 100000000 };

/* The lowest slot without a thread, with a home of its own on a site (-1: any slot). Lock held. */
static int free_slot(odi_crew *crew, int site)
{
    for (int slot = 0; slot < crew->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&crew->slots[slot]); /* relaxed: locked */

        if ((worker == NULL || !worker->present) &&
            (site < 0 || (odi_home_is_own(crew, slot) && odi_home_site(crew, slot) == site)))
            return slot;
    }
    return -1;
}

/* A slot without a thread: of those with a home of their own, one on the site or near it.
 * Lock held. */
static odi_worker *take_slot(odi_crew *crew, int site)
{
    int slot = -1;

    for (int rank = 0; rank < crew->site_count && slot < 0; rank++)
        slot = free_slot(crew, crew->site_order[site][rank]);
    if (slot < 0)
        slot = free_slot(crew, -1);
    if (slot < 0)
        return NULL;
    odi_worker *worker = odi_load_relaxed(&crew->slots[slot]); /* relaxed: locked */
    return worker != NULL ? worker : odi_crew_make_worker(crew, slot);
}

/* The link to the benched worker that is to come back: one of the site, or any. Lock held. */
static odi_worker **choose_benched(odi_crew *crew, int site)
{
    for (odi_worker **link = &crew->bench; *link != NULL; link = &(*link)->next_benched) {
        if ((*link)->site_index == site)
            return link;
    }
    return &crew->bench;
}

/* Lock held. The worker's thread will hold its site's token. */
static odi_worker *recruit(odi_crew *crew, int site, bool *short_of_memory)
{
    odi_worker **benched = choose_benched(crew, site);
    odi_worker *worker = *benched != NULL ? *benched : take_slot(crew, site);

    *short_of_memory = worker == NULL;
    if (worker != NULL) {
        odi_home_take(crew, worker->slot);
        if (!worker->present)
            odi_home_put(worker);
    }
    odi_fence_seqcst(S2); /* a search that is under way covers what was published before */
    if (worker == NULL || !odi_idle_try_search(&worker->site->idle))
        return NULL;
    worker->searching = true;
    if (worker->benched) {
        *benched = worker->next_benched;
        worker->benched = false;
    } else {
        worker->present = true;
        if (!odi_crew_list_workers(crew)) {
            worker->present = worker->searching = false;
            odi_idle_found(&worker->site->idle);
            *short_of_memory = true;
            return NULL;
        }
        crew->present++;
    }
    /* The monitor is to see a fresh worker, not one that did much since it last looked. */
    worker->watched_jobs = odi_worker_activity(worker);
    crew->active++;
    int spares = crew->active - crew->target;
    if (spares > 0 && (uint64_t)spares > odi_load_relaxed(&crew->most_spares))
        odi_store_relaxed(&crew->most_spares, (uint64_t)spares); /* relaxed: locked */
    odi_crew_counts_changed(crew);
    return worker;
}

/* A worker could not be had: the next try comes later, and submitters help themselves if no
 * worker is there at all. Lock held. */
ODI_COLD static void note_failure(odi_crew *crew)
{
    crew->next_start_ns = odi_clock_after(RETRY_START_NS);
    odi_add_relaxed(&crew->start_failures, 1); /* relaxed: a counter */
    odi_crew_counts_changed(crew);
    odi_crew_set_attention(crew, ODI_NO_THREADS, crew->active == 0);
}

ODI_COLD static void say_failure(odi_crew *crew, const char *reason)
{
    odi_lock_acquire(&crew->lock);
    bool first = !crew->start_failed_said;
    crew->start_failed_said = true;
    int active = crew->active;
    odi_lock_release(&crew->lock);

    if (first)
        odi_warn("pool \"%s\": a worker could not be started (%s); going on with %d %s",
                 crew->name, reason, active,
                 active == 0 ? "workers: submitters run their own work" : "of the workers");
    /* What was published while the token was out relied on a search that never was (S2), and
     * what was published before NO_THREADS on a worker. */
    odi_fence_heavy(S4);
    bool nobody = odi_crew_has_work(crew) && !odi_crew_publish(crew, &crew->sites[0]);
    /* A worker comes to it by itself, after the job that it has in hand: that may be what a
     * job run here would wait for. */
    if (nobody && (odi_worker_self == NULL || odi_worker_self->crew != crew))
        crew->help(crew);
}

/* FULL: as many run as may; who makes room for another looks at what waits (S4).
 * MISSED: none is to be had now. ALONE: likewise, and all that are there wait: nobody comes to what lies
 * there by himself. (Not told by a job that only sleeps: it goes on.) */
typedef enum { STARTED, FULL, MISSED, ALONE } outcome;

/* Lock held. */
ODI_COLD static outcome missed(odi_crew *crew)
{
    return crew->active <= crew->blocked ? ALONE : MISSED;
}

/* The thread could not be created: things are as before. */
ODI_COLD static outcome start_failed(odi_crew *crew, odi_worker *worker, int error)
{
    odi_lock_acquire(&crew->lock);
    odi_home_forget(worker);
    worker->present = worker->searching = false;
    odi_idle_found(&worker->site->idle);
    crew->active--;
    crew->present--;
    (void)odi_crew_list_workers(crew); /* a worker without a thread in the table does no harm */
    note_failure(crew);
    outcome came = missed(crew);
    odi_add_release(&crew->departures, 1, S3); /* a stop that saw it present waits for its leaving */
    odi_futex_wake(&crew->departures, INT_MAX);
    odi_lock_release(&crew->lock);
    say_failure(crew, strerror(error));
    return came;
}

static outcome start_one(odi_crew *crew, odi_site *site)
{
    odi_worker *worker = NULL;
    bool called_back = false, short_of_memory = false;

    odi_lock_acquire(&crew->lock);
    bool full = crew->active >= odi_crew_limit(crew);
    /* relaxed: a stop that has seen the last worker leave sets it under the lock */
    bool may = !full &&
               !(odi_load_relaxed(&crew->attention) & ODI_CANCELLING) &&
               (crew->next_start_ns == 0 || odi_clock_now() >= crew->next_start_ns);
    if (may) {
        called_back = crew->bench != NULL;
        worker = recruit(crew, (int)(site - crew->sites), &short_of_memory);
        if (short_of_memory)
            note_failure(crew);
    }
    outcome came = full ? FULL : may && !short_of_memory ? STARTED : missed(crew);
    odi_lock_release(&crew->lock);
    if (short_of_memory)
        say_failure(crew, "memory is short");
    if (worker == NULL)
        return came; /* STARTED: the token is out, somebody searches */

    if (called_back) {
        odi_store_release(&worker->bench_word, 1, S3);
        odi_futex_wake(&worker->bench_word, 1);
        return STARTED;
    }
    char name[16];
    snprintf(name, sizeof name, "%.10s-%d", crew->name, worker->slot);
    int error = odi_thread_start(odi_worker_main, worker, crew->stack_bytes, name);
    if (error != 0)
        return start_failed(crew, worker, error);
    odi_add_relaxed(&crew->starts, 1); /* relaxed: a counter */
    if (odi_load_relaxed(&crew->attention) & ODI_NO_THREADS) /* relaxed: rechecked by use */
        odi_crew_set_attention(crew, ODI_NO_THREADS, false);
    return STARTED;
}

bool odi_crew_start_one(odi_crew *crew, odi_site *site)
{
    return start_one(crew, site) == STARTED;
}

/* ---- publishing ---- */

bool odi_crew_publish_slow(odi_crew *crew, odi_site *site)
{
    const int *order = crew->site_order[site - crew->sites];

    for (int rank = 1; rank < crew->site_count; rank++) {
        if (odi_idle_signal(&crew->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return odi_crew_stays(crew);
    }
    /* relaxed: the publisher's fence stands before it (S4) */
    uint32_t attention = odi_load_relaxed(&crew->attention);
    outcome came = FULL;
    if (attention & ODI_CAN_START && !(attention & ODI_CANCELLING)) {
        came = start_one(crew, site);
        odi_woke_a_sleeper = came == STARTED;
        attention = odi_load_relaxed(&crew->attention); /* relaxed: our own change */
    }
    /* Also where a worker was wanted and is not to be had now: the monitor tries again, on
     * behalf of jobs that wait for this one. Not after a stop: nobody would see that thread
     * leave. */
    if (came != STARTED && attention & ODI_MONITOR_OFF &&
        !(attention & (ODI_CANCELLING | ODI_NO_THREADS)))
        crew->arm_monitor(crew);
    /* A worker is wanted and not to be had, and those that are there may wait for this very job: better the
     * submitter runs it than nobody. (Not where there were enough a moment ago, and one has blocked since.) */
    bool short_of_workers = came == ALONE && attention & ODI_CAN_START;
    return !short_of_workers && !(attention & (ODI_STOPPING | ODI_NO_THREADS));
}
