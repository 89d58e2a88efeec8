#include "worker/crew.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/rng.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/pages.h"
#include "os/thread.h"
#include "worker/due.h"
#include "worker/guest.h"
#include "worker/homes.h"
#include "worker/lend.h"
#include "worker/run.h"
#include "worker/worker.h"

/* After a thread could not be created, the next try comes no sooner than this. */
enum { RETRY_START_NS = 100000000 };

/* A thread that submits asks where it is after this many submissions to one of the pools that
 * it remembers. */
enum { SITE_CHECK_EVERY = 64, SITES_REMEMBERED = 8 };

/* ---- the table: under the lock, replaced as a whole ---- */

static void table_destroy(odi_retired *retired)
{
    free(retired);
}

/* Lists those that are present, sorted by site. */
bool odi_crew_list_workers(odi_crew *crew)
{
    odi_table *table = malloc(sizeof *table + (size_t)crew->capacity * sizeof(odi_worker *));
    int count = 0;

    if (table == NULL)
        return false;
    for (int site = 0; site < crew->site_count; site++) {
        table->first[site] = count;
        for (int slot = 0; slot < crew->capacity; slot++) {
            odi_worker *worker = odi_load_relaxed(&crew->slots[slot]); /* relaxed: locked */

            if (worker != NULL && worker->present && worker->site_index == site)
                table->workers[count++] = worker;
        }
    }
    table->first[crew->site_count] = count;

    odi_table *old = odi_load_relaxed(&crew->table); /* relaxed: written under the lock */
    odi_store_release(&crew->table, table, W1);
    if (old != NULL)
        odi_retire(&old->retired, table_destroy);
    return true;
}

/* ---- life ---- */

static bool init_site(odi_crew *crew, odi_site *site)
{
    odi_idle_init(&site->idle, (uint32_t)-2); /* the epoch rolls over early in every run */
    odi_store_relaxed(&site->bands, 0); /* relaxed: nobody else knows it yet */
    for (int band = 0; band < ODI_BANDS; band++) {
        if (!odi_injector_init(&site->injectors[band], 0, crew->site_count > 1
                                                               ? site->node
                                                               : ODI_ANY_NODE))
            return false;
    }
    return true;
}

bool odi_crew_init(odi_crew *crew)
{
    crew->slots = calloc((size_t)crew->capacity, sizeof *crew->slots);
    if (crew->slots == NULL || !odi_homes_init(crew)) {
        odi_homes_free(crew);
        free(crew->slots);
        return false;
    }
    for (int site = 0; site < crew->site_count; site++) {
        if (!init_site(crew, &crew->sites[site])) {
            odi_crew_free(crew);
            return false;
        }
    }
    if (!odi_agenda_init(&crew->agenda, crew->site_count) || !odi_crew_list_workers(crew)) {
        odi_crew_free(crew);
        return false;
    }
    odi_store_relaxed(&crew->attention, ODI_CAN_START | ODI_MONITOR_OFF); /* relaxed: new */
    odi_store_relaxed(&crew->limit_seen, odi_crew_limit(crew)); /* relaxed: new */
    return true;
}

/* Where a site's memory should lie. Without several sites it is nobody's concern. */
static int memory_node(const odi_crew *crew, const odi_site *site)
{
    return crew->site_count > 1 ? site->node : ODI_ANY_NODE;
}

void odi_crew_free(odi_crew *crew)
{
    odi_loans_forget(crew);
    odi_reclaim_drain();
    for (int slot = 0; slot < crew->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&crew->slots[slot]); /* relaxed: alone */

        if (worker == NULL)
            continue;
        for (int band = 0; band < ODI_BANDS; band++)
            odi_deque_free(&worker->deques[band]);
        odi_forks_free(&worker->forks);
        odi_pages_free(worker, odi_pages_size(sizeof *worker, memory_node(crew, worker->site)));
    }
    for (int site = 0; site < crew->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            odi_injector_free(&crew->sites[site].injectors[band]);
    }
    odi_guests_free(crew);
    odi_agenda_free(&crew->agenda);
    free(odi_load_relaxed(&crew->table)); /* relaxed: alone */
    odi_homes_free(crew);
    free(crew->slots);
}

/* ---- counts ---- */

int odi_crew_limit(const odi_crew *crew)
{
    int spares = crew->blocked + crew->allowance;

    return crew->target + (spares < crew->spare_cap ? spares : crew->spare_cap);
}

