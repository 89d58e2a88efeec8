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

#include "os/affinity.h"
#include "os/numa.h"
#include "os/source.h"
#include "topology/limits.h"

#pragma GCC visibility push(hidden)

enum { ODI_DISTANCE_LOCAL = 10, ODI_DISTANCE_REMOTE = 20 };

typedef struct odi_cpu {
    int id;      /* kernel's number                                              */
    int node;    /* index into nodes                                             */
    int core;    /* physical core, dense over the usable CPUs                    */
    int thread;  /* 0 for the first usable hardware thread of its core, 1, ...   */
    int package; /* socket as the kernel numbers it, -1 when unknown             */
    int l3;      /* group of CPUs that share a level-3 cache, dense, -1: unknown */
} odi_cpu;

typedef struct odi_node {
    int id;           /* kernel's number                                          */
    int cpu_first;    /* the usable CPUs of this node are                         */
    int cpu_count;    /*   cpus[cpu_first .. cpu_first + cpu_count); 0: memory only
                           (or its CPUs are not for us)                           */
    int core_count;   /* physical cores among them                                */
    bool whole;       /* every online CPU of this node is usable                  */
    uint64_t bytes;   /* memory, 0 when unknown                                   */
    odi_cpu_mask cpus; /* the usable ones, by id                                  */
} odi_node;

typedef struct odi_topology {
    int cpu_count;         /* at least 1                                               */
    int node_count;        /* at least 1; memory-only nodes included                   */
    int compute_nodes;     /* nodes with usable CPUs, at least 1                       */
    int core_count;        /* physical cores with a usable CPU                         */
    int l3_count;          /* level-3 groups; 0 when unknown                           */
    bool live;             /* of the machine we run on: its CPU ids may be pinned to   */
    bool cpus_known;       /* false: ids are a guess, nothing may be pinned            */
    const odi_cpu *cpus;   /* [cpu_count], by node, then L3 group, core, thread        */
    const odi_node *nodes; /* [node_count], by id                                      */
    const uint8_t *distances;  /* read with odi_topology_distance                      */
    const uint16_t *neighbours; /* read with odi_topology_neighbour                    */
} odi_topology;

/* Reads the machine behind `source`, restricted to limits->cpus. Whatever is missing is
 * replaced by the plainest machine that fits: one node, one thread per core.
 * NULL only when memory is short. */
odi_topology *odi_topology_discover(const odi_source *source, const odi_limits *limits);

/* What a made-up machine of any shape is built from. */
typedef struct odi_topology_spec {
    int cpu_count;
    const odi_cpu *cpus;      /* id unique; node an index into node_ids; core any number
                                 that is equal for siblings; thread is ignored; l3 any
                                 number that is equal for sharers, or -1                */
    int node_count;
    const int *node_ids;      /* ascending; NULL: 0, 1, ...                             */
    const uint64_t *node_bytes; /* NULL: unknown                                        */
    const bool *node_partial; /* NULL: every node whole                                 */
    const uint8_t *distances; /* [node_count * node_count], row = from; NULL: 10 and 20 */
    bool live;
    bool cpus_known;
} odi_topology_spec;

/* Copies the description. NULL when memory is short or the description contradicts itself
 * (an index out of range, a CPU twice, no CPU, no node). */
odi_topology *odi_topology_build(const odi_topology_spec *spec);

/* NULL is allowed. */
void odi_topology_free(odi_topology *topology);

/* Distance between two nodes (indices): 10 is local, larger is farther. */
static inline int odi_topology_distance(const odi_topology *topology, int from, int to)
{
    return topology->distances[(size_t)from * (size_t)topology->node_count + (size_t)to];
}

/* The `rank`-th nearest other node, rank 0 .. node_count - 2. Nodes that are equally far
 * come in ring order after `node`, so that different nodes turn to different neighbours
 * first. Memory-only nodes are in the order too; they have cpu_count 0. */
static inline int odi_topology_neighbour(const odi_topology *topology, int node, int rank)
{
    return topology->neighbours[(size_t)node * (size_t)topology->node_count + (size_t)rank];
}

#pragma GCC visibility pop

#endif
