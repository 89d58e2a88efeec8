#include "Fuzz/targets.h"
#include "Support/machines.h"

#include "topology/cgroup_files.h"
#include "topology/cpu_list.h"
#include "topology/limits.h"
#include "topology/mounts.h"
#include "topology/node_files.h"
#include "topology/placement.h"
#include "topology/recording.h"
#include "topology/setting.h"
#include "topology/text.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE(condition) \
    ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))

static void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: a parser broke its promise: %s\n", file, line, condition);
    abort();
}

static bool is_inside(odi_text part, const char *text, size_t length)
{
    return part.at >= text && part.at <= part.end && part.end <= text + length;
}

/* Writes the set as a list again and reads that back. */
static void cpu_list(const char *text, size_t length)
{
    static char written[64 * 1024];
    odi_cpu_mask mask, again;
    size_t used = 0;
    odi_list_status status = odi_cpu_list_parse(text, length, &mask);

    PROMISE(status != ODI_LIST_MALFORMED || odi_cpu_mask_count(&mask) == 0);
    for (int first = odi_cpu_mask_next(&mask, 0); first >= 0;) {
        int last = first;

        while (odi_cpu_mask_has(&mask, last + 1))
            last++;
        used += (size_t)snprintf(written + used, sizeof written - used, "%s%d-%d",
                                 used > 0 ? "," : "", first, last);
        first = odi_cpu_mask_next(&mask, last + 1);
    }
    PROMISE(odi_cpu_list_parse(written, used, &again) == ODI_LIST_OK);
    PROMISE(odi_cpu_mask_equal(&mask, &again));
}

static void quota(const char *text, size_t length)
{
    odi_quota read = {7, 7}, other = {3, 2};

    if (odi_quota_parse_max(text, length, &read) == ODI_QUOTA_SET) {
        PROMISE(read.quota_us > 0 && read.period_us > 0);
        PROMISE(!(odi_quota_is_tighter(read, other) && odi_quota_is_tighter(other, read)));
        PROMISE(!odi_quota_is_tighter(read, read));
    } else {
        PROMISE(read.quota_us == 7 && read.period_us == 7);
    }
    read = other;
    if (odi_quota_parse_cfs(text, length, &read) == ODI_QUOTA_SET)
        PROMISE(read.quota_us > 0);
    PROMISE(read.period_us == 2);
    read = other;
    odi_quota_status status = odi_quota_parse_period(text, length, &read);
    PROMISE(status != ODI_QUOTA_NONE && read.period_us > 0 && read.quota_us == 3);
}

static void group(const char *text, size_t length)
{
    static const char *const controllers[] = {NULL, "cpu", "cpuset", "name=systemd", ""};

    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        odi_text path, rest;

        if (!odi_cgroup_find(text, length, controllers[i], &path))
            continue;
        PROMISE(is_inside(path, text, length));
        PROMISE(memchr(path.at, '\n', odi_text_length(path)) == NULL);
        if (odi_cgroup_below(path, "", &rest))
            PROMISE(is_inside(rest, text, length));
    }
}

/* The first line is our group, the rest is mountinfo. */
static void mounts(const char *text, size_t length)
{
    static odi_cgroup_mount mount;
    odi_text rest = odi_text_of(text, length);
    odi_text own = rest, below;

    if (!odi_text_cut(&rest, '\n', &own))
        return;
    for (int which = 0; which < 2; which++) {
        if (!odi_cgroup_mount_find(rest.at, odi_text_length(rest), which ? "cpu" : NULL,
                                   own, &mount))
            continue;
        PROMISE(strlen(mount.point) < ODI_PATH_LIMIT);
        PROMISE(strlen(mount.root) < ODI_PATH_LIMIT);
        PROMISE(mount.point[0] == '\0' || mount.point[0] == '/');
        PROMISE(mount.above == odi_cgroup_below(own, mount.root, &below));
    }
}