static void set_attention(odi_crew *crew, uint32_t bits, bool on)
{
    if (on)
        odi_or_seqcst(&crew->attention, bits, S4);
    else
        odi_and_seqcst(&crew->attention, ~bits, S4);
}

void odi_crew_counts_changed(odi_crew *crew)
{
    int limit = odi_crew_limit(crew);
    uint32_t now = odi_load_relaxed(&crew->attention); /* relaxed: bits change locked */
    uint32_t want = (crew->active < limit ? ODI_CAN_START : 0) |
                    (crew->active > limit ? ODI_SURPLUS : 0);

    odi_store_relaxed(&crew->limit_seen, limit); /* relaxed, both: hints */
    odi_store_relaxed(&crew->active_seen, crew->active);
    if ((now & (ODI_CAN_START | ODI_SURPLUS)) != want) {
        set_attention(crew, want, true);
        set_attention(crew, (ODI_CAN_START | ODI_SURPLUS) & ~want, false);
    }
}

odi_plan *odi_crew_set_target(odi_crew *crew, int target, odi_plan *plan)
{
    odi_lock_acquire(&crew->lock);
    bool wakes = target < crew->target;
    crew->target = target;
    odi_plan *over = odi_homes_replan(crew, plan);
    wakes |= crew->moving > 0;
    odi_crew_counts_changed(crew);
    odi_lock_release(&crew->lock);

    /* Sleepers that are too many leave now, and those that have to move do. */
    for (int site = 0; site < crew->site_count && wakes; site++)
        odi_idle_wake_all(&crew->sites[site].idle);
    return over;
}

void odi_crew_publish_waiting(odi_crew *crew)
{
    odi_fence_heavy(S4); /* what was published while there was room for no worker is seen */
    if (odi_crew_has_work(crew))
        (void)odi_crew_publish(crew, &crew->sites[0]);
}

/* ---- starting ---- */

static odi_worker *make_worker(odi_crew *crew, int slot)
{
    int site = odi_home_site(crew, slot);
    int node = memory_node(crew, &crew->sites[site]);
    odi_worker *worker = odi_pages_new(odi_pages_size(sizeof *worker, node), node);

    if (worker == NULL)
        return NULL;
    worker->crew = crew;
    worker->site_index = site;
    worker->site = &crew->sites[site];
    worker->slot = slot;
    worker->random = odi_rng_seed((uint64_t)slot);
    for (int band = 0; band < ODI_BANDS; band++)
        odi_deque_init(&worker->deques[band], crew->first_index, node);
    /* Without one its forks run where they are. */
    (void)odi_forks_make(&worker->forks, crew, worker, crew->stack_bytes);
    odi_store_release(&crew->slots[slot], worker, W1);
    return worker;
}

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
    return worker != NULL ? worker : make_worker(crew, slot);
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
    set_attention(crew, ODI_NO_THREADS, crew->active == 0);
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

/* The thread could not be created: things are as before. */
ODI_COLD static void start_failed(odi_crew *crew, odi_worker *worker, int error)
{
    odi_lock_acquire(&crew->lock);
    odi_home_forget(worker);
    worker->present = worker->searching = false;
    odi_idle_found(&worker->site->idle);
    crew->active--;
    crew->present--;
    (void)odi_crew_list_workers(crew); /* a worker without a thread in the table does no harm */
    note_failure(crew);
    odi_lock_release(&crew->lock);
    say_failure(crew, strerror(error));
}

bool odi_crew_start_one(odi_crew *crew, odi_site *site)
{
    odi_worker *worker = NULL;
    bool called_back = false, short_of_memory = false;

    odi_lock_acquire(&crew->lock);
    /* relaxed: a stop that has seen the last worker leave sets it under the lock */
    bool may = crew->active < odi_crew_limit(crew) &&
               !(odi_load_relaxed(&crew->attention) & ODI_CANCELLING) &&
               (crew->next_start_ns == 0 || odi_clock_now() >= crew->next_start_ns);
    if (may) {
        called_back = crew->bench != NULL;
        worker = recruit(crew, (int)(site - crew->sites), &short_of_memory);
        if (short_of_memory)
            note_failure(crew);
    }
    odi_lock_release(&crew->lock);
    if (short_of_memory)
        say_failure(crew, "memory is short");
    if (worker == NULL)
        return may && !short_of_memory; /* the token is out: somebody searches */

    if (called_back) {
        odi_store_release(&worker->bench_word, 1, S3);
        odi_futex_wake(&worker->bench_word, 1);
        return true;
    }
    char name[16];
    snprintf(name, sizeof name, "%.10s-%d", crew->name, worker->slot);
    int error = odi_thread_start(odi_worker_main, worker, crew->stack_bytes, name);
    if (error != 0) {
        start_failed(crew, worker, error);
        return false;
    }
    odi_add_relaxed(&crew->starts, 1); /* relaxed: a counter */
    if (odi_load_relaxed(&crew->attention) & ODI_NO_THREADS) /* relaxed: rechecked by use */
        set_attention(crew, ODI_NO_THREADS, false);
    return true;
}

