/* limits.h — limits on the CPUs of this process: affinity, cpuset and cgroup quotas.
 *
 * Owns     the combination of affinity, cpuset and cgroup quotas (v1, v2 and both at once, over every
 *          visible ancestor), and the sentence that explains the result.
 * Never    traps or trusts a file: unreadable or malformed facts are skipped and noted.
 * Threads  any thread; a call works on its caller's memory only. If an allocation fails it still
 *          answers, from the affinity mask alone.
 *
 * Shares and weights (cpu.shares, cpu.weight) are not limits: an idle machine gives more.
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
    odi_cpu_mask cpus;          /* usable CPUs: affinity and cpuset. Empty if unknown */
    int cpu_count;              /* of `cpus`; at least 1                                 */
    int online_count;           /* CPUs of the whole machine, 0 when unknown             */
    int affinity_count;         /* CPUs in the affinity mask, 0 if unknown */
    int cpuset_count;           /* CPUs in the cpuset, 0 if none was found */
    int granted_count;          /* CPUs that a batch system granted, 0 if none */
    int64_t quota_us;           /* the tightest quota per period, 0 if none */
    int64_t period_us;          /* its period, 0 if there is no quota */
    char quota_group[ODI_GROUP_TEXT];  /* the cgroup with that quota: "/system.slice/x.slice" */
    char cpuset_group[ODI_GROUP_TEXT]; /* the cgroup with that cpuset */
    char note[ODI_GROUP_TEXT];  /* first unusual finding; empty if none */
    bool incomplete;            /* out of descriptors or memory: a limit may be missing */
} odi_limits;

typedef struct odi_worker_advice {
    int workers;         /* at least 1                                                  */
    bool may_spin;       /* false with fewer than two CPUs: a spin would use the CPU or quota that the awaited
                            thread needs */
} odi_worker_advice;

/* The location of this process's cgroups, so that mounts are read once. */
typedef struct odi_cgroups odi_cgroups;

/* Reads the limits into `*limits`, which need not be initialised. Never fails: see `note`. Pass NULL for a
 * report. A caller that follows the limits, at most once a second and on a slow path, keeps a pointer
 * (initially NULL, released with free). It is then spared the number of online CPUs. It is also spared
 * cpusets if the kernel reported the affinity mask, which the kernel keeps within them. */
void odi_limits_read(const odi_source *source, odi_cgroups **kept, odi_limits *limits);

/* Whether two readings give equal CPUs and quotas, so that nothing changes. */
bool odi_limits_equal(const odi_limits *a, const odi_limits *b);

/* Returns the number of workers that suits these limits. A quota of 2.5 CPUs gives 3 workers, which use the
 * whole quota. With `round_down` it gives 2, so that workers in lock step are not throttled together. A
 * positive `requested` is taken unchanged. */
odi_worker_advice odi_limits_workers(const odi_limits *limits, bool round_down, int requested);

/* Writes one line without a full stop. An example is "affinity 8, quota 2.5 of /system.slice/x.slice -> 3
 * workers". Returns its length, which is less than `capacity`. */
size_t odi_limits_describe(const odi_limits *limits, bool round_down, int requested,
                           char *text, size_t capacity);

#pragma GCC visibility pop

#endif
