/* topology.c — builds and queries the immutable topology snapshot. */
#include "topology/topology.h"

#include <stdlib.h>
#include <string.h>

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right)
{
    const od_machine_cpu *a = left, *b = right;
    int order = compare(a->node, b->node);

    if (order == 0)
        order = compare(a->l3, b->l3);
    if (order == 0)
        order = compare(a->core, b->core);
    return order != 0 ? order : compare(a->id, b->id);
}

/* Sorts the CPUs and numbers cores, threads and caches densely. A core or cache that claims to span two nodes
 * counts once on each. */
static void number_cpus(odi_topology *topology, od_machine_cpu *cpus)
{
    int core = -1, l3 = -1;
    od_machine_cpu before = {0};

    qsort(cpus, (size_t)topology->cpu_count, sizeof *cpus, by_place);
    for (int i = 0; i < topology->cpu_count; i++) {
        od_machine_cpu *cpu = &cpus[i], given = *cpu;
        bool same_cache = i > 0 && given.node == before.node && given.l3 == before.l3;
        bool same_core = same_cache && given.core == before.core;

        core += !same_core;
        l3 += !same_cache && given.l3 >= 0;
        cpu->core = core;
        cpu->thread = same_core ? cpus[i - 1].thread + 1 : 0;
        cpu->l3 = given.l3 >= 0 ? l3 : -1;
        before = given;
    }
    topology->core_count = core + 1;
}

static void fill_nodes(odi_topology *topology, const od_machine_node *described,
                       od_machine_node *nodes)
{
    int at = 0;

    for (int i = 0; i < topology->node_count; i++) {
        od_machine_node *node = &nodes[i];

        *node = described != NULL ? described[i] : (od_machine_node){.id = i, .whole = true};
        node->cpu_first = at;
        node->core_count = 0;
        for (; at < topology->cpu_count && topology->cpus[at].node == i; at++)
            node->core_count += topology->cpus[at].thread == 0;
        node->cpu_count = at - node->cpu_first;
        topology->compute_nodes += node->cpu_count > 0;
    }
}

odi_topology *odi_topology_build(const odi_topology *described)
{
    /* One allocation, in order of alignment: 8-byte nodes, 4-byte CPUs, then bytes. */
    size_t count = (size_t)described->node_count, pairs = count * count;
    size_t cpus_bytes = (size_t)described->cpu_count * sizeof(od_machine_cpu);
    odi_topology *topology =
        malloc(sizeof *topology + count * sizeof(od_machine_node) + cpus_bytes + pairs);
    if (topology == NULL)
        return NULL;

    od_machine_node *nodes = (void *)(topology + 1);
    od_machine_cpu *cpus = (void *)(nodes + count);
    uint8_t *distances = (uint8_t *)cpus + cpus_bytes;

    *topology = *described;
    topology->cpus = cpus;
    topology->nodes = nodes;
    topology->distances = distances;
    topology->compute_nodes = 0;
    memcpy(cpus, described->cpus, cpus_bytes);
    number_cpus(topology, cpus);
    fill_nodes(topology, described->nodes, nodes);
    if (described->distances != NULL)
        memcpy(distances, described->distances, pairs);
    for (size_t i = 0; described->distances == NULL && i < pairs; i++)
        distances[i] = i % (count + 1) == 0 ? ODI_DISTANCE_LOCAL : ODI_DISTANCE_REMOTE;
    return topology;
}

void odi_topology_free(odi_topology *topology)
{
    free(topology);
}

int odi_topology_nearest(const odi_topology *topology, int from, const bool *taken)
{
    int nearest = -1;

    for (int step = 0; step < topology->node_count; step++) {
        int node = (from + step) % topology->node_count;

        if (!taken[node] && (nearest < 0 || odi_topology_distance(topology, from, node) <
                                                odi_topology_distance(topology, from, nearest)))
            nearest = node;
    }
    return nearest;
}

void odi_topology_node_cpus(const odi_topology *topology, int node, odi_cpu_mask *mask)
{
    const od_machine_node *from = &topology->nodes[node];

    odi_cpu_mask_clear(mask);
    for (int i = from->cpu_first; i < from->cpu_first + from->cpu_count; i++)
        odi_cpu_mask_add(mask, topology->cpus[i].id);
}
