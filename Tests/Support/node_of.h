/* node_of.h — the NUMA node of a page, and the CPUs that libnuma reports for a node. */
#ifndef SUPPORT_NODE_OF_H
#define SUPPORT_NODE_OF_H

#include <numa.h>
#include <numaif.h>
#include <stdint.h>

#include "os/affinity.h"
#include "os/numa.h"

/* Returns the node that holds the page at `address` (touch it first), or -1. */
static inline int node_of(const void *address)
{
    int node = -1;

    if (numa_available() < 0 ||
        get_mempolicy(&node, NULL, 0, (void *)(uintptr_t)address, MPOL_F_NODE | MPOL_F_ADDR) != 0)
        return -1;
    return node;
}

/* Reads the CPUs of a node. Returns false if the node does not exist. */
static inline bool cpus_on_node(int node, odi_cpu_mask *cpus)
{
    odi_cpu_mask_clear(cpus);
    if (numa_available() < 0 || node > numa_max_node() ||
        !numa_bitmask_isbitset(numa_nodes_ptr, (unsigned)node))
        return false;
    struct bitmask *read = numa_allocate_cpumask();
    bool known = numa_node_to_cpus(node, read) == 0;
    for (unsigned cpu = 0; known && cpu < read->size; cpu++) {
        if (numa_bitmask_isbitset(read, cpu))
            odi_cpu_mask_add(cpus, (int)cpu);
    }
    numa_free_cpumask(read);
    return known;
}

#endif
