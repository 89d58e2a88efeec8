/* recruit.c — how a crew comes by another worker: one from the bench, or a new thread; and who is
 * told that there is work: a sleeper near it, one further away, or such a recruit.
 */
#include "worker/crew.h"

#include <errno.h>
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

/* Lists a worker whose thread is about to begin. False: memory is short. Lock held. */
static bool enlist(odi_crew *crew, odi_worker *worker)
{
    worker->present = true;
    if (!odi_crew_list_workers(crew)) {
        worker->present = false;
        return false;
    }
    crew->present++;
    return true;
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
        odi_crew_unseat(worker);
        odi_store_release(&worker->bench_word, 1, S3); /* locked: it may sit there again at once */
    } else if (!enlist(crew, worker)) {
        worker->searching = false;
        odi_idle_found(&worker->site->idle);
        *short_of_memory = true;
        return NULL;
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

/* A worker could not be had: the next try comes later. Lock held. */
ODI_COLD static void note_failure(odi_crew *crew)
{
    crew->next_start_ns = odi_clock_after(RETRY_START_NS);
    odi_add_relaxed(&crew->start_failures, 1); /* relaxed: a counter */
    odi_crew_counts_changed(crew);
}

ODI_COLD static void say_failure(odi_crew *crew, int error)
{
    odi_lock_acquire(&crew->lock);
    bool first = !crew->start_failed_said;
    crew->start_failed_said = true;
    int active = crew->active;
    odi_lock_release(&crew->lock);

    if (first)
        odi_warn("pool \"%s\": a worker could not be started (%s); %s %d %s", crew->name, strerror(error),
                 active == 0 ? "it has" : "going on with", active,
                 active == 0 ? "workers: what is submitted is refused" : "of the workers");
    /* What was published while the token was out relied on a search that never was (S2). */
    odi_fence_heavy(S4);
    if (odi_crew_has_work(crew))
        odi_crew_publish(crew, &crew->sites[0]);
}

/* The thread could not be created: things are as before. */
ODI_COLD static void start_failed(odi_crew *crew, odi_worker *worker)
{
    odi_lock_acquire(&crew->lock);
    odi_home_forget(worker);
    if (worker->benched)
        odi_crew_unseat(worker);
    else { /* likewise a first spare that was called back meanwhile */
        worker->searching = false;
        odi_idle_found(&worker->site->idle);
        crew->active--;
    }
    worker->present = worker->begins_benched = false;
    crew->present--;
    (void)odi_crew_list_workers(crew); /* a worker without a thread in the table does no harm */
    note_failure(crew);
    odi_add_release(&crew->departures, 1, S3); /* a stop that saw it present waits for its leaving */
    odi_futex_wake(&crew->departures, INT_MAX);
    odi_lock_release(&crew->lock);
}

/* 0, or why there is no thread. */
static int start_thread(odi_crew *crew, odi_worker *worker)
{
    char name[16];

    snprintf(name, sizeof name, "%.10s-%d", crew->name, worker->slot);
    int error = odi_thread_start(odi_worker_main, worker, crew->stack_bytes, name);
    if (error == 0)
        odi_add_relaxed(&crew->starts, 1); /* relaxed: a counter */
    else
        start_failed(crew, worker);
    return error;
}

/* relaxed: under the lock a stop's end is seen, which sets it there */
static bool says(odi_crew *crew, uint32_t bits)
{
    return (odi_load_relaxed(&crew->attention) & bits) != 0;
}

/* `at_once`: however short ago one was refused. False: nothing was tried, or *error says why there is no worker. */
static bool try_start(odi_crew *crew, odi_site *site, bool at_once, int *error)
{
    odi_worker *worker = NULL;
    bool called_back = false, short_of_memory = false;

    odi_lock_acquire(&crew->lock);
    if (at_once)
        crew->next_start_ns = 0;
    bool may = crew->active < odi_crew_limit(crew) && !says(crew, ODI_CANCELLING) &&
               (crew->next_start_ns == 0 || odi_clock_now() >= crew->next_start_ns);
    if (may) {
        called_back = crew->bench != NULL;
        worker = recruit(crew, (int)(site - crew->sites), &short_of_memory);
        if (short_of_memory)
            note_failure(crew);
    }
    odi_lock_release(&crew->lock);
    if (short_of_memory)
        *error = ENOMEM;
    else if (worker != NULL && called_back)
        odi_futex_wake(&worker->bench_word, 1);
    else if (worker != NULL)
        *error = start_thread(crew, worker);
    return may && *error == 0; /* without a worker the token is out: somebody searches */
}

/* A thread that waits on the bench from its beginning on: a job that waits gives its place to it, though no
 * further thread may be had by then. Where it is not to be had the crew goes on without. */
static int start_first_spare(odi_crew *crew)
{
    odi_worker *spare = NULL;

    odi_lock_acquire(&crew->lock);
    if (crew->spare_cap > 0 && crew->bench == NULL && !says(crew, ODI_STOPPING | ODI_CANCELLING))
        spare = take_slot(crew, 0);
    bool seated = spare != NULL && enlist(crew, spare);
    if (seated) {
        odi_home_put(spare);
        spare->begins_benched = true;
        odi_crew_seat(spare);
    }
    odi_lock_release(&crew->lock);
    return seated ? start_thread(crew, spare) : 0;
}

/* While the crew has no thread one at a time tries: who accepts a job may rely on it. `at_once`: as above. */
ODI_COLD static bool start_first(odi_crew *crew, odi_site *site, bool at_once, int *error)
{
    bool started = true;

    odi_lock_acquire(&crew->first_lock);
    if (says(crew, ODI_NO_THREADS)) { /* or somebody else was faster */
        started = try_start(crew, site, at_once, error);
        if (started) {
            odi_crew_set_attention(crew, ODI_NO_THREADS, false);
            *error = start_first_spare(crew);
        }
    }
    odi_lock_release(&crew->first_lock);
    return started;
}

bool odi_crew_start_one(odi_crew *crew, odi_site *site)
{
    int error = 0;
    bool started = ODI_UNLIKELY(says(crew, ODI_NO_THREADS)) ? start_first(crew, site, false, &error)
                                                             : try_start(crew, site, false, &error);

    if (error != 0)
        say_failure(crew, error);
    return started;
}

int odi_crew_begin(odi_crew *crew)
{
    int error = 0;
    bool started = start_first(crew, odi_crew_site_here(crew), true, &error);

    if (error != 0)
        say_failure(crew, error);
    return started ? 0 : error;
}

/* ---- publishing ---- */

void odi_crew_publish_slow(odi_crew *crew, odi_site *site)
{
    const int *order = crew->site_order[site - crew->sites];

    for (int rank = 1; rank < crew->site_count; rank++) {
        if (odi_idle_signal(&crew->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return;
    }
    /* relaxed: the publisher's fence stands before it (S4) */
    uint32_t attention = odi_load_relaxed(&crew->attention);
    bool started = false;
    if (attention & ODI_CAN_START && !(attention & ODI_CANCELLING)) {
        started = odi_crew_start_one(crew, site);
        odi_woke_a_sleeper = started;
        attention = odi_load_relaxed(&crew->attention); /* relaxed: our own change */
    }
    /* Also where a worker was wanted and is not to be had now: the monitor tries again, on
     * behalf of jobs that wait for this one. Not after a stop: nobody would see that thread
     * leave. */
    if (!started && attention & ODI_MONITOR_OFF && !(attention & ODI_CANCELLING))
        crew->arm_monitor(crew);
}
