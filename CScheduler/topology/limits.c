#include "topology/limits.h"

#include "topology/cgroup_walk.h"
#include "topology/cpu_list.h"
#include "topology/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_online(const odi_source *source, odi_limits_scratch *scratch,
                        odi_limits *limits, odi_cpu_mask *online)
{
    size_t length;

    odi_cpu_mask_clear(online);
    if (source->read(source, "/sys/devices/system/cpu/online", scratch->list,
                     sizeof scratch->list, &length) != ODI_READ_OK)
        return false;

    odi_list_status status = odi_cpu_list_parse(scratch->list, length, online);
    if (status == ODI_LIST_MALFORMED)
        odi_limits_note(limits, ODI_NOTE_MALFORMED,
                        "ignored a malformed list of online CPUs");
    if (status == ODI_LIST_BEYOND)
        odi_limits_note(limits, ODI_NOTE_CPU_BEYOND,
                        "left out high CPU numbers that are online");
    limits->online_count = odi_cpu_mask_count(online);
    return limits->online_count > 0;
}

/* The mask as /proc/self/status shows it, which may hold CPUs that went offline. */
static bool read_status(const odi_source *source, odi_limits_scratch *scratch,
                        odi_limits *limits, odi_cpu_mask *mask)
{
    static const char label[] = "Cpus_allowed_list:";
    odi_text line;
    size_t length;

    odi_cpu_mask_clear(mask);
    source->read(source, "/proc/self/status", scratch->text, sizeof scratch->text, &length);

    odi_text rest = odi_text_of(scratch->text, length);
    while (odi_text_cut(&rest, '\n', &line)) {
        if (!odi_text_starts(line, label))
            continue;
        line.at += sizeof label - 1;

        odi_list_status status = odi_cpu_list_parse(line.at, odi_text_length(line), mask);
        if (status == ODI_LIST_MALFORMED)
            odi_limits_note(limits, ODI_NOTE_MALFORMED,
                            "ignored a malformed affinity mask");
        if (status == ODI_LIST_BEYOND)
            odi_limits_note(limits, ODI_NOTE_CPU_BEYOND,
                            "left out high CPU numbers in the affinity mask");
        break;
    }
    return odi_cpu_mask_next(mask, 0) >= 0;
}

/* Fills limits->cpus with what affinity allows. */
static void read_affinity(const odi_source *source, odi_limits_scratch *scratch,
                          odi_limits *limits)
{
    odi_cpu_mask online;
    bool known = false;

    if (source->affinity != NULL) {
        odi_read_status status = source->affinity(source, &limits->cpus);

        if (status == ODI_READ_TRUNCATED)
            odi_limits_note(limits, ODI_NOTE_CPU_BEYOND,
                            "left out high CPU numbers in the affinity mask");
        known = (status == ODI_READ_OK || status == ODI_READ_TRUNCATED) &&
                odi_cpu_mask_next(&limits->cpus, 0) >= 0;
    }
    if (scratch != NULL) {
        bool online_known = read_online(source, scratch, limits, &online);

        if (!known && read_status(source, scratch, limits, &limits->cpus)) {
            known = true;
            if (online_known) {
                odi_cpu_mask_intersect(&limits->cpus, &online);
                known = odi_cpu_mask_next(&limits->cpus, 0) >= 0;
            }
        }
        if (!known && online_known) {
            limits->cpus = online; /* no mask at all: whatever is online */
            limits->cpu_count = limits->online_count;
            odi_limits_note(limits, ODI_NOTE_NO_AFFINITY, "the affinity mask is unknown");
            return;
        }
    }
    if (!known) {
        odi_cpu_mask_clear(&limits->cpus);
        limits->cpu_count = 1;
        odi_limits_note(limits, ODI_NOTE_NO_AFFINITY, "the affinity mask is unknown");
        return;
    }
    limits->cpu_count = limits->affinity_count = odi_cpu_mask_count(&limits->cpus);
}

/* Narrows limits->cpus to the cpuset, unless that would leave nothing. */
static void apply_cpuset(odi_limits *limits, const odi_cpu_mask *cpuset)
{
    odi_cpu_mask both = limits->cpus;

    limits->cpuset_count = odi_cpu_mask_count(cpuset);
    if (odi_cpu_mask_next(&limits->cpus, 0) < 0)
        both = *cpuset; /* affinity is unknown: the cpuset is all we know */
    else
        odi_cpu_mask_intersect(&both, cpuset);

    int count = odi_cpu_mask_count(&both);
    if (count == 0) {
        odi_limits_note(limits, ODI_NOTE_CPUSET_FOREIGN,
                        "no CPU is both in the affinity mask and in the cpuset of %.120s",
                        limits->cpuset_group);
        return;
    }
    limits->cpus = both;
    limits->cpu_count = count;
}

