/* discover.c — from files and libnuma to what odi_topology_build accepts. */
#include "topology/topology.h"

#include "topology/cpu_list.h"
#include "topology/node_files.h"
#include "topology/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)ODI_NODE_LIMIT <= (int)ODI_CPU_LIMIT,
               "sets of nodes are kept in CPU masks");

enum { NOBODY = -1, MOST_CACHES = 10, PATH_ROOM = 128 };

/* What one discovery works in. Arrays over CPUs are indexed by the kernel's number. */
typedef struct finder {
    const odi_source *source;
    const odi_limits *limits;
    bool ask_numa;               /* libnuma answers for this machine */
    bool caches_told;            /* false once a CPU has no cache directory */
    char text[24 * 1024];        /* the file at hand */
    odi_cpu_mask list;           /* the list at hand */
    odi_cpu_mask node_set;       /* ids of the nodes that exist */
    int node_of[ODI_CPU_LIMIT];  /* index of the node, NOBODY */
    int core_of[ODI_CPU_LIMIT];  /* lowest-numbered sibling that was met, NOBODY */
    int cache_of[ODI_CPU_LIMIT]; /* first sharer of the L3 that was met, NOBODY */
    int package_of[ODI_CPU_LIMIT];
    int node_ids[ODI_NODE_LIMIT];
    uint64_t node_bytes[ODI_NODE_LIMIT];
    bool node_partial[ODI_NODE_LIMIT];
    int node_count;
    odi_cpu cpus[];              /* one for each usable CPU */
} finder;

static odi_text read_text(finder *find, const char *path)
{
    size_t length;
    odi_read_status status =
        find->source->read(find->source, path, find->text, sizeof find->text, &length);

    return odi_text_of(find->text, status == ODI_READ_OK ? length : 0);
}

/* Reads a list into find->list; false when there is none or it is empty. */
static bool read_list(finder *find, const char *path)
{
    odi_text text = read_text(find, path);

    odi_cpu_list_parse(text.at, odi_text_length(text), &find->list);
    return odi_cpu_mask_next(&find->list, 0) >= 0;
}

/* "node12" -> 12. For trees whose list of nodes is missing. */
static bool visit_node(void *context, const char *name)
{
    finder *find = context;
    odi_text rest = odi_text_of(name, strlen(name));
    uint64_t number;

    if (odi_text_starts(rest, "node")) {
        rest.at += 4;
        if (odi_text_number(&rest, &number) && rest.at == rest.end &&
            number < ODI_NODE_LIMIT)
            odi_cpu_mask_add(&find->node_set, (int)number);
    }
    return true;
}

static void find_node_set(finder *find)
{
    odi_cpu_mask_clear(&find->node_set);
    if (find->ask_numa) {
        for (int node = 0; node <= odi_numa_highest_node(); node++) {
            if (odi_numa_node_cpus(node, &find->list) == 0)
                odi_cpu_mask_add(&find->node_set, node);
        }
    }
    if (odi_cpu_mask_next(&find->node_set, 0) < 0 &&
        read_list(find, "/sys/devices/system/node/online"))
        find->node_set = find->list;
    if (odi_cpu_mask_next(&find->node_set, 0) < 0)
        find->source->list(find->source, "/sys/devices/system/node", visit_node, find);
    if (odi_cpu_mask_next(&find->node_set, 0) < 0)
        odi_cpu_mask_add(&find->node_set, 0);
}

/* The online CPUs of one node into find->list. */
static void read_node_cpus(finder *find, int node)
{
    char path[PATH_ROOM];

    if (find->ask_numa && odi_numa_node_cpus(node, &find->list) == 0)
        return;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    read_list(find, path);
}

static void find_nodes(finder *find)
{
    char path[PATH_ROOM];

    find_node_set(find);
    for (int id = odi_cpu_mask_next(&find->node_set, 0); id >= 0 && id < ODI_NODE_LIMIT;
         id = odi_cpu_mask_next(&find->node_set, id + 1)) {
        int node = find->node_count++;

        find->node_ids[node] = id;
        read_node_cpus(find, id);
        for (int cpu = odi_cpu_mask_next(&find->list, 0); cpu >= 0;
             cpu = odi_cpu_mask_next(&find->list, cpu + 1)) {
            if (find->node_of[cpu] == NOBODY)
                find->node_of[cpu] = node;
        }
        find->node_partial[node] = !odi_cpu_mask_covers(&find->limits->cpus, &find->list);

        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", id);
        odi_text meminfo = read_text(find, path);
        find->node_bytes[node] =
            odi_node_memory_parse(meminfo.at, odi_text_length(meminfo));
    }
    if (find->node_count == 0) { /* a list with numbers that no node can have */
        find->node_ids[0] = 0;
        find->node_count = 1;
    }
}

/* Writes `value` for every CPU of find->list that has none yet, and for `cpu` at least. A
 * list that leaves out the CPU it was read for is not believed. */