static void distances(const char *text, size_t length)
{
    uint8_t row[8];
    int count = odi_distance_row_parse(text, length, row, 8);

    PROMISE(count == -1 || count > 0);
    for (int i = 0; i < count && i < 8; i++)
        PROMISE(row[i] > 0);
    odi_node_memory_parse(text, length);
}

static void setting(const char *text, size_t length)
{
    static const char *const words[] = {"none", "node", "core", "automatic"};
    char problem[128];
    int64_t value = 7;
    int choice = -1;

    if (odi_setting_integer("S", text, length, -5, 1024, &value, problem, sizeof problem))
        PROMISE(value >= -5 && value <= 1024);
    else
        PROMISE(value == 7 && strlen(problem) < sizeof problem);
    if (odi_setting_choice("S", text, length, words, 4, &choice, problem, sizeof problem))
        PROMISE(choice >= 0 && choice < 4);

    for (size_t capacity = 1; capacity <= sizeof problem; capacity *= 2) {
        odi_text_print(odi_text_of(text, length), problem, capacity);
        PROMISE(strlen(problem) < capacity);
        for (const char *c = problem; *c != '\0'; c++)
            PROMISE((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

/* A whole machine: recorded files, limits, discovery, plans. */
static void machine(const char *text, size_t length)
{
    char because[256] = "";
    odi_recording *recording = odi_recording_parse(text, length, because, sizeof because);
    odi_limits limits, again;

    PROMISE((recording == NULL) == (because[0] != '\0'));
    if (recording == NULL)
        return;

    odi_source source = odi_recording_source(recording);
    odi_limits_read(&source, &limits);
    odi_limits_read(&source, &again);
    PROMISE(odi_limits_equal(&limits, &again));
    PROMISE(limits.cpu_count >= 1 && limits.cpu_count <= ODI_CPU_LIMIT);
    PROMISE((limits.quota_us > 0) == (limits.period_us > 0));
    for (odi_rounding way = ODI_ROUND_UP; way <= ODI_ROUND_DOWN; way++) {
        odi_worker_advice advice = odi_limits_workers(&limits, way, 0);

        PROMISE(advice.workers >= 1 && advice.workers <= limits.cpu_count);
        PROMISE(odi_limits_workers(&limits, way, 7).workers == 7);
        for (int requested = 0; requested <= 7; requested += 7) {
            PROMISE(odi_limits_describe(&limits, way, requested, because, sizeof because) ==
                    strlen(because));
            PROMISE(odi_limits_describe(&limits, way, requested, because, 8) == strlen(because));
            PROMISE(odi_limits_describe(&limits, way, requested, because, 0) == 0);
        }
    }
    limits_of(&limits.cpus, &again);
    PROMISE(again.quota_us == 0 && odi_cpu_mask_equal(&again.cpus, &limits.cpus));

    /* Thousands of CPUs only make the fuzzer slow: a unit test has the largest machine. */
    if (limits.cpu_count > 512) {
        odi_recording_free(recording);
        return;
    }

    odi_topology *topology = odi_topology_discover(&source, &limits);
    PROMISE(topology != NULL);
    PROMISE(topology->cpu_count == limits.cpu_count);
    int workers = topology->cpu_count < 64 ? 2 * topology->cpu_count : 64;
    odi_plan *plan = odi_plan_make(topology, &limits, workers, ODI_PLACEMENT_CORE);
    PROMISE(plan != NULL && !plan->pins);
    for (int i = 0; i < workers; i++)
        PROMISE(plan->places[i].node >= 0 && plan->places[i].node < topology->node_count);
    odi_plan_free(plan);
    odi_topology_free(topology);
    odi_recording_free(recording);
}

const fuzz_entry fuzz_targets[] = {
    {"cpu_list", cpu_list},   {"quota", quota},
    {"group", group},         {"mounts", mounts},
    {"distances", distances},
    {"setting", setting},     {"machine", machine},
    {NULL, NULL},
};
