#include "topology/limits.h"

#include "topology/cgroups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void odi_limits_note(odi_limits *limits, const char *format, ...)
{
    va_list arguments;

    if (limits->note[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(limits->note, sizeof limits->note, format, arguments);
    va_end(arguments);
}

/* The mask as /proc/self/status shows it, which may hold CPUs that went offline. */
static void read_status(const odi_source *source, odi_limits *limits)
{
    static const char label[] = "Cpus_allowed_list:";
    FILE *file = source->open(source, "/proc/self/status");
    char *line = NULL;
    size_t room = 0;

    while (file != NULL && getline(&line, &room, file) > 0) {
        if (strncmp(line, label, sizeof label - 1) == 0 &&
            !odi_cpu_mask_parse(line + sizeof label - 1, &limits->cpus))
            odi_limits_note(limits, "ignored a malformed affinity mask");
    }
    free(line);
    if (file != NULL)
        fclose(file);
}

void odi_limits_apply_cpuset(odi_limits *limits, const odi_cpu_mask *cpuset, const char *group)
{
    odi_cpu_mask both = *cpuset; /* all that is known, where affinity is not */

    if (odi_cpu_mask_next(&limits->cpus, 0) >= 0)
        odi_cpu_mask_intersect(&both, &limits->cpus);
    if (odi_cpu_mask_next(&both, 0) < 0) {
        odi_limits_note(limits, "no CPU is both in the affinity mask and in the cpuset of %.120s",
                        group);
        return;
    }
    limits->cpus = both;
    limits->cpu_count = odi_cpu_mask_count(&both);
    limits->cpuset_count = odi_cpu_mask_count(cpuset);
    snprintf(limits->cpuset_group, sizeof limits->cpuset_group, "%s", group);
}

void odi_limits_read(const odi_source *source, odi_cgroups **kept, odi_limits *limits)
{
    odi_cpu_mask online = {{0}};

    memset(limits, 0, sizeof *limits);
    limits->granted_count = source->granted;
    bool asked = source->affinity != NULL && source->affinity(source, &limits->cpus) == 0;
    bool report = kept == NULL || !asked;
    if (report &&
        odi_source_read_list(source, "/sys/devices/system/cpu/online", &online) == EINVAL)
        odi_limits_note(limits, "ignored a malformed list of online CPUs");
    limits->online_count = odi_cpu_mask_count(&online);
    if (!asked) {
        read_status(source, limits);
        if (limits->online_count > 0)
            odi_cpu_mask_intersect(&limits->cpus, &online);
    }
    limits->cpu_count = limits->affinity_count = odi_cpu_mask_count(&limits->cpus);
    if (limits->cpu_count == 0) { /* no mask at all: whatever is online */
        odi_limits_note(limits, "the affinity mask is unknown");
        limits->cpus = online;
        limits->cpu_count = limits->online_count > 0 ? limits->online_count : 1;
    }
    odi_cgroups_read(source, kept, limits, report);
}

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

/* Whether the cpuset leaves less than the machine has. The kernel narrows affinity masks to
 * the cpuset by itself, so an equal count still means that the cpuset decided. */
static bool cpuset_decides(const odi_limits *limits)
{
    if (limits->cpuset_count == 0)
        return false;
    if (limits->cpu_count < limits->affinity_count || limits->affinity_count == 0)
        return true;
    return limits->cpuset_count == limits->cpu_count &&
           limits->cpuset_count < limits->online_count;
}

/* The quota in CPUs with up to three decimals, always with a point, whatever the locale. */
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
