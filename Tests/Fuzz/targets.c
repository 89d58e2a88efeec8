#include "Fuzz/targets.h"
#include "Support/machines.h"
#include "Support/recording.h"

#include "topology/limits.h"
#include "topology/placement.h"
#include "topology/setting.h"
#include "topology/topology.h"

#include "os/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE(condition) \
    ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))

/* No thread of the engine's reads limits here. */
bool odi_process_mask_is_own(void) { return false; }

static void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: a parser broke its promise: %s\n", file, line, condition);
    abort();
}

/* Writes the set as a list again and reads that back. */
static void cpu_list(const char *text)
{
    static char written[64 * 1024];
    odi_cpu_mask mask, again;
    size_t used = 0;

    PROMISE(odi_cpu_mask_parse(text, &mask) || odi_cpu_mask_count(&mask) == 0);
    written[0] = '\0';
    for (int first = odi_cpu_mask_next(&mask, 0); first >= 0;) {
        int last = first;

        while (odi_cpu_mask_has(&mask, last + 1))
            last++;
        used += (size_t)snprintf(written + used, sizeof written - used, "%s%d-%d",
                                 used > 0 ? "," : "", first, last);
        first = odi_cpu_mask_next(&mask, last + 1);
    }
    PROMISE(odi_cpu_mask_parse(written, &again));
    PROMISE(odi_cpu_mask_equal(&mask, &again));
}

static void setting(const char *text)
{
    static const char *const words[] = {"none", "node", "core", "automatic"};
    char problem[128];
    int value = 7, choice = -1;

    if (odi_setting_integer("S", text, -5, 1024, &value, problem, sizeof problem))
        PROMISE(value >= -5 && value <= 1024);
    else
        PROMISE(value == 7 && strlen(problem) < sizeof problem);
    if (odi_setting_choice("S", text, words, 4, &choice, problem, sizeof problem))
        PROMISE(choice >= 0 && choice < 4);

    for (size_t capacity = 8; capacity <= sizeof problem; capacity *= 2) {
        odi_setting_show(text, problem, capacity);
        PROMISE(strlen(problem) < capacity);
        for (const char *c = problem; *c != '\0'; c++)
            PROMISE((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

static void check_limits(const odi_source *source, odi_limits *limits)
{
    char because[256];
    odi_limits again;

    odi_limits_read(source, NULL, limits);
    odi_limits_read(source, NULL, &again);
    PROMISE(odi_limits_equal(limits, &again));
    PROMISE(limits->cpu_count >= 1 && limits->cpu_count <= ODI_CPU_LIMIT);
    PROMISE(limits->quota_us >= 0 && (limits->quota_us > 0) == (limits->period_us > 0));
    for (const char *c = limits->note; *c != '\0'; c++)
        PROMISE((unsigned char)*c >= 0x20 && *c != 0x7f);
    for (int way = 0; way < 2; way++) {
        odi_worker_advice advice = odi_limits_workers(limits, way, 0);

        PROMISE(advice.workers >= 1 && advice.workers <= limits->cpu_count);
        PROMISE(odi_limits_workers(limits, way, 7).workers == 7);
        for (int requested = 0; requested <= 7; requested += 7) {
            PROMISE(odi_limits_describe(limits, way, requested, because, sizeof because) ==
                    strlen(because));
            PROMISE(odi_limits_describe(limits, way, requested, because, 8) == strlen(because));
            PROMISE(odi_limits_describe(limits, way, requested, because, 0) == 0);
        }
    }
    limits_of(&limits->cpus, &again);
    PROMISE(again.quota_us == 0 && odi_cpu_mask_equal(&again.cpus, &limits->cpus));
}

/* A whole machine: recorded files, limits, discovery, plans. */
static void machine(const char *text)
{
    odi_source source = source_of(text);
    odi_limits limits;

    check_limits(&source, &limits);
    /* Thousands of CPUs only make the fuzzer slow: a unit test has the largest machine. */
    if (limits.cpu_count > 512)
        return;

    odi_topology *topology = odi_topology_discover(&source, &limits, true);
    PROMISE(topology != NULL);
    PROMISE(topology->cpu_count == limits.cpu_count);
    int workers = topology->cpu_count < 64 ? 2 * topology->cpu_count : 64;
    odi_plan *plan = odi_plan_make(topology, &limits, workers, OD_PLACEMENT_CORE);
    PROMISE(plan != NULL && !plan->pins);
    for (int i = 0; i < workers; i++)
        PROMISE(plan->places[i].node >= 0 && plan->places[i].node < topology->node_count);
    odi_plan_free(plan);
    odi_topology_free(topology);
}

/* A machine where the text stands for some of its files. */
static void machine_with(const char *files, const char *text)
{
    size_t holes = 0, length = strlen(text);

    for (const char *at = files; (at = strchr(at, '%')) != NULL; at++)
        holes++;
    char *whole = malloc(strlen(files) + holes * length + 1), *to = whole;
    PROMISE(whole != NULL);
    for (; *files != '\0'; files++)
        to = *files == '%' ? stpcpy(to, text) : (*to = *files, to + 1);
    *to = '\0';
    machine(whole);
    free(whole);
}

#define MOUNTS "\n== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup2 c rw\n" \
               "2 1 0:1 / /c rw - cgroup c rw,cpu\n3 1 0:1 / /s rw - cgroup c rw,cpuset\n"
#define CPUS "== /proc/self/status\nCpus_allowed_list: 0-7\n"

static void quota(const char *text)
{
    machine_with("== /proc/self/cgroup\n0::/a\n1:cpu:/a\n" MOUNTS CPUS "== /g/a/cpu.max\n%\n"
                 "== /c/a/cpu.cfs_quota_us\n50000\n== /c/a/cpu.cfs_period_us\n%\n"
                 "== /c/cpu.cfs_quota_us\n%\n== /c/cpu.cfs_period_us\n100000\n", text);
}

static void group(const char *text)
{
    machine_with("== /proc/self/cgroup\n%" MOUNTS CPUS, text);
}

/* The first line is our group, the rest is mountinfo. */
static void mounts(const char *text)
{
    machine_with("== /proc/self/cgroup\n1:cpu,cpuset:%\n" CPUS "== /proc/self/mountinfo\n%\n", text);
    machine_with("== /proc/self/cgroup\n0::%\n" CPUS "== /proc/self/mountinfo\n%\n", text);
}

static void distances(const char *text)
{
    machine_with(CPUS "== /sys/devices/system/node/online\n0-1\n"
                 "== /sys/devices/system/node/node0/distance\n%\n"
                 "== /sys/devices/system/node/node1/distance\n10 20\n"
                 "== /sys/devices/system/node/node1/cpulist\n%\n"
                 "== /sys/devices/system/node/node0/meminfo\n%\n", text);
}

const fuzz_entry fuzz_targets[] = {
    {"cpu_list", cpu_list},   {"quota", quota},
    {"group", group},         {"mounts", mounts},
    {"distances", distances},
    {"setting", setting},     {"machine", machine},
    {NULL, NULL},
};
