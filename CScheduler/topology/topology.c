#include "topology/topology.h"

#include <stdlib.h>
#include <string.h>

static bool fits_together(const odi_topology_spec *spec)
{
    odi_cpu_mask seen;

    if (spec->cpu_count < 1 || spec->cpu_count > ODI_CPU_LIMIT || spec->node_count < 1 ||
        spec->node_count > ODI_NODE_LIMIT)
        return false;
    odi_cpu_mask_clear(&seen);
    for (int i = 0; i < spec->cpu_count; i++) {
        const odi_cpu *cpu = &spec->cpus[i];

        if (cpu->node < 0 || cpu->node >= spec->node_count)
            return false;
        if (odi_cpu_mask_has(&seen, cpu->id) || !odi_cpu_mask_add(&seen, cpu->id))
            return false;
    }
    for (int i = 1; spec->node_ids != NULL && i < spec->node_count; i++) {
        if (spec->node_ids[i] <= spec->node_ids[i - 1])
            return false;
    }
    return true;
}

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right)
{
    const odi_cpu *a = left, *b = right;
    int order = compare(a->node, b->node);

    if (order == 0)
        order = compare(a->l3, b->l3);
    if (order == 0)
        order = compare(a->core, b->core);
    return order != 0 ? order : compare(a->id, b->id);
}

/* Sorts the CPUs and gives cores, threads and caches their dense numbers. A core or a cache
 * that claims to span two nodes counts once on each. */
static void number_cpus(odi_topology *topology, odi_cpu *cpus)
{
    int core = -1, l3 = -1;
    odi_cpu before = {0};

    qsort(cpus, (size_t)topology->cpu_count, sizeof *cpus, by_place);
    for (int i = 0; i < topology->cpu_count; i++) {
        odi_cpu *cpu = &cpus[i];
        odi_cpu given = *cpu;
        bool same_cache = i > 0 && given.node == before.node && given.l3 == before.l3;
        bool same_core = same_cache && given.core == before.core;

        if (!same_core)
            core++;
        if (!same_cache && given.l3 >= 0)
            l3++;
        cpu->core = core;
        cpu->thread = same_core ? cpus[i - 1].thread + 1 : 0;
        cpu->l3 = given.l3 >= 0 ? l3 : -1;
        before = given;
    }
    topology->core_count = core + 1;
    topology->l3_count = l3 + 1;
}

static void fill_nodes(odi_topology *topology, const odi_topology_spec *spec,
                       const odi_cpu *cpus, odi_node *nodes)
{
    int at = 0;

    for (int i = 0; i < topology->node_count; i++) {
        odi_node *node = &nodes[i];

        node->id = spec->node_ids != NULL ? spec->node_ids[i] : i;
        node->bytes = spec->node_bytes != NULL ? spec->node_bytes[i] : 0;
        node->whole = spec->node_partial == NULL || !spec->node_partial[i];
        node->cpu_first = at;
        odi_cpu_mask_clear(&node->cpus);
        for (; at < topology->cpu_count && cpus[at].node == i; at++) {
            odi_cpu_mask_add(&node->cpus, cpus[at].id);
            if (cpus[at].thread == 0)
                node->core_count++;
        }
        node->cpu_count = at - node->cpu_first;
        if (node->cpu_count > 0)
            topology->compute_nodes++;
    }
}

static void fill_distances(const odi_topology_spec *spec, uint8_t *distances)
{
    size_t count = (size_t)spec->node_count;

    if (spec->distances != NULL) {
        memcpy(distances, spec->distances, count * count);
        return;
    }
    memset(distances, ODI_DISTANCE_REMOTE, count * count);
    for (size_t i = 0; i < count; i++)
        distances[i * count + i] = ODI_DISTANCE_LOCAL;
}

/* Nodes other than `from`, nearest first; the last place holds `from` itself. A counting
 * sort over the 256 distances: it is stable, so that filling it in ring order keeps equals
 * in ring order, and linear, so that 1024 nodes stay cheap. */
static void order_neighbours(const uint8_t *row, int count, int from, uint16_t *order)
{
    int start[257] = {0};

    for (int node = 0; node < count; node++) {
        if (node != from)
            start[row[node] + 1]++;
    }
    for (int distance = 0; distance < 256; distance++)
        start[distance + 1] += start[distance];
    for (int step = 1; step < count; step++) {
        int node = (from + step) % count;
        order[start[row[node]]++] = (uint16_t)node;
    }
    order[count - 1] = (uint16_t)from;
}

odi_topology *odi_topology_build(const odi_topology_spec *spec)
{
    if (!fits_together(spec))
        return NULL;

    /* One block, widest alignment first: 8-byte nodes, 4-byte CPUs, 2-byte orders, then
     * bytes. */
    size_t cpus_bytes = (size_t)spec->cpu_count * sizeof(odi_cpu);
    size_t nodes_bytes = (size_t)spec->node_count * sizeof(odi_node);
    size_t pairs = (size_t)spec->node_count * (size_t)spec->node_count;
    char *block = calloc(1, sizeof(odi_topology) + nodes_bytes + cpus_bytes +
                                pairs * (sizeof(uint16_t) + sizeof(uint8_t)));
    if (block == NULL)
        return NULL;

    odi_topology *topology = (void *)block;
    odi_node *nodes = (void *)(block + sizeof(odi_topology));
    odi_cpu *cpus = (void *)(block + sizeof(odi_topology) + nodes_bytes);
    uint16_t *neighbours = (void *)((char *)cpus + cpus_bytes);
    uint8_t *distances = (void *)(neighbours + pairs);

    topology->cpu_count = spec->cpu_count;
    topology->node_count = spec->node_count;
    topology->live = spec->live;
    topology->cpus_known = spec->cpus_known;
    topology->cpus = cpus;
    topology->nodes = nodes;
    topology->distances = distances;
    topology->neighbours = neighbours;

    memcpy(cpus, spec->cpus, cpus_bytes);
    number_cpus(topology, cpus);
    fill_nodes(topology, spec, cpus, nodes);
    fill_distances(spec, distances);
    for (int i = 0; i < spec->node_count; i++) {
        size_t row = (size_t)i * (size_t)spec->node_count;
        order_neighbours(distances + row, spec->node_count, i, neighbours + row);
    }
    return topology;
}

void odi_topology_free(odi_topology *topology)
{
    free(topology);
}
