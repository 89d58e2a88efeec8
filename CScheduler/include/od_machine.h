/* od_machine.h — the machine as Overdrive sees it.
 *
 * A machine is a snapshot: the CPUs this process may use, their cores, caches and nodes,
 * the limits that the affinity mask and cgroups put on it, and how many workers follow from
 * that. It never changes; discover again to see what changed. Any number of threads may
 * read one machine at once. Plain C: no function here aborts, whatever the machine's files
 * contain.
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
    int32_t core_count;    /* physical cores among them                          */
    bool whole;            /* every online CPU of the node is usable             */
    uint64_t memory_bytes; /* 0 when unknown                                     */
} od_machine_node;

/* What limits this process. */
typedef struct od_machine_limits {
    int32_t online_count;   /* CPUs of the whole machine, 0 when unknown          */
    int32_t affinity_count; /* CPUs in the affinity mask, 0 when unknown          */
    int32_t cpuset_count;   /* CPUs in the cpuset, 0 when there is none           */
    int32_t cpu_count;      /* CPUs usable after both, at least 1                 */
    int64_t quota_us;       /* tightest cgroup quota per period, 0 when none      */
    int64_t period_us;      /* its period, 0 when there is no quota               */
    const char *quota_group;  /* the group with that quota, "" when none          */
    const char *cpuset_group; /* the group with that cpuset, "" when none         */
    const char *note;         /* first thing that was odd, "" when nothing was    */
} od_machine_limits;

/* A snapshot. What it points to lives as long as it does. */
typedef struct od_machine {
    bool live;                      /* of the machine that this process runs on              */
    bool may_spin;                  /* idle workers may spin for a moment: not with less than
                                       two CPUs                                              */
    int32_t cpu_count;              /* usable CPUs, at least 1                               */
    int32_t core_count;             /* physical cores that have a usable CPU, at least 1     */
    int32_t node_count;             /* NUMA nodes, memory-only ones included, at least 1     */
    const od_machine_cpu *cpus;     /* ordered by node, cache, core and thread               */
    const od_machine_node *nodes;   /* ordered by id                                         */
    const uint8_t *distances;       /* [from * node_count + to], by index: 10 is local, larger
                                       is farther                                            */
    od_machine_limits limits;
} od_machine;

/* Takes a snapshot of the machine behind `root`.
 *
 * `root` is NULL or "" for this machine, or a directory that holds a /proc and a /sys. On failure
 * returns NULL, and `problem` (if not NULL) holds one sentence of less than `capacity` bytes. A
 * readable root always succeeds: what it does not tell is assumed to be plain. Free the result
 * with od_machine_free. */
const od_machine *od_machine_discover(const char *root, char *problem, size_t capacity);

/* Frees a snapshot and all that it points to. NULL is allowed. */
void od_machine_free(const od_machine *machine);

/* How many workers suit the limits, at least 1. A quota that is no whole number of CPUs is
 * rounded up, or down with `round_down`. */
int32_t od_machine_worker_count(const od_machine *machine, bool round_down);

/* Writes why it is that many workers, in one line without a full stop, such as
 * "affinity 8, quota 2.5 of /system.slice/x.slice -> 3 workers". `requested` > 0 explains a
 * number that the user named. Returns the length, which is less than `capacity`; a text
 * that does not fit is cut. */
size_t od_machine_describe(const od_machine *machine, bool round_down, int32_t requested,
                           char *text, size_t capacity);

/* Where each of `workers` workers would be placed. `policy` is "none", "node", "core" or
 * "automatic". Fills nodes[i] with a node index and cpus[i] with a CPU's kernel number or
 * -1 (either array may be NULL, else it has `workers` places), and `reason` (may be NULL)
 * with one sentence. False, with a sentence in `reason`, for an unknown policy, fewer than
 * one or more than 65536 workers, or too little memory. */
bool od_machine_plan(const od_machine *machine, const char *policy, int32_t workers,
                     int32_t *nodes, int32_t *cpus, char *reason, size_t capacity);

OD_END_DECLS

#endif
