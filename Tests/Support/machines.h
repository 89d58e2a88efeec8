/* machines.h — invented machines for tests. */
#ifndef SUPPORT_MACHINES_H
#define SUPPORT_MACHINES_H

#include <stdlib.h>
#include <string.h>

#include "topology/limits.h"
#include "topology/topology.h"

/* Returns a machine of `nodes` nodes with `cores` cores of `threads` hardware threads each, with equal
 * distances. CPU ids run over all first threads, then all second threads, as firmware usually numbers them.
 * The machine is not live, so its plans pin no thread. Returns NULL if an allocation fails. */
static inline odi_topology *machine_of(int nodes, int cores, int threads)
{
    int count = nodes * cores * threads;
    od_machine_cpu *cpus = malloc((size_t)count * sizeof *cpus);
    if (cpus == NULL)
        return NULL;

    for (int id = 0; id < count; id++) {
        int core = id % (nodes * cores), node = core / cores;

        cpus[id] = (od_machine_cpu){.id = id, .core = core, .node = node, .package = node, .l3 = node};
    }

    odi_topology spec = {
        .cpu_count = count, .cpus = cpus, .node_count = nodes, .cpus_known = true};
    odi_topology *topology = odi_topology_build(&spec);
    free(cpus);
    return topology;
}

/* Sets limits for a process that may use exactly these CPUs and has no quota. */
static inline void limits_of(const odi_cpu_mask *cpus, odi_limits *limits)
{
    memset(limits, 0, sizeof *limits);
    limits->cpus = *cpus;
    limits->online_count = limits->affinity_count = odi_cpu_mask_count(cpus);
    limits->cpu_count = limits->affinity_count > 0 ? limits->affinity_count : 1;
}

#endif
