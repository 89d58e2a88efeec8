#include "worker/assignment.h"

#include <stdlib.h>

#include "os/affinity.h"
#include "os/numa.h"
#include "os/pages.h"
#include "os/thread.h"
#include "worker/worker.h"

/* ---- assigned places: lock held ---- */

static int places(const odi_team *team)
{
    return team->plan != NULL ? team->plan->worker_count : team->capacity;
}

/* Whether it makes a difference who lives where. */
static bool assignment_matters(const odi_team *team)
{
    return team->plan != NULL && (team->site_count > 1 || team->plan->pins);
}

/* The plan's nodes are its topology's, which may have been read later than the sites. */
static int site_of_place(const odi_team *team, int place)
{
    if (team->plan == NULL)
        return place % team->site_count;
    int node = odi_plan_place(team->plan, place).node;
    int id = team->plan->topology->nodes[node].id;

    if (node < team->site_count && team->sites[node].node == id)
        return node;
    for (int site = 0; site < team->site_count; site++) {
        if (team->sites[site].node == id)
            return site;
    }
    return node % team->site_count;
}

int odi_assignment_site(const odi_team *team, int slot)
{
    return site_of_place(team, team->assigned[slot]);
}

bool odi_assignment_is_own(const odi_team *team, int slot)
{
    return team->assigned[slot] < places(team);
}

static odi_worker *worker_of(const odi_team *team, int slot)
{
    return odi_load_relaxed(&team->slots[slot]); /* relaxed: written under the lock */
}

static bool has_thread(const odi_team *team, int slot)
{
    odi_worker *worker = worker_of(team, slot);

    return worker != NULL && worker->present;
}

static bool works(const odi_team *team, int slot)
{
    return has_thread(team, slot) && !worker_of(team, slot)->benched;
}

/* Of who sits on the bench the team takes no notice: it moves when it is called back. */
static void count_moving(odi_team *team, int change)
{
    team->moving += change;
    if (team->moving == (change > 0))
        odi_team_set_attention(team, ODI_MOVES, change > 0);
}

static void has_to_move(odi_team *team, int slot)
{
    odi_worker *worker = worker_of(team, slot);

    /* relaxed: written under the lock; who sleeps is woken after it, or sees it (S4) */
    if (!has_thread(team, slot) || odi_load_relaxed(&worker->moves))
        return;
    odi_store_relaxed(&worker->moves, true);
    if (!worker->benched)
        count_moving(team, 1);
}

static void has_moved(odi_worker *worker)
{
    if (!odi_load_relaxed(&worker->moves)) /* relaxed: written under the lock */
        return;
    odi_store_relaxed(&worker->moves, false); /* relaxed: as above */
    if (!worker->benched)
        count_moving(worker->team, -1);
}

static void exchange(odi_team *team, int slot, int other)
{
    int place = team->assigned[slot];

    team->assigned[slot] = team->assigned[other];
    team->assigned[other] = place;
    has_to_move(team, slot);
    has_to_move(team, other);
}

void odi_assignment_take(odi_team *team, int slot)
{
    int best = -1;

    if (!assignment_matters(team) || odi_assignment_is_own(team, slot))
        return;
    for (int other = 0; other < team->capacity; other++) {
        if (!odi_assignment_is_own(team, other) || works(team, other))
            continue;
        if (best < 0 || odi_assignment_site(team, other) == odi_assignment_site(team, slot))
            best = other;
    }
    if (best >= 0)
        exchange(team, slot, best);
}

