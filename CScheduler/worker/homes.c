#include "worker/homes.h"

#include <stdlib.h>

#include "os/affinity.h"
#include "os/numa.h"
#include "os/pages.h"
#include "os/thread.h"
#include "worker/worker.h"

/* ---- homes: lock held ---- */

static int places(const odi_crew *crew)
{
    return crew->plan != NULL ? crew->plan->worker_count : crew->capacity;
}

/* Whether it makes a difference who lives where. */
static bool homes_matter(const odi_crew *crew)
{
    return crew->plan != NULL && (crew->site_count > 1 || crew->plan->pins);
}

/* The plan's nodes are its topology's, which may have been read later than the sites. */
static int site_of_place(const odi_crew *crew, int place)
{
    if (crew->plan == NULL)
        return place % crew->site_count;
    int node = odi_plan_place(crew->plan, place).node;
    int id = crew->plan->topology->nodes[node].id;

    if (node < crew->site_count && crew->sites[node].node == id)
        return node;
    for (int site = 0; site < crew->site_count; site++) {
        if (crew->sites[site].node == id)
            return site;
    }
    return node % crew->site_count;
}

int odi_home_site(const odi_crew *crew, int slot)
{
    return site_of_place(crew, crew->homes[slot]);
}

bool odi_home_is_own(const odi_crew *crew, int slot)
{
    return crew->homes[slot] < places(crew);
}

static odi_worker *worker_of(const odi_crew *crew, int slot)
{
    return odi_load_relaxed(&crew->slots[slot]); /* relaxed: written under the lock */
}

static bool has_thread(const odi_crew *crew, int slot)
{
    odi_worker *worker = worker_of(crew, slot);

    return worker != NULL && worker->present;
}

static bool works(const odi_crew *crew, int slot)
{
    return has_thread(crew, slot) && !worker_of(crew, slot)->benched;
}

/* Of who sits on the bench the crew takes no notice: it moves when it is called back. */
static void count_moving(odi_crew *crew, int change)
{
    crew->moving += change;
    if (crew->moving == (change > 0))
        odi_crew_set_attention(crew, ODI_MOVES, change > 0);
}

static void has_to_move(odi_crew *crew, int slot)
{
    odi_worker *worker = worker_of(crew, slot);

    /* relaxed: written under the lock; who sleeps is woken after it, or sees it (S4) */
    if (!has_thread(crew, slot) || odi_load_relaxed(&worker->moves))
        return;
    odi_store_relaxed(&worker->moves, true);
    if (!worker->benched)
        count_moving(crew, 1);
}

static void has_moved(odi_worker *worker)
{
    if (!odi_load_relaxed(&worker->moves)) /* relaxed: written under the lock */
        return;
    odi_store_relaxed(&worker->moves, false); /* relaxed: as above */
    if (!worker->benched)
        count_moving(worker->crew, -1);
}

static void exchange(odi_crew *crew, int slot, int other)
{
    int home = crew->homes[slot];

    crew->homes[slot] = crew->homes[other];
    crew->homes[other] = home;
    has_to_move(crew, slot);
    has_to_move(crew, other);
}

void odi_home_take(odi_crew *crew, int slot)
{
    int best = -1;

    if (!homes_matter(crew) || odi_home_is_own(crew, slot))
        return;
    for (int other = 0; other < crew->capacity; other++) {
        if (!odi_home_is_own(crew, other) || works(crew, other))
            continue;
        if (best < 0 || odi_home_site(crew, other) == odi_home_site(crew, slot))
            best = other;
    }
    if (best >= 0)
        exchange(crew, slot, best);
}

void odi_home_give(odi_crew *crew, int slot)
{
    if (!homes_matter(crew) || !odi_home_is_own(crew, slot))
        return;
    for (int other = 0; other < crew->capacity; other++) {
        if (other != slot && works(crew, other) && !odi_home_is_own(crew, other)) {
            exchange(crew, slot, other);
            return;
        }
    }
}

/* ---- a new plan: lock held ---- */

/* The first free place on the site, or that very CPU's (-1: whichever). */
static int find_place(const odi_plan *plan, const int *sites, const bool *taken, int site, int cpu)
{
    for (int place = 0; place < plan->worker_count; place++) {
        if (!taken[place] && sites[place] == site &&
            (cpu < 0 || odi_plan_place(plan, place).cpu == cpu))
            return place;
    }
    return -1;
}

/* Whoever is there stays on its node, and on its CPU, as far as there is a place. */
static void keep_places(odi_crew *crew, const odi_plan *old, const int *sites, bool *taken)
{
    for (int by_cpu = 1; by_cpu >= 0; by_cpu--) {
        for (int slot = 0; slot < crew->capacity; slot++) {
            odi_worker *worker = worker_of(crew, slot);

            if (!has_thread(crew, slot) || crew->new_homes[slot] >= 0)
                continue;
            int cpu = by_cpu && old != NULL ? odi_plan_place(old, crew->homes[slot]).cpu : -1;
            if (by_cpu && cpu < 0)
                continue;
            int place = find_place(crew->plan, sites, taken, worker->site_index, cpu);
            if (place >= 0) {
                crew->new_homes[slot] = place;
                taken[place] = true;
            }
        }
    }
}

