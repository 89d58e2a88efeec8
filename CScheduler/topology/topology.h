/* topology.h — the machine as far as this process may use it.
 *
 * Owns     an immutable picture: usable CPUs with their cores and caches, the nodes they
 *          and the memory belong to, and how far nodes are apart.
 * Never    changes after it was made. When the limits change, make a new one and free the
 *          old one when nobody reads it any more (the pool's business).
 * Threads  any number may read one picture at once. Making one is for one thread.
 *
 * Two number spaces: `id` is the kernel's number (a CPU's, a node's), everything else is
 * an index into this picture, dense from 0.
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
    int node_count;        /* at least 1; memory-only nodes included                   */
    int compute_nodes;     /* nodes with usable CPUs, at least 1                       */
    int core_count;        /* physical cores with a usable CPU                         */
    bool live;             /* of the machine we run on: its CPU ids may be pinned to   */
    bool cpus_known;       /* false: ids are a guess, nothing may be pinned            */
    const od_machine_cpu *cpus;   /* [cpu_count], by node, then L3 group, core, thread */
    const od_machine_node *nodes; /* [node_count], by id                               */
    const uint8_t *distances;     /* read with odi_topology_distance                   */
} odi_topology;

/* Reads the machine behind `source`, restricted to limits->cpus. Whatever is missing is
 * replaced by the plainest machine that fits: one node, one thread per core; and so are the
 * cores, caches and memory of a machine of one node, unless they are `wanted`.
 * NULL only when memory is short. */
odi_topology *odi_topology_discover(const odi_source *source, const odi_limits *limits,
                                    bool wanted);

/* A copy of what is described, in order, with the counts that follow from it. Of its CPUs the ids are
 * unique, `node` is an index, `core` any number that is equal for siblings, `l3` one that is equal for
 * sharers, or -1, and `thread` is ignored. Of its nodes, by ascending id, memory and `whole` count; NULL: 0,
 * 1, ..., unknown and whole. Without distances they are 10 and 20. NULL when memory is short. */
odi_topology *odi_topology_build(const odi_topology *described);

/* NULL is allowed. */
void odi_topology_free(odi_topology *topology);

/* Distance between two nodes (indices): 10 is local, larger is farther. */
static inline int odi_topology_distance(const odi_topology *topology, int from, int to)
{
    return topology->distances[(size_t)from * (size_t)topology->node_count + (size_t)to];
}

/* The nearest node to `from` that is not `taken`, or -1. Of nodes that are equally far it is the
 * first in ring order after `from`, so that different nodes turn to different ones. Memory-only
 * nodes have cpu_count 0. */
int odi_topology_nearest(const odi_topology *topology, int from, const bool *taken);

/* The usable CPUs of a node. */
void odi_topology_node_cpus(const odi_topology *topology, int node, odi_cpu_mask *mask);

#pragma GCC visibility pop

#endif
