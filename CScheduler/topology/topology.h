/* topology.h — the usable part of the machine: CPUs with their cores and caches, NUMA nodes and distances.
 *
 * Owns     an immutable snapshot of the usable CPUs, their nodes and memory, and the nodes' distances.
 * Never    changes after its creation. When the limits change, the pool makes a new one and frees the
 *          old one once no thread reads it.
 * Threads  any number may read a snapshot at once. One thread makes it.
 *
 * There are two kinds of numbers. `id` is the kernel's number of a CPU or node. Every other number is an
 * index into this snapshot, dense from 0.
 */
#ifndef ODI_TOPOLOGY_TOPOLOGY_H
#define ODI_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/od_machine.h"
#include "os/numa.h"
#include "os/source.h"
#include "topology/limits.h"

#pragma GCC visibility push(hidden)

enum { ODI_DISTANCE_LOCAL = 10, ODI_DISTANCE_REMOTE = 20 };

typedef struct odi_topology {
    int cpu_count;         /* at least 1                                               */
    int node_count;        /* at least 1; includes memory-only nodes */
    int compute_nodes;     /* nodes with usable CPUs, at least 1                       */
    int core_count;        /* physical cores with a usable CPU */
    bool live;             /* taken from this machine, so its CPU ids may be pinned to */
    bool cpus_known;       /* false: ids are a guess, and no thread may be pinned */
    const od_machine_cpu *cpus;   /* [cpu_count], by node, then L3 group, core, thread */
    const od_machine_node *nodes; /* [node_count], by id                               */
    const uint8_t *distances;     /* read with odi_topology_distance                   */
} odi_topology;

/* Reads the machine behind `source`, restricted to limits->cpus. Missing facts get the simplest values: one
 * node, one thread per core. On a machine with one node, cores, caches and memory are read only if `wanted`.
 * Returns NULL only if an allocation fails. */
odi_topology *odi_topology_discover(const odi_source *source, const odi_limits *limits,
                                    bool wanted);

/* Copies a description, sorts it, and computes the counts. Each CPU has a unique id, and `node` is an index.
 * `core` is equal for siblings, `l3` for CPUs that share a cache (or -1), and `thread` is ignored. Nodes are
 * in ascending order of id, with memory and `whole`. NULL means nodes 0, 1, …, of unknown size and whole.
 * Without distances they are 10 and 20. Returns NULL if an allocation fails. */
odi_topology *odi_topology_build(const odi_topology *described);

/* Accepts NULL. */
void odi_topology_free(odi_topology *topology);

/* Returns the distance between two nodes (indices): 10 is local, a larger value is farther. */
static inline int odi_topology_distance(const odi_topology *topology, int from, int to)
{
    return topology->distances[(size_t)from * (size_t)topology->node_count + (size_t)to];
}

/* Returns the nearest node to `from` that is not `taken`, or -1. Among equally near nodes it is the first in
 * ring order after `from`, so that different nodes choose different ones. Memory-only nodes have cpu_count 0. */
int odi_topology_nearest(const odi_topology *topology, int from, const bool *taken);

/* Returns the usable CPUs of a node. */
void odi_topology_node_cpus(const odi_topology *topology, int node, odi_cpu_mask *mask);

#pragma GCC visibility pop

#endif
