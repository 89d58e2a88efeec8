/* team.c — the workers of a pool: their table, memory, number and parked spares. All changes are made under
 * the team's lock. */
#include "worker/team.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "os/pages.h"
#include "worker/assignment.h"
#include "worker/worker.h"

/* ---- the table: replaced as a whole, under the lock ---- */

static void table_destroy(odi_retired *retired)
{
    free(retired);
}

/* Makes a new table of the workers with a thread, sorted by site. */
bool odi_team_list_workers(odi_team *team)
{
    odi_table *table = malloc(sizeof *table + (size_t)team->capacity * sizeof(odi_worker *));
    int count = 0;

    if (table == NULL)
        return false;
    for (int site = 0; site < team->site_count; site++) {
        table->first[site] = count;
        for (int slot = 0; slot < team->capacity; slot++) {
            odi_worker *worker = odi_load_relaxed(&team->slots[slot]); /* relaxed: locked */

            if (worker != NULL && worker->present && worker->site_index == site)
                table->workers[count++] = worker;
        }
    }
    table->first[team->site_count] = count;

    odi_table *old = odi_load_relaxed(&team->table); /* relaxed: written under the lock */
    odi_store_release(&team->table, table, W1);
    if (old != NULL)
        odi_retire(&old->retired, table_destroy);
    return true;
}

/* ---- life ---- */

static void begin_site(odi_site *site)
{
    odi_idle_init(&site->idle, (uint32_t)-2); /* the epoch wraps early in every process */
    odi_store_relaxed(&site->bands, 0); /* relaxed: no other thread knows it yet */
}

static bool init_site(odi_team *team, odi_site *site)
{
    begin_site(site);
    for (int band = 0; band < ODI_BANDS; band++) {
        if (!odi_injector_init(&site->injectors[band], 0, team->site_count > 1
                                                               ? site->node
                                                               : ODI_ANY_NODE))
            return false;
    }
    return true;
}

bool odi_team_init(odi_team *team)
{
    team->slots = calloc((size_t)team->capacity, sizeof *team->slots);
    if (team->slots == NULL || !odi_assignment_init(team)) {
        free(team->slots);
        return false;
    }
    for (int site = 0; site < team->site_count; site++) {
        if (!init_site(team, &team->sites[site])) {
            odi_team_free(team);
            return false;
        }
    }
    if (!odi_timer_queue_init(&team->timers, team->site_count + 1) || !odi_team_list_workers(team)) {
        odi_team_free(team);
        return false;
    }
    /* relaxed: new */
    odi_store_relaxed(&team->attention, ODI_CAN_START | ODI_MONITOR_OFF | ODI_NO_THREADS);
    odi_store_relaxed(&team->limit_seen, odi_team_limit(team)); /* relaxed: not shared yet */
    return true;
}

/* Returns the node for a site's memory: any node if there is only one site. */
static int memory_node(const odi_team *team, const odi_site *site)
{
    return team->site_count > 1 ? site->node : ODI_ANY_NODE;
}

odi_worker *odi_team_make_worker(odi_team *team, int slot)
{
    int site = odi_assignment_site(team, slot);
    int node = memory_node(team, &team->sites[site]);
    odi_worker *worker = odi_pages_new(odi_pages_size(sizeof *worker, node), node);

    if (worker == NULL)
        return NULL;
    worker->team = team;
    worker->site_index = site;
    worker->site = &team->sites[site];
    worker->slot = slot;
    worker->forks.in_worker = true;
    worker->random = odi_rng_seed((uint64_t)slot);
    for (int band = 0; band < ODI_BANDS; band++)
        odi_deque_init(&worker->deques[band], team->first_index, node);
    /* If this fails, the worker's forks run on the worker itself. */
    (void)odi_forks_make(&worker->forks, team, worker, team->stack_bytes);
    odi_store_release(&team->slots[slot], worker, W3);
    return worker;
}

void odi_team_free(odi_team *team)
{
    odi_worker *worker;

    odi_reclaim_drain();
    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        for (int band = 0; band < ODI_BANDS; band++)
            odi_deque_free(&worker->deques[band]);
        odi_forks_free(&worker->forks);
        odi_pages_free(worker, odi_pages_size(sizeof *worker, memory_node(team, worker->site)));
    }
    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++)
            odi_injector_free(&team->sites[site].injectors[band]);
    }
    odi_timer_queue_free(&team->timers);
    free(odi_load_relaxed(&team->table)); /* relaxed: no other thread uses the team */
    free(team->assigned);
    free(team->slots);
}