/* The places that are left, to those that are there first; who gets none shares one. */
static void fill_places(odi_crew *crew, const bool *taken)
{
    int next = 0, shared = crew->plan->worker_count;

    for (int there = 1; there >= 0; there--) {
        for (int slot = 0; slot < crew->capacity; slot++) {
            if (crew->new_homes[slot] >= 0 || has_thread(crew, slot) != there)
                continue;
            while (next < crew->plan->worker_count && taken[next])
                next++;
            crew->new_homes[slot] = next < crew->plan->worker_count ? next++ : shared++;
        }
    }
}

odi_plan *odi_homes_replan(odi_crew *crew, odi_plan *plan)
{
    odi_plan *old = crew->plan;
    int sites[ODI_MOST_WORKERS] = {0};
    bool taken[ODI_MOST_WORKERS] = {false};
    bool mattered = homes_matter(crew);

    if (plan == NULL)
        return NULL;
    crew->plan = plan;
    if (!mattered && !homes_matter(crew))
        return old;
    for (int place = 0; place < plan->worker_count; place++)
        sites[place] = site_of_place(crew, place);
    for (int slot = 0; slot < crew->capacity; slot++)
        crew->new_homes[slot] = -1;
    keep_places(crew, old, sites, taken);
    fill_places(crew, taken);

    int *homes = crew->homes;
    crew->homes = crew->new_homes;
    crew->new_homes = homes;
    for (int slot = 0; slot < crew->capacity; slot++)
        has_to_move(crew, slot); /* its mask may be another even where its node is not */
    return old;
}

/* ---- life ---- */

static void number(odi_crew *crew)
{
    for (int slot = 0; slot < crew->capacity; slot++)
        crew->homes[slot] = slot;
}

bool odi_homes_init(odi_crew *crew)
{
    crew->homes = calloc((size_t)crew->capacity, sizeof *crew->homes);
    crew->new_homes = calloc((size_t)crew->capacity, sizeof *crew->new_homes);
    if (crew->homes == NULL || crew->new_homes == NULL)
        return false;
    number(crew);
    return true;
}

void odi_homes_free(odi_crew *crew)
{
    free(crew->homes);
    free(crew->new_homes);
}

void odi_homes_forked(odi_crew *crew)
{
    crew->moving = 0;
    number(crew);
}

/* ---- workers ---- */

static void put(odi_worker *worker, int site)
{
    odi_crew *crew = worker->crew;

    worker->site_index = site;
    worker->site = &crew->sites[site];
    for (int band = 0; band < ODI_BANDS; band++)
        worker->deques[band].node = crew->site_count > 1 ? worker->site->node : ODI_ANY_NODE;
}

void odi_home_put(odi_worker *worker)
{
    has_moved(worker);
    put(worker, odi_home_site(worker->crew, worker->slot));
}

void odi_home_forget(odi_worker *worker)
{
    has_moved(worker);
}

void odi_home_bench(odi_worker *worker, bool benched)
{
    if (worker->benched != benched && odi_load_relaxed(&worker->moves)) /* relaxed: as above */
        count_moving(worker->crew, benched ? -1 : 1);
    worker->benched = benched;
}

bool odi_home_move(odi_worker *worker)
{
    odi_crew *crew = worker->crew;

    odi_lock_acquire(&crew->lock);
    bool moves = odi_load_relaxed(&worker->moves); /* relaxed: written under the lock */
    int site = odi_home_site(crew, worker->slot);
    has_moved(worker);
    if (moves && site != worker->site_index) {
        put(worker, site);
        odi_crew_list_workers(crew);
    }
    odi_lock_release(&crew->lock);
    return moves;
}

/* The first pages of a stack were written by whoever created the thread, and by the thread
 * before it was on its node. With huge pages these are megabytes. */
static void bring_stack_home(odi_worker *worker)
{
    size_t bytes;
    void *stack = odi_thread_stack_in_use(&bytes);

    if (stack != NULL)
        (void)odi_numa_move(stack, bytes, worker->site->node); /* a wish */
}

/* Every CPU that the plan knows of. */
static void all_cpus(const odi_topology *topology, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    for (int cpu = 0; cpu < topology->cpu_count; cpu++)
        odi_cpu_mask_add(mask, topology->cpus[cpu].id);
}

void odi_home_settle(odi_worker *worker)
{
    odi_crew *crew = worker->crew;
    odi_cpu_mask mask;

    odi_lock_acquire(&crew->lock);
    const odi_plan *plan = crew->plan; /* NULL for good: nobody was ever pinned */
    bool pinned = plan != NULL && worker->pinned;
    bool pins = plan != NULL && odi_plan_mask(plan, crew->homes[worker->slot], &mask);
    if (!pins && pinned)
        all_cpus(plan->topology, &mask); /* it may go where it likes again */
    odi_lock_release(&crew->lock);

    if (!pins && !pinned)
        return;
    worker->pinned = pins;
    if (odi_affinity_set(&mask) != 0)
        odi_add_relaxed(&crew->warnings, 1); /* relaxed: a counter. It runs unpinned. */
    else if (pins && crew->site_count > 1)
        bring_stack_home(worker);
}
