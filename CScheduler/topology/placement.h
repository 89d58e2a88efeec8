/* placement.h — the placement plan: the preferred node, CPU and mask of each worker.
 *
 * Owns     the plan.
 * Never    touches a thread: each worker applies its own mask (os/affinity) and accepts a refusal.
 * Threads  a plan is immutable; one thread makes it.
 *
 * Order: workers fill the fewest nodes that give each of them a physical core. Nodes follow each other by
 * distance, so that workers i and i + 1 are on one node or on nearby nodes. The second hardware thread of a
 * core is used only if every core has a worker.
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
    int node; /* index of the worker's preferred node in the topology */
    int cpu;  /* the kernel's number, or -1: any CPU of the node or machine */
} odi_place;

typedef struct odi_plan {
    int worker_count;
    od_placement policy;     /* the resulting policy, never AUTOMATIC */
    bool pins;               /* whether masks are applied */
    const char *reason;      /* one sentence without a full stop; never NULL             */
    const odi_place *places; /* [worker_count]                                           */
    const odi_topology *topology; /* borrowed; must outlive the plan */
} odi_plan;

/* Makes a plan for `workers` workers (at least 1). If there are more workers than CPUs, they share the CPUs
 * evenly, and the surplus workers get a node only. AUTOMATIC means NODE if several nodes exist and the
 * process owns its CPUs (whole nodes, no quota, enough workers for all cores). Otherwise it means NONE. It
 * never means CORE, whose mask would be inherited by threads and processes that a job starts. Returns NULL
 * only if an allocation fails; callers then run unpinned. */
odi_plan *odi_plan_make(const odi_topology *topology, const odi_limits *limits, int workers,
                        od_placement policy);

/* Accepts NULL. */
void odi_plan_free(odi_plan *plan);

/* Returns the place of any worker. Numbers from worker_count on (spares) wrap around and have no CPU. */
odi_place odi_plan_place(const odi_plan *plan, int worker);

/* Fills in the mask that `worker` should apply to itself with odi_affinity_set. Returns false, with an empty
 * `*mask`, if the worker should keep its mask. */
bool odi_plan_mask(const odi_plan *plan, int worker, odi_cpu_mask *mask);

/* Reads "none", "node", "core" or "automatic". On false, `*policy` is unchanged and `problem` (may be NULL)
 * holds one sentence that names `setting`. */
bool odi_placement_parse(const char *setting, const char *text, od_placement *policy,
                         char *problem, size_t capacity);

/* Returns the word for a policy; "unknown" for an invalid policy. */
const char *odi_placement_name(od_placement policy);

#pragma GCC visibility pop

#endif
