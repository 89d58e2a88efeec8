/* limits.h — how much of the machine this process may use, and who said so.
 *
 * Owns     the arithmetic of affinity, cpuset and cgroup quotas (v1, v2 and both at once,
 *          over every ancestor that is visible), and the sentence that explains it.
 * Never    traps or believes a file: what cannot be read or understood is left out and noted.
 * Threads  any thread; one call works on its caller's memory only. Without memory it still
 *          answers, from the affinity mask alone.
 *
 * Shares and weights (cpu.shares, cpu.weight) are no limits: an idle machine gives more.
 */
#ifndef ODI_TOPOLOGY_LIMITS_H
#define ODI_TOPOLOGY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/affinity.h"
#include "os/source.h"

#pragma GCC visibility push(hidden)

enum { ODI_GROUP_TEXT = 192 };

typedef struct odi_limits {
    odi_cpu_mask cpus;          /* usable: affinity and cpuset. Empty when unknown.      */
    int cpu_count;              /* of `cpus`; at least 1                                 */
    int online_count;           /* CPUs of the whole machine, 0 when unknown             */
    int affinity_count;         /* CPUs in the affinity mask, 0 when unknown             */
    int cpuset_count;           /* CPUs in the cpuset, 0 when none was found             */
    int granted_count;          /* CPUs that a batch system gave us, 0 when none did     */
    int64_t quota_us;           /* the tightest quota; 0 when there is none              */
    int64_t period_us;          /* its period; 0 when there is no quota                  */
    char quota_group[ODI_GROUP_TEXT];  /* whose quota that is: "/system.slice/x.slice"   */
    char cpuset_group[ODI_GROUP_TEXT]; /* whose cpuset that is                           */
    char note[ODI_GROUP_TEXT];  /* what was odd first; empty when nothing was            */
    bool incomplete;            /* descriptors or memory ran out: a limit may be missing */
} odi_limits;

typedef struct odi_worker_advice {
    int workers;         /* at least 1                                                  */
    bool may_spin;       /* false with less than two CPUs: spinning would burn the only
                            CPU (or the quota, or another job's CPU) that the awaited thread needs            */
} odi_worker_advice;

/* Where our control groups are seen, so that mounts are looked at once. */
typedef struct odi_cgroups odi_cgroups;

/* Reads the limits into `*limits`, whose old contents do not matter. Never fails: see `note`.
 * With NULL for a report. Who follows them, at most once a second and from a slow path, keeps a
 * pointer (at first NULL, to be freed with free), and is spared what nothing follows from: how
 * many CPUs are online, and cpusets, where the kernel gave the affinity mask, which it keeps
 * within them itself. */
void odi_limits_read(const odi_source *source, odi_cgroups **kept, odi_limits *limits);

/* Whether two readings give the same CPUs and the same quota: nothing to follow. */
bool odi_limits_equal(const odi_limits *a, const odi_limits *b);

/* How many workers suit these limits. A quota of 2.5 CPUs gives 3, which use all that was paid for,
 * or with `round_down` 2, so that work in lock step is not throttled together. `requested` > 0 is
 * taken as it is. */
odi_worker_advice odi_limits_workers(const odi_limits *limits, bool round_down, int requested);

/* Writes one line without a full stop, such as
 * "affinity 8, quota 2.5 of /system.slice/x.slice -> 3 workers". Returns its length, which
 * is less than `capacity`. */
size_t odi_limits_describe(const odi_limits *limits, bool round_down, int requested,
                           char *text, size_t capacity);

#pragma GCC visibility pop

#endif
