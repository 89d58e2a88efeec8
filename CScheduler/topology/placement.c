/* placement.c — makes placement plans. The pool calls it when limits change; workers apply the plan
 * themselves. */
#include "topology/placement.h"

#include "topology/setting.h"

#include <stdlib.h>

static const char *const words[] = {
    [OD_PLACEMENT_NONE] = "none",
    [OD_PLACEMENT_NODE] = "node",
    [OD_PLACEMENT_CORE] = "core",
    [OD_PLACEMENT_AUTOMATIC] = "automatic",
};

enum { WORDS = sizeof words / sizeof words[0] };

/* One node's share of the workers. */
typedef struct share {
    int node;
    int64_t workers;
} share;

/* Orders the compute nodes: each is followed by the nearest node not listed yet. */
static int line_up(const odi_topology *topology, share *line)
{
    bool taken[ODI_NODE_LIMIT] = {false};
    int count = 0, at = 0;

    for (int i = 0; i < topology->node_count; i++)
        taken[i] = topology->nodes[i].cpu_count == 0;
    while (taken[at])
        at++;
    for (; at >= 0; at = odi_topology_nearest(topology, at, taken)) {
        taken[at] = true;
        line[count++] = (share){.node = at};
    }
    return count;
}

/* Distributes `amount` in proportion to the nodes' weights, given per core and per CPU; `total` is their sum.
 * Rounding the running total, not each node, makes the parts add up exactly. While the amount is at most the
 * total weight, no part exceeds its weight. */
static void deal(const odi_topology *topology, share *line, int count, int64_t amount,
                 int64_t total, int a_core, int a_cpu)
{
    int64_t sum = 0, dealt = 0;

    for (int i = 0; i < count; i++) {
        const od_machine_node *node = &topology->nodes[line[i].node];

        sum += a_core * node->core_count + a_cpu * node->cpu_count;
        int64_t upto = (amount * sum + total - 1) / total;
        line[i].workers += upto - dealt;
        dealt = upto;
    }
}

/* Distributes the workers: first over cores, on the fewest nodes that have enough; then over the cores' other
 * hardware threads; then several workers per CPU. */
static void share_out(const odi_topology *topology, share *line, int count, int workers)
{
    int cores = 0, cpus = topology->cpu_count;

    for (int used = 0; used < count; used++) {
        cores += topology->nodes[line[used].node].core_count;
        if (cores >= workers) {
            deal(topology, line, used + 1, workers, cores, 1, 0);
            return;
        }
    }
    if (workers <= cpus) {
        deal(topology, line, count, cores, cores, 1, 0);
        deal(topology, line, count, workers - cores, cpus - cores, -1, 1);
    } else
        deal(topology, line, count, workers, cpus, 0, 1);
}

/* Returns the `nth` CPU of a node, all first hardware threads before all second ones. */
static int nth_cpu(const odi_topology *topology, const od_machine_node *node, int64_t nth)
{
    for (int thread = 0, seen = 0; seen < node->cpu_count; thread++) {
        for (int i = node->cpu_first; i < node->cpu_first + node->cpu_count; i++) {
            if (topology->cpus[i].thread != thread)
                continue;
            seen++;
            if (nth-- == 0)
                return topology->cpus[i].id;
        }
    }
    return -1; /* more workers than CPUs: this worker shares the node */
}

/* Returns the reason to leave placement to the kernel, or NULL if workers should stay on their nodes. */
static const char *against_pinning(const odi_topology *topology, const odi_limits *limits,
                                   int workers)
{
    if (topology->compute_nodes < 2)
        return "all usable CPUs are on one node, so pinning would gain nothing";
    if (limits->quota_us > 0)
        return "a quota means that others use these CPUs too, so the kernel decides";
    for (int i = 0; i < topology->node_count; i++) {
        if (topology->nodes[i].cpu_count > 0 && !topology->nodes[i].whole)
            return "some node is only partly for this process, so the kernel decides";
    }
    /* Several such processes would all use the first node. */
    if (workers < topology->core_count)
        return "fewer workers than cores share the machine, so the kernel decides";
    return NULL;
}

static void decide(odi_plan *plan, const odi_limits *limits, od_placement wanted)
{
    const char *against = against_pinning(plan->topology, limits, plan->worker_count);

    plan->policy = wanted;
    plan->reason = "placement was requested";
    if (wanted == OD_PLACEMENT_AUTOMATIC) {
        plan->policy = against != NULL ? OD_PLACEMENT_NONE : OD_PLACEMENT_NODE;
        plan->reason = against != NULL
                           ? against
                           : "this process owns whole nodes, so each worker stays on its node";
    }
    plan->pins = plan->policy != OD_PLACEMENT_NONE && plan->topology->live &&
                 plan->topology->cpus_known;
}

odi_plan *odi_plan_make(const odi_topology *topology, const odi_limits *limits, int workers,
                        od_placement policy)
{
    if (workers < 1)
        workers = 1;

    odi_plan *plan = malloc(sizeof *plan + (size_t)workers * sizeof(odi_place));
    share *line = malloc((size_t)topology->node_count * sizeof *line);
    if (plan == NULL || line == NULL) {
        free(line);
        free(plan);
        return NULL;
    }

    odi_place *places = (void *)(plan + 1);
    int count = line_up(topology, line), next = 0;

    share_out(topology, line, count, workers);
    plan->worker_count = workers;
    plan->places = places;
    plan->topology = topology;
    decide(plan, limits, policy);
    for (int i = 0; i < count; i++) {
        const od_machine_node *node = &topology->nodes[line[i].node];

        for (int64_t nth = 0; nth < line[i].workers; nth++) {
            places[next].node = line[i].node;
            places[next].cpu =
                plan->policy == OD_PLACEMENT_CORE ? nth_cpu(topology, node, nth) : -1;
            next++;
        }
    }
    free(line);
    return plan;
}

void odi_plan_free(odi_plan *plan)
{
    free(plan);
}

odi_place odi_plan_place(const odi_plan *plan, int worker)
{
    odi_place place = plan->places[worker % plan->worker_count];

    if (worker >= plan->worker_count)
        place.cpu = -1;
    return place;
}

bool odi_plan_mask(const odi_plan *plan, int worker, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    if (!plan->pins)
        return false;

    odi_place place = odi_plan_place(plan, worker);
    if (place.cpu >= 0)
        odi_cpu_mask_add(mask, place.cpu);
    else
        odi_topology_node_cpus(plan->topology, place.node, mask);
    return true;
}

bool odi_placement_parse(const char *setting, const char *text, od_placement *policy,
                         char *problem, size_t capacity)
{
    int choice;

    if (!odi_setting_choice(setting, text, words, WORDS, &choice, problem, capacity))
        return false;
    *policy = (od_placement)choice;
    return true;
}

const char *odi_placement_name(od_placement policy)
{
    return (unsigned)policy < WORDS ? words[policy] : "unknown";
}