void odi_limits_read(const odi_source *source, odi_limits *limits)
{
    odi_limits_scratch *scratch = malloc(sizeof *scratch);
    odi_cpu_mask cpuset;

    memset(limits, 0, sizeof *limits);
    limits->granted_count = source->granted;
    read_affinity(source, scratch, limits);
    if (scratch == NULL) {
        odi_limits_note(limits, ODI_NOTE_NO_MEMORY, "no memory to read control groups");
        return;
    }
    if (odi_cgroup_walk(source, scratch, limits, &cpuset))
        apply_cpuset(limits, &cpuset);
    free(scratch);
}

bool odi_limits_equal(const odi_limits *a, const odi_limits *b)
{
    return a->cpu_count == b->cpu_count && a->quota_us == b->quota_us &&
           a->period_us == b->period_us && odi_cpu_mask_equal(&a->cpus, &b->cpus);
}

static int quota_workers(const odi_limits *limits, odi_rounding rounding)
{
    int64_t whole = limits->quota_us / limits->period_us;

    if (rounding == ODI_ROUND_UP && limits->quota_us % limits->period_us != 0)
        whole++;
    if (whole < 1)
        return 1;
    return whole < INT_MAX ? (int)whole : INT_MAX;
}

/* Whether the cpuset leaves less than the machine has. The kernel narrows affinity masks to
 * the cpuset by itself, so an equal count still means that the cpuset decided. */
static bool cpuset_decides(const odi_limits *limits)
{
    if (limits->cpuset_count == 0 || (limits->notes & ODI_NOTE_CPUSET_FOREIGN) != 0)
        return false;
    if (limits->cpu_count < limits->affinity_count || limits->affinity_count == 0)
        return true;
    return limits->cpuset_count == limits->cpu_count &&
           limits->cpuset_count < limits->online_count;
}

odi_worker_advice odi_limits_workers(const odi_limits *limits, odi_rounding rounding,
                                     int requested)
{
    odi_worker_advice advice = {.workers = limits->cpu_count};

    advice.decider = cpuset_decides(limits)                     ? ODI_DECIDED_BY_CPUSET
                     : limits->affinity_count > 0               ? ODI_DECIDED_BY_AFFINITY
                     : odi_cpu_mask_next(&limits->cpus, 0) >= 0 ? ODI_DECIDED_BY_AFFINITY
                                                                : ODI_DECIDED_BY_NOTHING;
    advice.may_spin = limits->cpu_count >= 2;
    if (limits->quota_us > 0) {
        int allowed = quota_workers(limits, rounding);

        if (allowed < advice.workers) {
            advice.workers = allowed;
            advice.decider = ODI_DECIDED_BY_QUOTA;
        }
        if (limits->quota_us / limits->period_us < 2)
            advice.may_spin = false;
    }
    if (limits->granted_count > 0 && limits->granted_count < advice.workers) {
        advice.workers = limits->granted_count;
        advice.decider = ODI_DECIDED_BY_GRANT;
        if (limits->granted_count < 2)
            advice.may_spin = false;
    }
    if (requested > 0) {
        advice.workers = requested;
        advice.decider = ODI_DECIDED_BY_REQUEST;
    }
    return advice;
}

/* A number of CPUs with up to three decimals, always with a point, whatever the locale. */
static void print_cpus(const odi_limits *limits, char *text, size_t capacity)
{
    int64_t whole = limits->quota_us / limits->period_us;
    unsigned __int128 rest = (unsigned __int128)(limits->quota_us % limits->period_us);
    int thousandths = (int)(rest * 1000 / (unsigned __int128)limits->period_us);

    if (whole == 0 && thousandths == 0)
        snprintf(text, capacity, "less than 0.001");
    else if (thousandths == 0)
        snprintf(text, capacity, "%" PRId64, whole);
    else if (thousandths % 100 == 0)
        snprintf(text, capacity, "%" PRId64 ".%d", whole, thousandths / 100);
    else if (thousandths % 10 == 0)
        snprintf(text, capacity, "%" PRId64 ".%02d", whole, thousandths / 10);
    else
        snprintf(text, capacity, "%" PRId64 ".%03d", whole, thousandths);
}

size_t odi_limits_describe(const odi_limits *limits, odi_rounding rounding, int requested,
                           char *text, size_t capacity)
{
    odi_worker_advice advice = odi_limits_workers(limits, rounding, requested);
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
        print_cpus(limits, cpus, sizeof cpus);
        snprintf(quota, sizeof quota, ", quota %s of %s", cpus, limits->quota_group);
    }
    if (limits->granted_count > 0)
        snprintf(granted, sizeof granted, ", Slurm's %d", limits->granted_count);
    if (requested > 0)
        snprintf(asked, sizeof asked, ", requested %d", requested);

    int wrote = snprintf(text, capacity, "%s%s%s%s%s -> %d worker%s", affinity, cpuset, quota,
                         granted, asked, advice.workers, advice.workers == 1 ? "" : "s");
    return (size_t)wrote < capacity ? (size_t)wrote : capacity - 1;
}
