/* limits.h — how much of the machine this process may use, and who said so.
 *
 * Owns     the arithmetic of affinity, cpuset and cgroup quotas (v1, v2 and both at once,
 *          over every ancestor that is visible), and the sentence that explains it.
 * Never    caches, traps, or believes a file: what cannot be read or understood is left out
 *          and noted.
 * Threads  any thread; one call works on its own memory only. At most one allocation (two
 *          with more than 48 KiB of mounts), given back before it returns. Without memory
 *          it still answers, from the affinity mask alone.
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

/* What was odd while reading; bits of odi_limits.notes. */
enum {
    ODI_NOTE_NO_AFFINITY = 1 << 0,    /* nobody could tell the affinity mask            */
    ODI_NOTE_NO_CGROUP = 1 << 1,      /* no cgroup is visible: nothing limits us there  */
    ODI_NOTE_MALFORMED = 1 << 2,      /* a file made no sense and was ignored           */
    ODI_NOTE_UNREADABLE = 1 << 3,     /* a file is there and could not be read          */
    ODI_NOTE_GROUP_OUTSIDE = 1 << 4,  /* our group lies above or beside what is mounted:
                                         the mounted group's own limits were used       */
    ODI_NOTE_CPUSET_FOREIGN = 1 << 5, /* cpuset and affinity have no CPU in common:
                                         affinity won                                   */
    ODI_NOTE_CPU_BEYOND = 1 << 6,     /* CPU ids over ODI_CPU_LIMIT were left out       */
    ODI_NOTE_NO_MEMORY = 1 << 7,      /* cgroups were not read for want of memory       */
};

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
    unsigned notes;             /* ODI_NOTE_*                                            */
    char note[ODI_GROUP_TEXT];  /* the first note, as text; empty when there is none     */
} odi_limits;

/* What a quota that is no whole number of CPUs becomes. */
typedef enum odi_rounding {
    ODI_ROUND_UP,   /* 2.5 CPUs -> 3 workers: uses all that was paid for (default)       */
    ODI_ROUND_DOWN, /* 2.5 CPUs -> 2 workers: work in lock step is not throttled together */
} odi_rounding;

/* Which limit decided the number of workers. */
typedef enum odi_decider {
    ODI_DECIDED_BY_REQUEST,  /* the caller named a number                       */
    ODI_DECIDED_BY_AFFINITY, /* the affinity mask (or all CPUs: there is none)  */
    ODI_DECIDED_BY_CPUSET,   /* the cpuset is narrower than the mask            */
    ODI_DECIDED_BY_QUOTA,    /* the quota is less than the CPUs                 */
    ODI_DECIDED_BY_GRANT,    /* a batch system gave less than the CPUs          */
    ODI_DECIDED_BY_NOTHING,  /* nothing could be read: one worker               */
} odi_decider;

typedef struct odi_worker_advice {
    int workers;         /* at least 1                                                  */
    bool may_spin;       /* false with less than two CPUs: spinning would burn the only
                            CPU (or the quota, or another job's CPU) that the awaited thread needs            */
    odi_decider decider;
} odi_worker_advice;

/* Reads everything anew into `*limits`, whose old contents do not matter. Meant to be
 * called at most once a second, from a slow path. Never fails: see `notes`. */
void odi_limits_read(const odi_source *source, odi_limits *limits);

/* Whether two readings give the same CPUs and the same quota: nothing to follow. */
bool odi_limits_equal(const odi_limits *a, const odi_limits *b);

/* How many workers suit these limits. `requested` > 0 is taken as it is. */
odi_worker_advice odi_limits_workers(const odi_limits *limits, odi_rounding rounding,
                                     int requested);

/* Writes one line without a full stop, such as
 * "affinity 8, quota 2.5 of /system.slice/x.slice -> 3 workers". Returns its length, which
 * is less than `capacity`. */
size_t odi_limits_describe(const odi_limits *limits, odi_rounding rounding, int requested,
                           char *text, size_t capacity);

#pragma GCC visibility pop

#endif