static void assign(finder *find, int *values, int cpu, int value, bool listed)
{
    if (listed && odi_cpu_mask_has(&find->list, cpu)) {
        for (int other = odi_cpu_mask_next(&find->list, 0); other >= 0;
             other = odi_cpu_mask_next(&find->list, other + 1)) {
            if (values[other] == NOBODY)
                values[other] = value;
        }
    }
    values[cpu] = value;
}

/* Siblings are read once per core: what one of them says holds for all. */
static void find_core(finder *find, int cpu)
{
    char path[PATH_ROOM];
    bool listed;
    uint64_t package;

    if (find->core_of[cpu] != NOBODY)
        return;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    odi_text text = odi_text_trim(read_text(find, path));
    bool numbered = odi_text_number(&text, &package) && package <= INT32_MAX;

    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu);
    listed = read_list(find, path);
    if (!listed) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        listed = read_list(find, path);
    }
    assign(find, find->core_of, cpu, cpu, listed);
    if (numbered)
        assign(find, find->package_of, cpu, (int)package, listed);
}

/* Read once per cache. Level 3 is nearly always index 3, so that is asked first. */
static void find_cache(finder *find, int cpu)
{
    char path[PATH_ROOM];

    if (find->cache_of[cpu] != NOBODY || !find->caches_told)
        return;
    for (int step = 0; step < MOST_CACHES; step++) {
        int index = step == 0 ? 3 : step <= 3 ? step - 1 : step;

        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, index);
        odi_text level = odi_text_trim(read_text(find, path));
        if (level.at == level.end && step > 0) {
            find->caches_told = step > 1;
            return;
        }
        if (!odi_text_equals(level, "3"))
            continue;
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
        assign(find, find->cache_of, cpu, cpu, read_list(find, path));
        return;
    }
}

static uint8_t *find_distances(finder *find)
{
    size_t count = (size_t)find->node_count;
    uint8_t *table = malloc(count * count);

    for (size_t from = 0; table != NULL && from < count; from++) {
        uint8_t *row = table + from * count;
        char path[PATH_ROOM];
        bool known = false;

        if (find->ask_numa) {
            known = true;
            for (size_t to = 0; to < count; to++) {
                int distance = odi_numa_distance(find->node_ids[from], find->node_ids[to]);

                row[to] = (uint8_t)(distance < 255 ? distance : 255);
                known = known && distance > 0;
            }
        }
        if (!known) {
            snprintf(path, sizeof path, "/sys/devices/system/node/node%d/distance",
                     find->node_ids[from]);
            odi_text text = read_text(find, path);
            known = odi_distance_row_parse(text.at, odi_text_length(text), row,
                                           find->node_count) == find->node_count;
        }
        if (!known) {
            memset(row, ODI_DISTANCE_REMOTE, count);
            row[from] = ODI_DISTANCE_LOCAL;
        }
    }
    return table;
}

static int find_cpus(finder *find)
{
    int count = 0;

    find->caches_told = true;
    for (int id = odi_cpu_mask_next(&find->limits->cpus, 0); id >= 0;
         id = odi_cpu_mask_next(&find->limits->cpus, id + 1)) {
        odi_cpu *cpu = &find->cpus[count++];

        find_core(find, id);
        find_cache(find, id);
        cpu->id = id;
        cpu->node = find->node_of[id];
        cpu->core = find->core_of[id];
        cpu->package = find->package_of[id];
        cpu->l3 = find->cache_of[id];
        if (cpu->node == NOBODY)
            cpu->node = 0;
    }
    return count;
}

odi_topology *odi_topology_discover(const odi_source *source, const odi_limits *limits)
{
    int count = odi_cpu_mask_count(&limits->cpus);
    bool known = count > 0;
    odi_topology *topology = NULL;

    if (!known)
        count = 1;

    finder *find = malloc(sizeof *find + (size_t)count * sizeof find->cpus[0]);
    if (find == NULL)
        return NULL;
    find->source = source;
    find->limits = limits;
    find->ask_numa = source->live && odi_numa_available();
    find->node_count = 0;
    memset(find->node_of, 0xff, sizeof find->node_of); /* NOBODY in every place */
    memset(find->core_of, 0xff, sizeof find->core_of);
    memset(find->cache_of, 0xff, sizeof find->cache_of);
    memset(find->package_of, 0xff, sizeof find->package_of);
    memset(find->node_partial, 0, sizeof find->node_partial);
    memset(find->node_bytes, 0, sizeof find->node_bytes);

    find_nodes(find);
    if (find_cpus(find) == 0)
        find->cpus[0] = (odi_cpu){.core = 0, .l3 = NOBODY, .package = NOBODY};
    if (find->node_count == 1 && limits->online_count > limits->cpu_count)
        find->node_partial[0] = true; /* also where no node lists its CPUs */

    uint8_t *distances = find_distances(find);
    if (distances != NULL) {
        odi_topology_spec spec = {
            .cpu_count = count,
            .cpus = find->cpus,
            .node_count = find->node_count,
            .node_ids = find->node_ids,
            .node_bytes = find->node_bytes,
            .node_partial = find->node_partial,
            .distances = distances,
            .live = source->live,
            .cpus_known = known,
        };
        topology = odi_topology_build(&spec);
    }
    free(distances);
    free(find);
    return topology;
}
