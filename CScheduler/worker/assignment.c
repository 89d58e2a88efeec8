/* assignment.c — assigns workers to the places of the placement plan. Callers hold the team's lock; each
 * worker applies its own CPU mask. */
#include "worker/assignment.h"

#include <stdlib.h>

#include "os/affinity.h"
#include "os/numa.h"
#include "os/pages.h"
#include "os/process.h"
#include "os/thread.h"
#include "worker/worker.h"

/* ---- assigned places: lock held ---- */

static int places(const odi_team *team)
{
    return team->plan != NULL ? team->plan->worker_count : team->capacity;
}

/* Whether the assignment has any effect. */
static bool assignment_matters(const odi_team *team)
{
    return team->plan != NULL && (team->site_count > 1 || team->plan->pins);
}

/* Returns the site of a place. The plan's topology may have been read later than the sites. */
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

/* Returns the slot's worker if it has a thread, otherwise NULL. */
static odi_worker *worker_of(const odi_team *team, int slot)
{
    odi_worker *worker = odi_load_relaxed(&team->slots[slot]); /* relaxed: written under the lock */

    return worker != NULL && worker->present ? worker : NULL;
}

static bool works(const odi_team *team, int slot)
{
    const odi_worker *worker = worker_of(team, slot);

    return worker != NULL && !worker->benched;
}

/* Marks the slot's worker as one that must move. It also applies if only its CPU mask changes. */
static void has_to_move(odi_team *team, int slot)
{
    odi_worker *worker = worker_of(team, slot);

    if (worker != NULL) /* relaxed: written under the lock; a sleeper is woken afterwards, or sees it (S4) */
        odi_store_relaxed(&worker->moves, true);
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

void odi_assignment_give(odi_team *team)
{
    for (int slot = 0; slot < team->capacity && assignment_matters(team); slot++) {
        if (works(team, slot))
            odi_assignment_take(team, slot);
    }
}

/* ---- a new plan: lock held ---- */

/* A worker that runs on another node than its place exchanges its place. The partner is an unshared place on
 * the worker's node whose slot has no running worker of that node. */
static void keep_node(odi_team *team, int slot)
{
    const odi_worker *worker = worker_of(team, slot);

    if (!works(team, slot) || odi_assignment_site(team, slot) == worker->site_index)
        return;
    for (int other = 0; other < places(team); other++) {
        const odi_worker *holder = worker_of(team, other);

        if ((!works(team, other) || holder->site_index != worker->site_index) && odi_assignment_is_own(team, other) &&
            odi_assignment_site(team, other) == worker->site_index) {
            exchange(team, slot, other);
            return;
        }
    }
}

void odi_assignment_number(odi_team *team)
{
    for (int slot = 0; slot < team->capacity; slot++)
        team->assigned[slot] = slot;
}

odi_plan *odi_assignment_replan(odi_team *team, odi_plan *plan)
{
    odi_plan *old = team->plan;
    bool mattered = assignment_matters(team);

    if (plan == NULL)
        return NULL;
    team->plan = plan;
    if (!mattered && !assignment_matters(team))
        return old;
    odi_assignment_number(team);
    for (int slot = 0; slot < team->capacity; slot++) {
        has_to_move(team, slot);
        keep_node(team, slot);
    }
    odi_assignment_give(team);
    return old;
}

bool odi_assignment_init(odi_team *team)
{
    team->assigned = calloc((size_t)team->capacity, sizeof *team->assigned);
    if (team->assigned != NULL)
        odi_assignment_number(team);
    return team->assigned != NULL;
}

/* ---- workers ---- */

void odi_assignment_put(odi_worker *worker)
{
    odi_team *team = worker->team;
    int site = odi_assignment_site(team, worker->slot);

    odi_store_relaxed(&worker->moves, false); /* relaxed: written under the lock */
    worker->site_index = site;
    worker->site = &team->sites[site];
    for (int band = 0; band < ODI_BANDS; band++)
        worker->deques[band].node = team->site_count > 1 ? worker->site->node : ODI_ANY_NODE;
}

/* Moves the used pages of the worker's stack to its node. The creating thread wrote the first pages, and the
 * worker wrote others before it reached its node. With huge pages these are megabytes. */
static void move_stack(odi_worker *worker)
{
    size_t bytes;
    void *stack = odi_thread_stack_in_use(&bytes);

    if (stack != NULL)
        odi_numa_move(stack, bytes, worker->site->node); /* best effort */
}

/* Adds every CPU of the plan's topology. */
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
    const odi_plan *plan = team->plan; /* if NULL, no worker was ever pinned */
    bool pinned = plan != NULL && worker->pinned;
    bool pins = plan != NULL && odi_plan_mask(plan, team->assigned[worker->slot], &mask);
    if (!pins && pinned)
        all_cpus(plan->topology, &mask); /* lifts the pinning */
    odi_lock_release(&team->lock);

    if (!pins && !pinned)
        return;
    worker->pinned = pins;
    odi_process_note_placement();
    if (odi_affinity_set(&mask) != 0)
        odi_add_relaxed(&team->warnings, 1); /* relaxed: a counter. The worker runs unpinned. */
    else if (pins && team->site_count > 1)
        move_stack(worker);
}