void odi_assignment_give(odi_team *team, int slot)
{
    if (!assignment_matters(team) || !odi_assignment_is_own(team, slot))
        return;
    for (int other = 0; other < team->capacity; other++) {
        if (other != slot && works(team, other) && !odi_assignment_is_own(team, other)) {
            exchange(team, slot, other);
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
static void keep_places(odi_team *team, const odi_plan *old, const int *sites, bool *taken)
{
    for (int by_cpu = 1; by_cpu >= 0; by_cpu--) {
        for (int slot = 0; slot < team->capacity; slot++) {
            odi_worker *worker = worker_of(team, slot);

            if (!has_thread(team, slot) || team->new_assigned[slot] >= 0)
                continue;
            int cpu = by_cpu && old != NULL ? odi_plan_place(old, team->assigned[slot]).cpu : -1;
            if (by_cpu && cpu < 0)
                continue;
            int place = find_place(team->plan, sites, taken, worker->site_index, cpu);
            if (place >= 0) {
                team->new_assigned[slot] = place;
                taken[place] = true;
            }
        }
    }
}

/* The places that are left, to those that are there first; who gets none shares one. */
static void fill_places(odi_team *team, const bool *taken)
{
    int next = 0, shared = team->plan->worker_count;

    for (int there = 1; there >= 0; there--) {
        for (int slot = 0; slot < team->capacity; slot++) {
            if (team->new_assigned[slot] >= 0 || has_thread(team, slot) != there)
                continue;
            while (next < team->plan->worker_count && taken[next])
                next++;
            team->new_assigned[slot] = next < team->plan->worker_count ? next++ : shared++;
        }
    }
}

odi_plan *odi_assignment_replan(odi_team *team, odi_plan *plan)
{
    odi_plan *old = team->plan;
    int sites[ODI_MOST_WORKERS] = {0};
    bool taken[ODI_MOST_WORKERS] = {false};
    bool mattered = assignment_matters(team);

    if (plan == NULL)
        return NULL;
    team->plan = plan;
    if (!mattered && !assignment_matters(team))
        return old;
    for (int place = 0; place < plan->worker_count; place++)
        sites[place] = site_of_place(team, place);
    for (int slot = 0; slot < team->capacity; slot++)
        team->new_assigned[slot] = -1;
    keep_places(team, old, sites, taken);
    fill_places(team, taken);

    int *assigned = team->assigned;
    team->assigned = team->new_assigned;
    team->new_assigned = assigned;
    for (int slot = 0; slot < team->capacity; slot++)
        has_to_move(team, slot); /* its mask may be another even where its node is not */
    return old;
}

/* ---- life ---- */

static void number(odi_team *team)
{
    for (int slot = 0; slot < team->capacity; slot++)
        team->assigned[slot] = slot;
}

bool odi_assignment_init(odi_team *team)
{
    team->assigned = calloc((size_t)team->capacity, sizeof *team->assigned);
    team->new_assigned = calloc((size_t)team->capacity, sizeof *team->new_assigned);
    if (team->assigned == NULL || team->new_assigned == NULL)
        return false;
    number(team);
    return true;
}

void odi_assignment_free(odi_team *team)
{
    free(team->assigned);
    free(team->new_assigned);
}

void odi_assignment_forked(odi_team *team)
{
    team->moving = 0;
    number(team);
}

/* ---- workers ---- */

static void put(odi_worker *worker, int site)
{
    odi_team *team = worker->team;

    worker->site_index = site;
    worker->site = &team->sites[site];
    for (int band = 0; band < ODI_BANDS; band++)
        worker->deques[band].node = team->site_count > 1 ? worker->site->node : ODI_ANY_NODE;
}

void odi_assignment_put(odi_worker *worker)
{
    has_moved(worker);
    put(worker, odi_assignment_site(worker->team, worker->slot));
}

void odi_assignment_forget(odi_worker *worker)
{
    has_moved(worker);
}

void odi_assignment_bench(odi_worker *worker, bool benched)
{
    if (worker->benched != benched && odi_load_relaxed(&worker->moves)) /* relaxed: as above */
        count_moving(worker->team, benched ? -1 : 1);
    worker->benched = benched;
}

bool odi_assignment_move(odi_worker *worker)
{
    odi_team *team = worker->team;

    odi_lock_acquire(&team->lock);
    bool moves = odi_load_relaxed(&worker->moves); /* relaxed: written under the lock */
    int site = odi_assignment_site(team, worker->slot);
    has_moved(worker);
    if (moves && site != worker->site_index) {
        put(worker, site);
        odi_team_list_workers(team);
    }
    odi_lock_release(&team->lock);
    return moves;
}

/* The first pages of a stack were written by whoever created the thread, and by the thread
 * before it was on its node. With huge pages these are megabytes. */
static void move_stack(odi_worker *worker)
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

void odi_assignment_settle(odi_worker *worker)
{
    odi_team *team = worker->team;
    odi_cpu_mask mask;

    odi_lock_acquire(&team->lock);
    const odi_plan *plan = team->plan; /* NULL for good: nobody was ever pinned */
    bool pinned = plan != NULL && worker->pinned;
    bool pins = plan != NULL && odi_plan_mask(plan, team->assigned[worker->slot], &mask);
    if (!pins && pinned)
        all_cpus(plan->topology, &mask); /* it may go where it likes again */
    odi_lock_release(&team->lock);

    if (!pins && !pinned)
        return;
    worker->pinned = pins;
    if (odi_affinity_set(&mask) != 0)
        odi_add_relaxed(&team->warnings, 1); /* relaxed: a counter. It runs unpinned. */
    else if (pins && team->site_count > 1)
        move_stack(worker);
}
