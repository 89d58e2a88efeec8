/* limits.c — derives the number of workers from the limits, and the line that explains it. */
#include "topology/limits.h"

#include <inttypes.h>
#include <stdio.h>

bool odi_limits_equal(const odi_limits *a, const odi_limits *b)
{
    return a->quota_us == b->quota_us && a->period_us == b->period_us &&
           odi_cpu_mask_equal(&a->cpus, &b->cpus);
}

odi_worker_advice odi_limits_workers(const odi_limits *limits, bool round_down, int requested)
{
    int64_t workers = limits->cpu_count, full = workers;

    if (limits->quota_us > 0) {
        int64_t whole = limits->quota_us / limits->period_us;
        int64_t used = whole + (!round_down && limits->quota_us % limits->period_us != 0);

        full = whole < full ? whole : full;
        workers = used < workers ? used : workers;
    }
    if (limits->granted_count > 0) {
        full = limits->granted_count < full ? limits->granted_count : full;
        workers = limits->granted_count < workers ? limits->granted_count : workers;
    }
    if (requested > 0)
        workers = requested;
    return (odi_worker_advice){.workers = workers > 0 ? (int)workers : 1, .may_spin = full >= 2};
}

/* Whether the cpuset leaves fewer CPUs than the machine has. The kernel restricts affinity masks to the
 * cpuset, so an equal count still means that the cpuset decided. */
static bool cpuset_decides(const odi_limits *limits)
{
    if (limits->cpuset_count == 0)
        return false;
    if (limits->cpu_count < limits->affinity_count || limits->affinity_count == 0)
        return true;
    return limits->cpuset_count == limits->cpu_count &&
           limits->cpuset_count < limits->online_count;
}

/* Prints the quota in CPUs with up to three decimals, always with a point, in any locale. */
static void print_quota(const odi_limits *limits, char *text, size_t capacity)
{
    int64_t part = limits->quota_us % limits->period_us * 1000 / limits->period_us;
    int length = snprintf(text, capacity, "%" PRId64 ".%03" PRId64,
                          limits->quota_us / limits->period_us, part);

    while (text[length - 1] == '0')
        text[--length] = '\0';
    if (text[length - 1] == '.')
        text[--length] = '\0';
}

size_t odi_limits_describe(const odi_limits *limits, bool round_down, int requested,
                           char *text, size_t capacity)
{
    int workers = odi_limits_workers(limits, round_down, requested).workers;
    char affinity[40] = "affinity unknown", cpuset[ODI_GROUP_TEXT + 40] = "";
    char quota[ODI_GROUP_TEXT + 60] = "", granted[40] = "", asked[40] = "", cpus[32];

    if (capacity == 0)
        return 0;
    if (limits->affinity_count > 0)
        snprintf(affinity, sizeof affinity, "affinity %d", limits->affinity_count);
    else if (limits->online_count > 0)
        snprintf(affinity, sizeof affinity, "affinity unknown, online %d",
                 limits->online_count);
    if (cpuset_decides(limits))
        snprintf(cpuset, sizeof cpuset, ", cpuset %d of %s", limits->cpuset_count,
                 limits->cpuset_group);
    if (limits->quota_us > 0) {
        print_quota(limits, cpus, sizeof cpus);
        snprintf(quota, sizeof quota, ", quota %s of %s", cpus, limits->quota_group);
    }
    if (limits->granted_count > 0)
        snprintf(granted, sizeof granted, ", Slurm's %d", limits->granted_count);
    if (requested > 0)
        snprintf(asked, sizeof asked, ", requested %d", requested);

    int wrote = snprintf(text, capacity, "%s%s%s%s%s -> %d worker%s", affinity, cpuset, quota,
                         granted, asked, workers, workers == 1 ? "" : "s");
    return (size_t)wrote < capacity ? (size_t)wrote : capacity - 1;
}