/* ---- counts ---- */

int odi_team_limit(const odi_team *team)
{
    int spares = team->blocked + team->allowance;

    return team->target + (spares < team->spare_cap ? spares : team->spare_cap);
}

void odi_team_set_attention(odi_team *team, uint32_t bits, bool on)
{
    if (on)
        odi_or_seqcst(&team->attention, bits, S4);
    else
        odi_and_seqcst(&team->attention, ~bits, S4);
}

void odi_team_counts_changed(odi_team *team)
{
    int limit = odi_team_limit(team);
    uint32_t now = odi_load_relaxed(&team->attention); /* relaxed: bits change under the lock */
    uint32_t want = (team->active < limit ? ODI_CAN_START : 0) |
                    (team->active > limit ? ODI_SURPLUS : 0);

    odi_store_relaxed(&team->limit_seen, limit); /* relaxed, both: hints */
    odi_store_relaxed(&team->active_seen, team->active);
    if ((now & (ODI_CAN_START | ODI_SURPLUS)) != want) {
        odi_team_set_attention(team, want, true);
        odi_team_set_attention(team, (ODI_CAN_START | ODI_SURPLUS) & ~want, false);
    }
}

/* ---- parked spares ---- */

void odi_team_seat(odi_worker *worker)
{
    odi_team *team = worker->team;

    odi_store_relaxed(&worker->bench_word, 0); /* relaxed: under the lock */
    worker->benched = true;
    worker->next_benched = team->bench;
    team->bench = worker;
}

void odi_team_unseat(odi_worker *worker)
{
    odi_worker **link = &worker->team->bench;

    while (*link != worker)
        link = &(*link)->next_benched;
    *link = worker->next_benched;
    worker->benched = false;
}

odi_plan *odi_team_set_target(odi_team *team, int target, odi_plan *plan)
{
    odi_lock_acquire(&team->lock);
    bool wakes = target < team->target || plan != NULL;
    team->target = target;
    odi_plan *over = odi_assignment_replan(team, plan);
    odi_team_counts_changed(team);
    odi_lock_release(&team->lock);

    /* Surplus sleepers leave now, and sleepers whose placement changed move. */
    for (int site = 0; site < team->site_count && wakes; site++)
        odi_idle_wake_all(&team->sites[site].idle);
    return over;
}

/* ---- blocking ---- */

void odi_team_count_blocked(odi_team *team, int change)
{
    odi_lock_acquire(&team->lock);
    team->blocked += change;
    if (change > 0 && team->blocked + team->allowance > team->spare_cap)
        odi_add_relaxed(&team->cap_reached, 1); /* relaxed: a counter */
    odi_team_counts_changed(team);
    odi_lock_release(&team->lock);
}

/* ---- fork ---- */

void odi_team_forked(odi_team *team, bool stopped)
{
    team->lock = team->first_lock = (odi_lock){0};
    team->active = team->present = team->blocked = team->allowance = 0;
    odi_store_relaxed(&team->active_seen, 0); /* relaxed, both: one thread exists */
    odi_store_relaxed(&team->limit_seen, odi_team_limit(team));
    odi_store_relaxed(&team->held_back, false); /* relaxed: one thread exists */
    team->bench = NULL;
    odi_assignment_number(team);
    /* relaxed, all: one thread exists */
    for (int slot = 0; slot < team->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&team->slots[slot]);

        if (worker != NULL && pthread_equal(worker->forks.thread, pthread_self()))
            odi_forks_lose(&worker->forks); /* the calling thread returns to these forks */
        odi_store_relaxed(&team->slots[slot], (odi_worker *)NULL); /* the parent's worker is never freed here */
    }
    for (odi_site *site = team->sites; site < team->sites + team->site_count; site++) {
        begin_site(site);
        for (int band = 0; band < ODI_BANDS; band++)
            odi_injector_forked(&site->injectors[band]);
    }
    odi_timer_queue_forked(&team->timers);
    odi_table *table = odi_load_relaxed(&team->table); /* relaxed: one thread exists */
    memset(table->first, 0, sizeof table->first);      /* the parent's workers; no other thread reads it now */
    /* relaxed: one thread exists */
    odi_store_relaxed(&team->attention, ODI_CAN_START | ODI_MONITOR_OFF | ODI_NO_THREADS |
                                            (stopped ? ODI_STOPPING | ODI_CANCELLING : 0));
}
