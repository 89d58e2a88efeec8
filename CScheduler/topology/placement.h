/* placement.h — which worker lives where.
 *
 * Owns     the plan: for each worker a preferred node, perhaps a CPU, perhaps a mask to apply.
 * Never    touches a thread: the worker applies its own mask (os/affinity) and lives with a
 *          refusal.
 * Threads  a plan is immutable; making one is for one thread.
 *
 * Order: workers fill the fewest nodes that give each of them a physical core; nodes follow
 * each other by distance, so that worker i and i + 1 are on the same node or on near ones.
 * Hardware threads of a core are used only when every core has a worker.
 */
#ifndef ODI_TOPOLOGY_PLACEMENT_H
#define ODI_TOPOLOGY_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "include/od_pool.h"
#include "os/affinity.h"
#include "topology/limits.h"
#include "topology/topology.h"

#pragma GCC visibility push(hidden)

typedef struct odi_place {
    int node; /* index into the topology's nodes: the worker's preferred node           */
    int cpu;  /* kernel's number, or -1: anywhere on the node or the machine  */
} odi_place;

typedef struct odi_plan {
    int worker_count;
    od_placement policy;     /* what was decided: never AUTOMATIC                        */
    bool pins;               /* whether masks are to be applied at all                   */
    const char *reason;      /* one sentence without a full stop; never NULL             */
    const odi_place *places; /* [worker_count]                                           */
    const odi_topology *topology; /* borrowed: outlives the plan                         */
} odi_plan;

/* Plans for `workers` workers (at least 1). More workers than CPUs share them evenly, and
 * those beyond the CPUs get a node but no CPU of their own. AUTOMATIC is NODE where there are
 * several and the process owns its CPUs (whole nodes, no quota, a worker for each core), otherwise
 * NONE, and never CORE, whose mask threads and processes that a job starts inherit. NULL only when
 * memory is short: callers then run unpinned. */
odi_plan *odi_plan_make(const odi_topology *topology, const odi_limits *limits, int workers,
                        od_placement policy);

/* NULL is allowed. */
void odi_plan_free(odi_plan *plan);

/* The place of any worker: numbers past worker_count (spare workers) wrap around and have
 * no CPU of their own. */
odi_place odi_plan_place(const odi_plan *plan, int worker);

/* Fills in the mask that `worker` should apply to itself with odi_affinity_set. False when
 * it should leave its mask alone; `*mask` is empty then. */
bool odi_plan_mask(const odi_plan *plan, int worker, odi_cpu_mask *mask);

/* Reads "none", "node", "core" or "automatic". On false, `*policy` is untouched and
 * `problem` (may be NULL) holds one sentence that names `setting`. */
bool odi_placement_parse(const char *setting, const char *text, od_placement *policy,
                         char *problem, size_t capacity);

/* The word that odi_placement_parse reads; "unknown" for no policy. */
const char *odi_placement_name(od_placement policy);

#pragma GCC visibility pop

#endif
