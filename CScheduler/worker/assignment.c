#include "worker/assignment.h"

#include "os/affinity.h"
#include "os/numa.h"
#include "os/pages.h"
#include "os/thread.h"
#include "worker/worker.h"

/* ---- places: lock held ---- */

/* Whether it makes a difference who lives where. */
static bool assignment_matters(const odi_team *team)
{
    return team->plan != NULL && (team->site_count > 1 || team->plan->pins);
}

bool odi_assignment_is_own(const odi_team *team, int slot)
{
    return slot < (team->plan != NULL ? team->plan->worker_count : team->capacity);
}

/* The plan's nodes are its topology's, which may have been read later than the sites. */
int odi_assignment_site(const odi_team *team, int slot)
{
    if (team->plan == NULL)
        return slot % team->site_count;
    int node = odi_plan_place(team->plan, slot % team->plan->worker_count).node;
    int id = team->plan->topology->nodes[node].id;

    if (node < team->site_count && team->sites[node].node == id)
        return node;
    for (int site = 0; site < team->site_count; site++) {
        if (team->sites[site].node == id)
            return site;
    }
    return node % team->site_count;
}

odi_plan *odi_assignment_replan(odi_team *team, odi_plan *plan)
{
    odi_plan *old = team->plan;
    bool matters = assignment_matters(team);
    odi_worker *worker;

    if (plan == NULL)
        return NULL;
    team->plan = plan;
    matters |= assignment_matters(team);
    for (int slot = 0; matters && (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        /* Also where only its mask is another: it is applied anew. */
        if (worker->present) /* relaxed: written under the lock; who sleeps is woken after it, or sees it (S4) */
            odi_store_relaxed(&worker->moves, true);
    }
    return old;
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

/* The first pages of a stack were written by whoever created the thread, and by the thread
 * before it was on its node. With huge pages these are megabytes. */
static void move_stack(odi_worker *worker)
{
    size_t bytes;
    void *stack = odi_thread_stack_in_use(&bytes);

    if (stack != NULL)
        odi_numa_move(stack, bytes, worker->site->node); /* a wish */
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
    bool changes = plan != NULL && (plan->pins || worker->pinned);
    bool pins = changes && odi_assignment_is_own(team, worker->slot) && odi_plan_mask(plan, worker->slot, &mask);
    if (changes && !pins)
        all_cpus(plan->topology, &mask); /* it may go where it likes, also if a pinned thread has started it */
    odi_lock_release(&team->lock);

    if (!changes)
        return;
    worker->pinned = pins;
    if (odi_affinity_set(&mask) != 0)
        odi_add_relaxed(&team->warnings, 1); /* relaxed: a counter. It runs unpinned. */
    else if (pins && team->site_count > 1)
        move_stack(worker);
}
