/* recruit.c — announces work and adds workers: wakes a sleeper nearby or farther away, calls back a parked
 * spare, or starts a thread. */
#include "worker/recruit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "worker/assignment.h"
#include "worker/work.h"
#include "worker/worker.h"

/* After a failed thread start the next attempt waits this long. */
enum { RETRY_START_NS = 100000000 };

/* Returns the lowest slot without a thread and with an unshared place on a site (-1: any slot). Lock held. */
static int free_slot(odi_team *team, int site)
{
    for (int slot = 0; slot < team->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&team->slots[slot]); /* relaxed: locked */

        if ((worker == NULL || !worker->present) &&
            (site < 0 || (odi_assignment_is_own(team, slot) && odi_assignment_site(team, slot) == site)))
            return slot;
    }
    return -1;
}

/* Returns a worker for a slot without a thread, if possible with an unshared place on the site or near it.
 * Lock held. */
static odi_worker *take_slot(odi_team *team, int site)
{
    int slot = -1;

    for (int rank = 0; rank < team->site_count && slot < 0; rank++)
        slot = free_slot(team, team->site_order[site][rank]);
    if (slot < 0)
        slot = free_slot(team, -1);
    if (slot < 0)
        return NULL;
    odi_worker *worker = odi_load_relaxed(&team->slots[slot]); /* relaxed: locked */
    return worker != NULL ? worker : odi_team_make_worker(team, slot);
}

/* Returns the link to the parked spare to call back: one of the site, or any. Lock held. */
static odi_worker **choose_benched(odi_team *team, int site)
{
    for (odi_worker **link = &team->bench; *link != NULL; link = &(*link)->next_benched) {
        if ((*link)->site_index == site)
            return link;
    }
    return &team->bench;
}

/* Lists a worker whose thread is about to start. Returns false if an allocation fails. Lock held. */
static bool enlist(odi_team *team, odi_worker *worker)
{
    worker->present = true;
    if (!odi_team_list_workers(team)) {
        worker->present = false;
        return false;
    }
    team->present++;
    return true;
}

/* Selects a worker, whose thread will hold its site's search token. Lock held. */
static odi_worker *recruit(odi_team *team, int site, bool *short_of_memory)
{
    odi_worker **benched = choose_benched(team, site);
    odi_worker *worker = *benched != NULL ? *benched : take_slot(team, site);

    *short_of_memory = worker == NULL;
    if (worker != NULL) {
        odi_assignment_take(team, worker->slot);
        if (!worker->present)
            odi_assignment_put(worker);
    }
    odi_fence_seqcst(S2); /* a search that is under way covers earlier publications */
    if (worker == NULL || !odi_idle_try_search(&worker->site->idle))
        return NULL;
    worker->searching = true;
    if (worker->benched) {
        odi_team_unseat(worker);
        odi_store_release(&worker->bench_word, 1, W5); /* locked: the worker may park again immediately */
    } else if (!enlist(team, worker)) {
        worker->searching = false;
        odi_idle_found(&worker->site->idle);
        *short_of_memory = true;
        return NULL;
    }
    /* The monitor must treat the worker as fresh, not as one that ran jobs since the last check. */
    worker->watched_jobs = odi_worker_activity(worker);
    team->active++;
    int spares = team->active - team->target;
    if (spares > 0 && (uint64_t)spares > odi_load_relaxed(&team->most_spares))
        odi_store_relaxed(&team->most_spares, (uint64_t)spares); /* relaxed: locked */
    odi_team_counts_changed(team);
    return worker;
}

/* Records a failed start, which delays the next attempt. Lock held. */
ODI_COLD static void note_failure(odi_team *team)
{
    team->next_start_ns = odi_clock_after(RETRY_START_NS);
    odi_add_relaxed(&team->start_failures, 1); /* relaxed: a counter */
    odi_team_counts_changed(team);
}

ODI_COLD static void say_failure(odi_team *team, int error)
{
    odi_lock_acquire(&team->lock);
    bool first = !team->start_failed_said;
    team->start_failed_said = true;
    int active = team->active;
    odi_lock_release(&team->lock);

    if (first)
        odi_warn("pool \"%s\": a worker could not be started (%s; %d run). %s Raise the limit of threads.", team->name,
                 strerror(error), active, active == 0 ? "Submissions are refused." : "The pool continues.");
    /* Work published while the token was taken relied on a search that never happened (S2). */
    odi_fence_heavy(S4);
    if (odi_team_has_work(team))
        odi_team_publish(team, &team->sites[0]);
}

/* The thread could not start: restores the previous state. */
ODI_COLD static void start_failed(odi_team *team, odi_worker *worker)
{
    odi_lock_acquire(&team->lock);
    if (worker->benched)
        odi_team_unseat(worker);
    else { /* also a first spare that was called back in between */
        worker->searching = false;
        odi_idle_found(&worker->site->idle);
        team->active--;
    }
    worker->present = worker->begins_benched = false;
    team->present--;
    (void)odi_team_list_workers(team); /* a worker without a thread in the table does no harm */
    note_failure(team);
    odi_add_relaxed(&team->departures, 1); /* relaxed: locked. A stop that counted this worker waits for the
                                              change */
    odi_futex_wake(&team->departures, INT_MAX);
    odi_lock_release(&team->lock);
}

