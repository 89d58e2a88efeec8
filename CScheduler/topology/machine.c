#include "include/od_machine.h"

#include "os/source.h"
#include "topology/limits.h"
#include "topology/placement.h"
#include "topology/recording.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>

/* A recording of 8192 CPUs takes some megabytes; more than this is some other file. */
enum { MOST_RECORDED = 32 << 20, MOST_PLANNED = 65536 };

struct od_machine {
    odi_limits limits;
    odi_topology *topology;
};

static void say(char *problem, size_t capacity, const char *root, const char *sentence)
{
    if (problem != NULL && capacity > 0)
        snprintf(problem, capacity, "%s %s", root, sentence);
}

static od_machine *look_at(const odi_source *source)
{
    od_machine *machine = malloc(sizeof *machine);

    if (machine == NULL)
        return NULL;
    odi_limits_read(source, &machine->limits);
    machine->topology = odi_topology_discover(source, &machine->limits);
    if (machine->topology == NULL) {
        free(machine);
        return NULL;
    }
    return machine;
}

/* Reads the whole file at `path`; NULL with a sentence when that is not possible. */
static char *read_recording(const char *path, size_t *length, char *problem,
                            size_t capacity)
{
    odi_source files = odi_source_live();
    size_t room = 64 * 1024;

    for (;;) {
        char *text = malloc(room);
        if (text == NULL) {
            say(problem, capacity, path, "does not fit in memory");
            return NULL;
        }

        odi_read_status status = files.read(&files, path, text, room, length);
        if (status == ODI_READ_OK)
            return text;
        free(text);
        if (status != ODI_READ_TRUNCATED) {
            say(problem, capacity, path,
                status == ODI_READ_ABSENT   ? "does not exist"
                : status == ODI_READ_DENIED ? "may not be read"
                                            : "could not be read");
            return NULL;
        }
        if (room >= MOST_RECORDED) {
            say(problem, capacity, path, "is too long for a recorded machine");
            return NULL;
        }
        room *= 4;
    }
}

static od_machine *look_at_recording(const char *path, char *problem, size_t capacity)
{
    char sentence[128];
    size_t length;
    char *text = read_recording(path, &length, problem, capacity);

    if (text == NULL)
        return NULL;

    odi_recording *recording = odi_recording_parse(text, length, sentence, sizeof sentence);
    od_machine *machine = NULL;
    free(text);
    if (recording == NULL) {
        if (problem != NULL && capacity > 0)
            snprintf(problem, capacity, "%s is no recorded machine: %s", path, sentence);
        return NULL;
    }

    odi_source source = odi_recording_source(recording);
    machine = look_at(&source);
    odi_recording_free(recording);
    if (machine == NULL)
        say(problem, capacity, path, "does not fit in memory");
    return machine;
}

static bool stop_at_once(void *context, const char *name)
{
    (void)context;
    (void)name;
    return false;
}

od_machine *od_machine_discover(const char *root, char *problem, size_t capacity)
{
    bool live = root == NULL || root[0] == '\0';
    odi_source source = live ? odi_source_live() : odi_source_at(root);

    if (!live && source.list(&source, "", stop_at_once, NULL) != ODI_READ_OK)
        return look_at_recording(root, problem, capacity);

    od_machine *machine = look_at(&source);
    if (machine == NULL)
        say(problem, capacity, live ? "this machine" : root, "does not fit in memory");
    return machine;
}

void od_machine_free(od_machine *machine)
{
    if (machine == NULL)
        return;
    odi_topology_free(machine->topology);
    free(machine);
}

bool od_machine_is_live(const od_machine *machine)
{
    return machine->topology->live;
}

int32_t od_machine_cpu_count(const od_machine *machine)
{
    return machine->topology->cpu_count;
}

int32_t od_machine_core_count(const od_machine *machine)
{
    return machine->topology->core_count;
}

int32_t od_machine_node_count(const od_machine *machine)
{
    return machine->topology->node_count;
}

