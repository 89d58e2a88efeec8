/* machine.c — the public functions of od_machine.h: a snapshot of limits and topology in one allocation, and
 * plans made from it. */
#include "include/od_machine.h"

#include <stdarg.h>
#include <stdlib.h>

#include "os/source.h"
#include "topology/limits.h"
#include "topology/placement.h"
#include "topology/topology.h"

enum { MOST_PLANNED = 65536 };

typedef struct snapshot {
    od_machine machine; /* the part that users see */
    odi_limits limits;
    odi_topology *topology;
} snapshot;

static const snapshot *of(const od_machine *machine)
{
    return (const snapshot *)machine;
}

static void fill_in(snapshot *it)
{
    const odi_topology *topology = it->topology;
    const odi_limits *limits = &it->limits;

    it->machine = (od_machine){
        .live = topology->live,
        .may_spin = odi_limits_workers(limits, false, 0).may_spin,
        .cpu_count = topology->cpu_count,
        .core_count = topology->core_count,
        .node_count = topology->node_count,
        .cpus = topology->cpus,
        .nodes = topology->nodes,
        .distances = topology->distances,
        .limits = {
            .online_count = limits->online_count,
            .affinity_count = limits->affinity_count,
            .cpuset_count = limits->cpuset_count,
            .cpu_count = limits->cpu_count,
            .quota_us = limits->quota_us,
            .period_us = limits->period_us,
            .quota_group = limits->quota_group,
            .cpuset_group = limits->cpuset_group,
            .note = limits->note,
        },
    };
}

__attribute__((format(printf, 3, 4))) static void say(char *text, size_t capacity,
                                                      const char *format, ...)
{
    va_list arguments;

    if (text == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, capacity, format, arguments);
    va_end(arguments);
}

const od_machine *od_machine_discover(const char *root, char *problem, size_t capacity)
{
    bool live = root == NULL || root[0] == '\0';
    odi_source source = live ? odi_source_live() : odi_source_at(root);
    FILE *directory = live ? NULL : source.open(&source, "/.");
    const char *why = "is not a readable directory";
    snapshot *it = NULL;

    if (live || directory != NULL) {
        why = "does not fit in memory";
        it = malloc(sizeof *it);
    }
    if (directory != NULL)
        fclose(directory);
    if (it != NULL) {
        odi_limits_read(&source, NULL, &it->limits);
        it->topology = odi_topology_discover(&source, &it->limits, true);
        if (it->topology != NULL) {
            fill_in(it);
            return &it->machine;
        }
        free(it);
    }
    say(problem, capacity, "%s %s", live ? "this machine" : root, why);
    return NULL;
}

void od_machine_free(const od_machine *machine)
{
    if (machine != NULL)
        odi_topology_free(of(machine)->topology);
    free((void *)(uintptr_t)machine);
}

int32_t od_machine_worker_count(const od_machine *machine, bool round_down)
{
    return odi_limits_workers(&of(machine)->limits, round_down, 0).workers;
}

size_t od_machine_describe(const od_machine *machine, bool round_down, int32_t requested,
                           char *text, size_t capacity)
{
    return odi_limits_describe(&of(machine)->limits, round_down, requested, text,
                               capacity);
}

bool od_machine_plan(const od_machine *machine, const char *policy, int32_t workers,
                     int32_t *nodes, int32_t *cpus, char *reason, size_t capacity)
{
    od_placement wanted;

    if (!odi_placement_parse("placement", policy, &wanted, reason, capacity))
        return false;
    if (workers < 1 || workers > MOST_PLANNED) {
        say(reason, capacity, "%d workers were asked for, but 1 to %d can be planned", workers,
            MOST_PLANNED);
        return false;
    }
    odi_plan *plan = odi_plan_make(of(machine)->topology, &of(machine)->limits, workers, wanted);
    if (plan == NULL) {
        say(reason, capacity, "no memory for a plan of %d workers", workers);
        return false;
    }
    for (int32_t i = 0; i < workers; i++) {
        if (nodes != NULL)
            nodes[i] = plan->places[i].node;
        if (cpus != NULL)
            cpus[i] = plan->places[i].cpu;
    }
    say(reason, capacity, "%s: %s", odi_placement_name(plan->policy), plan->reason);
    odi_plan_free(plan);
    return true;
}