/* Starts the worker's thread. Returns 0 or the error number. */
static int start_thread(odi_team *team, odi_worker *worker)
{
    char name[16];

    snprintf(name, sizeof name, "%.10s-%d", team->name, worker->slot);
    int error = odi_team_start_thread(team, team->worker_main, worker, team->stack_bytes, name);
    if (error == 0)
        odi_add_relaxed(&team->starts, 1); /* relaxed: a counter */
    else
        start_failed(team, worker);
    return error;
}

/* relaxed: read under the lock, under which a stop sets its flags */
static bool says(odi_team *team, uint32_t bits)
{
    return (odi_load_relaxed(&team->attention) & bits) != 0;
}

/* Adds one worker. `at_once`: ignores the delay after a failed start. Returns false if nothing was tried, or
 * *error gives the reason. */
static bool try_start(odi_team *team, odi_site *site, bool at_once, int *error)
{
    odi_worker *worker = NULL;
    bool called_back = false, short_of_memory = false;

    odi_lock_acquire(&team->lock);
    if (at_once)
        team->next_start_ns = 0;
    bool may = team->active < odi_team_limit(team) && !says(team, ODI_CANCELLING) &&
               (team->next_start_ns == 0 || odi_clock_now() >= team->next_start_ns);
    if (may) {
        called_back = team->bench != NULL;
        worker = recruit(team, (int)(site - team->sites), &short_of_memory);
        if (short_of_memory)
            note_failure(team);
    }
    odi_lock_release(&team->lock);
    if (short_of_memory)
        *error = ENOMEM;
    else if (worker != NULL && called_back)
        odi_futex_wake(&worker->bench_word, 1);
    else if (worker != NULL)
        *error = start_thread(team, worker);
    return may && *error == 0; /* if no worker was added, another thread holds the token and searches */
}

/* Starts a parked thread as the first spare. A blocking job is then replaced even if no further thread can
 * start. If this start fails, the team continues without it. */
static int start_first_spare(odi_team *team)
{
    odi_worker *spare = NULL;

    odi_lock_acquire(&team->lock);
    if (team->spare_cap > 0 && team->bench == NULL && !says(team, ODI_STOPPING | ODI_CANCELLING))
        spare = take_slot(team, 0);
    bool seated = spare != NULL && enlist(team, spare);
    if (seated) {
        odi_assignment_put(spare);
        spare->begins_benched = true;
        odi_team_seat(spare);
    }
    odi_lock_release(&team->lock);
    return seated ? start_thread(team, spare) : 0;
}

/* While the team has no thread, only one caller tries at a time, because an accepted job relies on a thread.
 * `at_once`: see try_start. */
ODI_COLD static bool start_first(odi_team *team, odi_site *site, bool at_once, int *error)
{
    bool started = true;

    odi_lock_acquire(&team->first_lock);
    if (says(team, ODI_NO_THREADS)) { /* otherwise another caller was faster */
        started = try_start(team, site, at_once, error);
        if (started) {
            odi_team_set_attention(team, ODI_NO_THREADS, false);
            *error = start_first_spare(team);
        }
    }
    odi_lock_release(&team->first_lock);
    return started;
}

static bool start(odi_team *team, odi_site *site, bool at_once, int *error)
{
    bool started = ODI_UNLIKELY(says(team, ODI_NO_THREADS)) ? start_first(team, site, at_once, error)
                                                             : at_once || try_start(team, site, false, error);

    if (*error != 0)
        say_failure(team, *error);
    return started;
}

bool odi_team_start_one(odi_team *team, odi_site *site)
{
    int error = 0;

    return start(team, site, false, &error);
}

int odi_team_begin(odi_team *team)
{
    int error = 0;

    return start(team, odi_team_site_here(team), true, &error) ? 0 : error;
}

bool odi_team_has_no_thread_left(odi_team *team, bool *all_others_wait)
{
    const odi_worker *self = odi_worker_self;
    bool counted = self != NULL && self->team == team && self->blocking_depth > 0;

    odi_lock_acquire(&team->lock);
    *all_others_wait = team->blocked + !counted >= team->active; /* includes a caller that is marked as blocked */
    bool none_left = team->active >= team->target + team->spare_cap ||
                     (team->next_start_ns != 0 && odi_clock_now() < team->next_start_ns);
    odi_lock_release(&team->lock);
    return none_left;
}

/* ---- publishing ---- */

void odi_team_publish_slow(odi_team *team, odi_site *site)
{
    const int *order = team->site_order[site - team->sites];

    for (int rank = 1; rank < team->site_count; rank++) {
        if (odi_idle_signal(&team->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return;
    }
    /* relaxed: the publisher's fence precedes it (S4) */
    uint32_t attention = odi_load_relaxed(&team->attention);
    bool started = false;
    if (attention & ODI_CAN_START && !(attention & ODI_CANCELLING)) {
        started = odi_team_start_one(team, site);
        odi_woke_a_sleeper = started;
        attention = odi_load_relaxed(&team->attention); /* relaxed: this thread's own change */
    }
    /* Also if a worker was wanted but could not start: the monitor tries again for jobs that wait for this
     * one. Not after a stop, which would not wait for the monitor's thread. */
    if (!started && attention & ODI_MONITOR_OFF && !(attention & ODI_CANCELLING))
        team->arm_monitor(team);
}

void odi_team_publish_waiting(odi_team *team)
{
    odi_fence_heavy(S4); /* makes work visible that was published while no worker could be added */
    if (odi_team_has_work(team))
        odi_team_publish(team, &team->sites[0]);
}