bool od_machine_get_cpu(const od_machine *machine, int32_t index, od_machine_cpu *cpu)
{
    if (index < 0 || index >= machine->topology->cpu_count)
        return false;

    const odi_cpu *known = &machine->topology->cpus[index];
    *cpu = (od_machine_cpu){
        .id = known->id,
        .node = known->node,
        .core = known->core,
        .thread = known->thread,
        .package = known->package,
        .l3 = known->l3,
    };
    return true;
}

static bool is_node(const od_machine *machine, int32_t index)
{
    return index >= 0 && index < machine->topology->node_count;
}

bool od_machine_get_node(const od_machine *machine, int32_t index, od_machine_node *node)
{
    if (!is_node(machine, index))
        return false;

    const odi_node *known = &machine->topology->nodes[index];
    *node = (od_machine_node){
        .id = known->id,
        .cpu_count = known->cpu_count,
        .core_count = known->core_count,
        .whole = known->whole,
        .memory_bytes = known->bytes,
    };
    return true;
}

int32_t od_machine_distance(const od_machine *machine, int32_t from, int32_t to)
{
    if (!is_node(machine, from) || !is_node(machine, to))
        return 0;
    return odi_topology_distance(machine->topology, from, to);
}

int32_t od_machine_neighbour(const od_machine *machine, int32_t node, int32_t rank)
{
    if (!is_node(machine, node) || rank < 0 || rank >= machine->topology->node_count - 1)
        return -1;
    return odi_topology_neighbour(machine->topology, node, rank);
}

od_machine_limits od_machine_get_limits(const od_machine *machine)
{
    const odi_limits *limits = &machine->limits;

    return (od_machine_limits){
        .online_count = limits->online_count,
        .affinity_count = limits->affinity_count,
        .cpuset_count = limits->cpuset_count,
        .cpu_count = limits->cpu_count,
        .quota_us = limits->quota_us,
        .period_us = limits->period_us,
        .quota_group = limits->quota_group,
        .cpuset_group = limits->cpuset_group,
        .note = limits->note,
    };
}

static odi_rounding rounding_of(bool round_down)
{
    return round_down ? ODI_ROUND_DOWN : ODI_ROUND_UP;
}

int32_t od_machine_worker_count(const od_machine *machine, bool round_down)
{
    return odi_limits_workers(&machine->limits, rounding_of(round_down), 0).workers;
}

bool od_machine_may_spin(const od_machine *machine)
{
    return odi_limits_workers(&machine->limits, ODI_ROUND_UP, 0).may_spin;
}

size_t od_machine_describe(const od_machine *machine, bool round_down, int32_t requested,
                           char *text, size_t capacity)
{
    return odi_limits_describe(&machine->limits, rounding_of(round_down), requested, text,
                               capacity);
}

bool od_machine_plan(const od_machine *machine, const char *policy, int32_t workers,
                     int32_t *nodes, int32_t *cpus, char *reason, size_t capacity)
{
    odi_placement wanted;

    if (!odi_placement_parse("placement", policy, &wanted, reason, capacity))
        return false;
    if (workers < 1 || workers > MOST_PLANNED) {
        if (reason != NULL && capacity > 0)
            snprintf(reason, capacity,
                     "%d workers were asked for, but 1 to %d can be planned", workers,
                     MOST_PLANNED);
        return false;
    }

    odi_plan *plan = odi_plan_make(machine->topology, &machine->limits, workers, wanted);
    if (plan == NULL) {
        if (reason != NULL && capacity > 0)
            snprintf(reason, capacity, "no memory for a plan of %d workers", workers);
        return false;
    }
    for (int32_t i = 0; i < workers; i++) {
        if (nodes != NULL)
            nodes[i] = plan->places[i].node;
        if (cpus != NULL)
            cpus[i] = plan->places[i].cpu;
    }
    if (reason != NULL && capacity > 0)
        snprintf(reason, capacity, "%s: %s", odi_placement_name(plan->policy),
                 plan->reason);
    odi_plan_free(plan);
    return true;
}
