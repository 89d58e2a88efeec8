#include "topology/placement.h"

#include "topology/setting.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
    [ODI_PLACEMENT_NONE] = "none",
    [ODI_PLACEMENT_NODE] = "node",
    [ODI_PLACEMENT_CORE] = "core",
    [ODI_PLACEMENT_AUTOMATIC] = "automatic",
};

enum { WORDS = sizeof words / sizeof words[0] };

/* One node's part in a plan. */
typedef struct share {
    int node;
    int64_t workers;
} share;

/* Compute nodes, each followed by the nearest one that is not in the line yet. */
static int line_up(const odi_topology *topology, share *line)
{
    bool taken[ODI_NODE_LIMIT] = {false};
    int count = 0, at = 0;

    while (topology->nodes[at].cpu_count == 0)
        at++;
    for (;;) {
        taken[at] = true;
        line[count++] = (share){.node = at};
        if (count == topology->compute_nodes)
            return count;

        int from = at;
        for (int rank = 0; rank < topology->node_count - 1; rank++) {
            at = odi_topology_neighbour(topology, from, rank);
            if (!taken[at] && topology->nodes[at].cpu_count > 0)
                break;
        }
    }
}

typedef int64_t (*weigh)(const odi_node *node);

static int64_t cores_of(const odi_node *node)
{
    return node->core_count;
}

static int64_t cpus_of(const odi_node *node)
{
    return node->cpu_count;
}

static int64_t second_threads_of(const odi_node *node)
{
    return node->cpu_count - node->core_count;
}

/* Deals out `amount` in proportion to weight. Rounding at the running total (not node by
 * node) makes the parts add up exactly; and while the amount is at most the total weight,
 * no part exceeds its weight. */
static void deal(const odi_topology *topology, share *line, int count, int64_t amount,
                 weigh weight)
{
    int64_t total = 0, sum = 0, dealt = 0;

    for (int i = 0; i < count; i++)
        total += weight(&topology->nodes[line[i].node]);
    for (int i = 0; i < count && total > 0; i++) {
        sum += weight(&topology->nodes[line[i].node]);
        int64_t upto = (amount * sum + total - 1) / total;
        line[i].workers += upto - dealt;
        dealt = upto;
    }
}

/* Cores first, on as few nodes as have enough of them; then the cores' other hardware
 * threads; then several workers for each CPU. */
static void share_out(const odi_topology *topology, share *line, int count, int workers)
{
    int64_t cores = 0;

    for (int used = 0; used < count; used++) {
        cores += topology->nodes[line[used].node].core_count;
        if (cores >= workers) {
            deal(topology, line, used + 1, workers, cores_of);
            return;
        }
    }
    if (workers <= topology->cpu_count) {
        deal(topology, line, count, cores, cores_of);
        deal(topology, line, count, workers - cores, second_threads_of);
        return;
    }
    deal(topology, line, count, workers, cpus_of);
}

/* The `nth` CPU of a node, all first threads before all second ones. */
static int nth_cpu(const odi_topology *topology, const odi_node *node, int64_t nth)
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
    return -1; /* more workers than CPUs: this one shares the node */
}

static odi_placement decide(const odi_topology *topology, const odi_limits *limits,
                            int workers, odi_placement wanted, const char **reason)
{
    if (wanted != ODI_PLACEMENT_AUTOMATIC) {
        *reason = "placement was requested";
        return wanted;
    }
    if (topology->compute_nodes < 2) {
        *reason = "all usable CPUs are on one node, so pinning would gain nothing";
        return ODI_PLACEMENT_NONE;
    }
    if (limits->quota_us > 0) {
        *reason = "a quota means that others use these CPUs too, so the kernel decides";
        return ODI_PLACEMENT_NONE;
    }
    for (int i = 0; i < topology->node_count; i++) {
        if (topology->nodes[i].cpu_count > 0 && !topology->nodes[i].whole) {
            *reason = "some node is only partly for this process, so the kernel decides";
            return ODI_PLACEMENT_NONE;
        }
    }
    /* Several such processes would all crowd on the first node. */
    if (workers < topology->core_count) {
        *reason = "fewer workers than cores share the machine, so the kernel decides";
        return ODI_PLACEMENT_NONE;
    }
    *reason = "this process owns whole nodes, so each worker stays on its node";
    return ODI_PLACEMENT_NODE;
}

odi_plan *odi_plan_make(const odi_topology *topology, const odi_limits *limits, int workers,
                        odi_placement policy)
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
    plan->policy = decide(topology, limits, workers, policy, &plan->reason);
    plan->pins =
        plan->policy != ODI_PLACEMENT_NONE && topology->live && topology->cpus_known;
    plan->places = places;
    plan->topology = topology;
    for (int i = 0; i < count; i++) {
        const odi_node *node = &topology->nodes[line[i].node];

        for (int64_t nth = 0; nth < line[i].workers; nth++) {
            places[next].node = line[i].node;
            places[next].cpu =
                plan->policy == ODI_PLACEMENT_CORE ? nth_cpu(topology, node, nth) : -1;
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
        *mask = plan->topology->nodes[place.node].cpus;
    return true;
}

bool odi_placement_parse(const char *setting, const char *text, odi_placement *policy,
                         char *problem, size_t capacity)
{
    int choice;

    if (!odi_setting_choice(setting, text, strlen(text), words, WORDS, &choice, problem,
                            capacity))
        return false;
    *policy = (odi_placement)choice;
    return true;
}

const char *odi_placement_name(odi_placement policy)
{
    return (unsigned)policy < WORDS ? words[policy] : "unknown";
}
