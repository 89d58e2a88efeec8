#include "worker/crew.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "os/pages.h"
#include "worker/guest.h"
#include "worker/homes.h"
#include "worker/lend.h"
#include "worker/worker.h"

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
    /* relaxed: new */
    odi_store_relaxed(&crew->attention, ODI_CAN_START | ODI_MONITOR_OFF | ODI_NO_THREADS);
    odi_store_relaxed(&crew->limit_seen, odi_crew_limit(crew)); /* relaxed: new */
    return true;
}

/* Where a site's memory should lie. Without several sites it is nobody's concern. */
static int memory_node(const odi_crew *crew, const odi_site *site)
{
    return crew->site_count > 1 ? site->node : ODI_ANY_NODE;
}

odi_worker *odi_crew_make_worker(odi_crew *crew, int slot)
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

void odi_crew_set_attention(odi_crew *crew, uint32_t bits, bool on)
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
        odi_crew_set_attention(crew, want, true);
        odi_crew_set_attention(crew, (ODI_CAN_START | ODI_SURPLUS) & ~want, false);
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
        odi_crew_publish(crew, &crew->sites[0]);
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
    crew->lock = crew->first_lock = (odi_lock){0};
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
    /* relaxed: as above */
    odi_store_relaxed(&crew->attention, ODI_CAN_START | ODI_MONITOR_OFF | ODI_NO_THREADS);
}
