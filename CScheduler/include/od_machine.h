/* od_machine.h — the machine's CPUs, caches, NUMA nodes and limits, as Overdrive sees them.
 *
 * A machine is a snapshot of the CPUs that this process may use: their cores, caches and nodes. It also holds
 * the limits from affinity mask and cgroups, and the resulting number of workers. A snapshot never changes;
 * call od_machine_discover again to see changes. Any number of threads may read one machine at once. No
 * function here aborts, whatever the machine's files contain.
 */
#ifndef OD_MACHINE_H
#define OD_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

/* One CPU that this process may use. */
typedef struct od_machine_cpu {
    int32_t id;      /* the kernel's number                                     */
    int32_t node;    /* index of its node                                       */
    int32_t core;    /* physical core, dense from 0                             */
    int32_t thread;  /* 0 for the first usable hardware thread of its core      */
    int32_t package; /* socket as the kernel numbers it, -1 when unknown        */
    int32_t l3;      /* level-3 cache group, dense from 0, -1 when unknown      */
} od_machine_cpu;

/* One NUMA node. */
typedef struct od_machine_node {
    int32_t id;            /* the kernel's number                                */
    int32_t cpu_first;     /* index of its first CPU; the others follow          */
    int32_t cpu_count;     /* usable CPUs; 0: memory only, or none for us        */
    int32_t core_count;    /* physical cores among these CPUs */
    bool whole;            /* every online CPU of the node is usable             */
    uint64_t memory_bytes; /* 0 when unknown                                     */
} od_machine_node;

/* Limits on this process. */
typedef struct od_machine_limits {
    int32_t online_count;   /* CPUs of the whole machine, 0 when unknown          */
    int32_t affinity_count; /* CPUs in the affinity mask, 0 when unknown          */
    int32_t cpuset_count;   /* CPUs in the cpuset, 0 when there is none           */
    int32_t cpu_count;      /* CPUs usable after both, at least 1                 */
    int64_t quota_us;       /* tightest cgroup quota per period, 0 when none      */
    int64_t period_us;      /* its period, 0 when there is no quota               */
    const char *quota_group;  /* the cgroup with that quota, "" if none */
    const char *cpuset_group; /* the cgroup with that cpuset, "" if none */
    const char *note;         /* first unusual finding, "" if none */
} od_machine_limits;

/* A snapshot. All memory that its pointers reach lives as long as the snapshot. */
typedef struct od_machine {
    bool live;                      /* taken from the machine on which this process runs */
    bool may_spin;                  /* idle workers may spin briefly; false with fewer than two CPUs */
    int32_t cpu_count;              /* usable CPUs, at least 1                               */
    int32_t core_count;             /* physical cores that have a usable CPU, at least 1     */
    int32_t node_count;             /* NUMA nodes, memory-only ones included, at least 1     */
    const od_machine_cpu *cpus;     /* ordered by node, cache, core and thread               */
    const od_machine_node *nodes;   /* ordered by id                                         */
    const uint8_t *distances;       /* [from * node_count + to], by index: 10 is local, a larger value is
                                       farther */
    od_machine_limits limits;
} od_machine;

/* Takes a snapshot of the machine behind `root`.
 *
 * `root` is NULL or "" for this machine, or a directory that holds a /proc and a /sys. On failure returns
 * NULL and writes one sentence of less than `capacity` bytes to `problem` (if not NULL). A readable root
 * always succeeds: missing facts get plain defaults. The caller frees the result with od_machine_free.
 */
const od_machine *od_machine_discover(const char *root, char *problem, size_t capacity);

/* Frees a snapshot and all memory that it points to. Accepts NULL. */
void od_machine_free(const od_machine *machine);

/* Returns the number of workers that suits the limits, at least 1. A fractional quota of CPUs is rounded up,
 * or down if `round_down` is true. */
int32_t od_machine_worker_count(const od_machine *machine, bool round_down);

/* Writes the reason for the number of workers in one line without a full stop. An example is "affinity 8,
 * quota 2.5 of /system.slice/x.slice -> 3 workers". A positive `requested` explains a number that the user
 * chose. Returns the length, which is less than `capacity`. A longer text is cut. */
size_t od_machine_describe(const od_machine *machine, bool round_down, int32_t requested,
                           char *text, size_t capacity);

/* Plans a placement for each of `workers` workers. `policy` is "none", "node", "core" or "automatic". Sets
 * nodes[i] to a node index and cpus[i] to a CPU's kernel number or -1. Each array may be NULL; otherwise it
 * has room for `workers` elements. Writes one sentence to `reason` (may be NULL). Returns false for an
 * unknown policy, for fewer than 1 or more than 65536 workers, or if out of memory. A sentence in `reason`
 * then states the error. */
bool od_machine_plan(const od_machine *machine, const char *policy, int32_t workers,
                     int32_t *nodes, int32_t *cpus, char *reason, size_t capacity);

OD_END_DECLS

#endif