/* ---- publishing ---- */

bool odi_crew_publish_slow(odi_crew *crew, odi_site *site)
{
    const int *order = crew->site_order[site - crew->sites];

    for (int rank = 1; rank < crew->site_count; rank++) {
        if (odi_idle_signal(&crew->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return true;
    }
    /* relaxed: the publisher's fence stands before it (S4) */
    uint32_t attention = odi_load_relaxed(&crew->attention);
    bool covered = attention & ODI_CAN_START && !(attention & ODI_CANCELLING);
    if (covered) {
        covered = odi_crew_start_one(crew, site);
        odi_woke_a_sleeper = covered;
        attention = odi_load_relaxed(&crew->attention); /* relaxed: our own change */
    }
    /* Also where a worker was wanted and is not to be had now: the monitor tries again, on
     * behalf of jobs that wait for this one. Not after a stop: nobody would see that thread
     * leave. */
    if (!covered && attention & ODI_MONITOR_OFF &&
        !(attention & (ODI_CANCELLING | ODI_NO_THREADS)))
        crew->arm_monitor(crew);
    /* A worker is wanted and not to be had: better the submitter runs it than nobody. */
    bool short_of_workers = !covered && attention & ODI_CAN_START;
    return !short_of_workers && !(attention & (ODI_STOPPING | ODI_NO_THREADS));
}

bool odi_crew_hand_over(odi_crew *crew, odi_site *site)
{
    const int *order = crew->site_order[site - crew->sites];

    odi_fence_light(S1);
    for (int rank = 0; rank < crew->site_count; rank++) {
        if (odi_idle_signal(&crew->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return true;
    }
    odi_lock_acquire(&crew->lock);
    bool full = crew->active >= odi_crew_limit(crew), all_wait = crew->active <= crew->blocked;
    odi_lock_release(&crew->lock);
    /* Where as many run as may, they come to it, unless they all wait as the caller does. */
    return full ? !all_wait : odi_crew_start_one(crew, site);
}

static bool claim_any(odi_crew *crew, odi_entry *job)
{
    size_t count = 0;

    odi_read_begin();
    for (int site = 0; site < crew->site_count && count == 0; site++) {
        for (int band = 0; band < ODI_BANDS && count == 0; band++)
            count = odi_injector_claim(&crew->sites[site].injectors[band], job, 1);
    }
    odi_read_end();
    return count > 0;
}

void odi_crew_help(odi_crew *crew)
{
    odi_entry job;

    odi_reader_join();
    while (claim_any(crew, &job))
        (void)odi_run_outside(crew, job);
    odi_reader_leave();
}

static bool has_jobs(odi_crew *crew)
{
    const odi_table *table = odi_load_acquire(&crew->table, W1);

    for (int site = 0; site < crew->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++) {
            if (odi_injector_has_claimable(&crew->sites[site].injectors[band]))
                return true;
        }
    }
    for (int i = 0; i < table->first[crew->site_count]; i++) {
        for (int band = 0; band < ODI_BANDS; band++) {
            if (odi_deque_size(&table->workers[i]->deques[band]) > 0)
                return true;
        }
    }
    return false;
}

bool odi_crew_has_jobs(odi_crew *crew)
{
    odi_reader_join();
    odi_read_begin();
    bool has = has_jobs(crew);
    odi_read_end();
    odi_reader_leave();
    return has;
}

bool odi_crew_has_work(odi_crew *crew)
{
    odi_reader_join();
    odi_read_begin();
    bool has = has_jobs(crew) || odi_crew_holds_forks(crew);
    odi_read_end();
    odi_reader_leave();
    return has || odi_crew_is_due(crew);
}

/* Not by the site's `bands`, whose bits another may have set: a submitter puts nothing but its
 * ticket before its look at the token (S2). */
static bool injectors_seem_full(odi_site *site)
{
    for (int band = 0; band < ODI_BANDS; band++) {
        if (odi_injector_size(&site->injectors[band]) > 0)
            return true;
    }
    return false;
}

static bool deques_seem_full(odi_worker *worker)
{
    /* relaxed: S2's fence stands before it */
    for (uint32_t bands = odi_load_relaxed(&worker->bands); bands != 0; bands &= bands - 1) {
        if (odi_deque_size(&worker->deques[__builtin_ctz(bands)]) > 0)
            return true;
    }
    return false;
}

bool odi_crew_seems_to_have_work(odi_crew *crew)
{
    bool seems = false;

    for (int site = 0; site < crew->site_count && !seems; site++)
        seems = injectors_seem_full(&crew->sites[site]);
    odi_read_begin();
    const odi_table *table = odi_load_acquire(&crew->table, W1);
    for (int i = 0; i < table->first[crew->site_count] && !seems; i++)
        seems = deques_seem_full(table->workers[i]);
    seems = seems || odi_crew_wants_hunters(crew);
    odi_read_end();
    return seems;
}

static int site_here(const odi_crew *crew)
{
    int node;

    if (odi_affinity_here(NULL, &node) != 0)
        return 0;
    for (int site = 0; site < crew->site_count; site++) {
        if (crew->sites[site].node == node)
            return site;
    }
    return 0; /* a node that is not among ours */
}

static bool all_claimed(odi_site *site)
{
    uint64_t waiting = 0;

    for (int band = 0; band < ODI_BANDS; band++)
        waiting += odi_injector_size(&site->injectors[band]);
    return waiting == 0;
}

odi_site *odi_crew_nearest_site(odi_crew *crew)
{
    static _Thread_local struct {
        const odi_crew *crew; /* compared only: it may be gone */
        int site;
        uint32_t looks;
    } memory[SITES_REMEMBERED], *last;

    last = &memory[odi_rng_seed((uintptr_t)crew) % SITES_REMEMBERED];
    if (last->crew != crew || last->site >= crew->site_count) {
        last->crew = crew;
        last->site = site_here(crew);
    } else if (++last->looks % SITE_CHECK_EVERY == 0) {
        int site = site_here(crew);

        /* What the thread has submitted before starts before what it submits from now on. */
        if (site != last->site && all_claimed(&crew->sites[last->site]))
            last->site = site;
    }
    return &crew->sites[last->site];
}

/* ---- bench and departure ---- */

/* A worker that leaves takes its jobs to where everybody finds them. Whatever memory cannot
 * be had for stays, and so does the worker: false. */
static bool hand_over_jobs(odi_worker *worker)
{
    odi_entry job;

    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        while (odi_deque_take(&worker->deques[band], &job)) {
            if (!odi_site_push(worker->site, band, job)) {
                (void)odi_worker_push(worker, band, job); /* its place is still free */
                return false;
            }
        }
    }
    worker->batch_left = 0;
    return true;
}

/* Gives the token back on the way to the bench, or to another site. */
static void stop_searching(odi_worker *worker)
{
    if (worker->searching) {
        worker->searching = false;
        odi_idle_found(&worker->site->idle);
        odi_fence_heavy(S1); /* what a submitter's ticket has counted can be claimed */
    }
}

void odi_crew_move(odi_worker *worker)
{
    odi_crew *crew = worker->crew;

    if (!odi_load_relaxed(&worker->moves)) /* relaxed: a hint, looked at under the lock */
        return;
    stop_searching(worker);
    if (odi_home_move(worker))
        odi_home_settle(worker);
    /* What it was woken for is anybody's now. */
    if (odi_crew_has_work(crew))
        (void)odi_crew_publish(crew, worker->site);
}

/* Takes a worker off the bench's list whose time there is over. Lock held. */
static void leave_bench(odi_crew *crew, odi_worker *worker)
{
    odi_worker **link = &crew->bench;

    while (*link != worker)
        link = &(*link)->next_benched;
    *link = worker->next_benched;
    worker->benched = false;
}

/* Whether a worker is one too many and the crew does not stop. Lock held. */
static bool is_surplus(odi_crew *crew)
{
    /* relaxed: stop walks the bench under the lock after it set the flag */
    return crew->active > odi_crew_limit(crew) &&
           !(odi_load_relaxed(&crew->attention) & ODI_STOPPING);
}

/* Puts the worker on the bench, if it is still one too many. */
static bool take_a_seat(odi_crew *crew, odi_worker *worker)
{
    odi_lock_acquire(&crew->lock);
    bool surplus = is_surplus(crew);
    if (surplus) {
        crew->active--;
        odi_store_relaxed(&worker->bench_word, 0); /* relaxed: under the lock */
        odi_home_give(crew, worker->slot);
        worker->benched = true;
        worker->next_benched = crew->bench;
        crew->bench = worker;
        odi_crew_counts_changed(crew);
    }
    odi_lock_release(&crew->lock);
    return surplus;
}

odi_bench_result odi_crew_bench(odi_worker *worker)
{
    odi_crew *crew = worker->crew;

    odi_worker_end_run(worker);
    odi_lock_acquire(&crew->lock);
    bool surplus = is_surplus(crew);
    odi_lock_release(&crew->lock);
    if (!surplus || !hand_over_jobs(worker))
        return ODI_BENCH_STAYS;
    /* Before it is on the bench: from there on `searching` is its caller's to write. */
    stop_searching(worker);
    if (!take_a_seat(crew, worker))
        return ODI_BENCH_STAYS;
    /* What it was woken for is somebody else's now. */
    if (odi_crew_has_work(crew))
        (void)odi_crew_publish(crew, worker->site);
    odi_crew_watch_agenda(crew, worker->site); /* it may have been the keeper */

    int64_t deadline = odi_clock_after(crew->bench_ns);
    odi_futex_result result = ODI_FUTEX_WOKEN;
    /* Ended by: odi_crew_start_one, which calls back; a stop; or the deadline. */
    while (odi_load_acquire(&worker->bench_word, S3) == 0 && result != ODI_FUTEX_TIMED_OUT)
        result = odi_futex_wait(&worker->bench_word, 0, deadline);

    odi_lock_acquire(&crew->lock);
    bool called_back = !worker->benched;
    if (!called_back)
        leave_bench(crew, worker);
    odi_lock_release(&crew->lock);
    return called_back ? ODI_BENCH_RETURNS : ODI_BENCH_LEAVES;
}

void odi_crew_depart(odi_worker *worker, bool from_bench)
{
    odi_crew *crew = worker->crew;

    odi_lock_acquire(&crew->lock);
    odi_home_forget(worker);
    worker->present = worker->pinned = false;
    (void)odi_crew_list_workers(crew); /* an absent worker in the table does no harm */
    crew->present--;
    crew->active -= !from_bench;
    odi_add_release(&crew->departures, 1, S3);
    odi_futex_wake(&crew->departures, INT_MAX);
    /* The last touch of the crew, which may be freed from here on. */
    odi_lock_release(&crew->lock);
}

/* ---- blocking ---- */

void odi_crew_block(odi_crew *crew)
{
    odi_lock_acquire(&crew->lock);
    crew->blocked++;
    if (crew->blocked + crew->allowance > crew->spare_cap)
        odi_add_relaxed(&crew->cap_reached, 1); /* relaxed: a counter */
    odi_crew_counts_changed(crew);
    odi_lock_release(&crew->lock);
}

void odi_crew_unblock(odi_crew *crew)
{
    odi_lock_acquire(&crew->lock);
    crew->blocked--;
    odi_crew_counts_changed(crew);
    odi_lock_release(&crew->lock);
}

/* ---- fork ---- */

void odi_crew_forked(odi_crew *crew)
{
    crew->lock = (odi_lock){0};
    crew->active = crew->present = crew->blocked = crew->allowance = 0;
    crew->bench = NULL;
    odi_homes_forked(crew);
    memset(crew->loans, 0, sizeof crew->loans);
    /* relaxed, all: one thread exists */
    odi_store_relaxed(&crew->lent, 0);
    for (int slot = 0; slot < crew->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&crew->slots[slot]);

        if (worker != NULL && pthread_equal(worker->forks.thread, pthread_self()))
            odi_forks_lose(&worker->forks); /* the calling thread comes back to them */
        odi_store_relaxed(&crew->slots[slot], (odi_worker *)NULL); /* never freed here */
    }
    for (int site = 0; site < crew->site_count; site++)
        (void)init_site(crew, &crew->sites[site]);
    odi_guests_forked(crew);
    odi_agenda_forked(&crew->agenda);
    crew->next_start_ns = 0;
    (void)odi_crew_list_workers(crew);
    odi_store_relaxed(&crew->attention, ODI_CAN_START | ODI_MONITOR_OFF); /* relaxed: as above */
}
