/* discover.c — reads the machine's files into a description for odi_topology_build. */
#include "topology/topology.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)ODI_NODE_LIMIT <= (int)ODI_CPU_LIMIT,
               "sets of nodes are kept in CPU masks");

enum { UNKNOWN = -1, MOST_CACHES = 5, PAGE = 4096 };

static const char NODE[] = "node", CPU[] = "cpu";

/* The working memory of one discovery. */
typedef struct finder {
    const odi_source *source;
    odi_cpu_mask list; /* the current list */
    char text[PAGE];   /* the current file */
    int cpu_count, node_count;
    od_machine_node nodes[ODI_NODE_LIMIT];
    od_machine_cpu cpus[];
} finder;

/* Sets a field to `value` for every CPU of the current list whose field is unknown. `field` is an offset in
 * od_machine_cpu. */
static void assign(finder *find, size_t field, int value)
{
    for (int i = 0; i < find->cpu_count; i++) {
        int32_t *its = (void *)((char *)&find->cpus[i] + field);

        if (*its == UNKNOWN && odi_cpu_mask_has(&find->list, find->cpus[i].id))
            *its = value;
    }
}

/* Reads a file of the CPU or node with that number; returns "" if it cannot be read. */
static const char *read_text(finder *find, const char *kind, int id, const char *file)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/%s/%s%d/%s", kind, kind, id, file);
    if (odi_source_read(find->source, path, find->text, sizeof find->text) != 0)
        find->text[0] = '\0';
    return find->text;
}

static int read_number(finder *find, int cpu, const char *file)
{
    const char *text = read_text(find, CPU, cpu, file);
    char *end;
    long value = strtol(text, &end, 10);

    return end != text && value >= 0 && value <= INT32_MAX ? (int)value : UNKNOWN;
}

/* Reads the CPUs that share something with `cpu` into the current list. A list without that CPU is not
 * trusted. */
static void read_sharers(finder *find, int cpu, const char *file)
{
    if (!odi_cpu_mask_parse(read_text(find, CPU, cpu, file), &find->list) ||
        !odi_cpu_mask_has(&find->list, cpu)) {
        odi_cpu_mask_clear(&find->list);
        odi_cpu_mask_add(&find->list, cpu);
    }
}

static void find_nodes(finder *find, const odi_limits *limits)
{
    odi_cpu_mask nodes;

    (void)odi_source_read_list(find->source, "/sys/devices/system/node/online", &nodes);
    for (int id = odi_cpu_mask_next(&nodes, 0); id >= 0 && id < ODI_NODE_LIMIT;
         id = odi_cpu_mask_next(&nodes, id + 1)) {
        int node = find->node_count++;

        (void)odi_cpu_mask_parse(read_text(find, NODE, id, "cpulist"), &find->list);
        assign(find, offsetof(od_machine_cpu, node), node);
        find->nodes[node] = (od_machine_node){
            .id = id, .whole = odi_cpu_mask_covers(&limits->cpus, &find->list)};
    }
    if (find->node_count == 0)
        find->nodes[find->node_count++] = (od_machine_node){.whole = true};
    if (find->node_count == 1 && limits->online_count > limits->cpu_count)
        find->nodes[0].whole = false; /* even if no node lists its CPUs */
    for (int i = 0; i < find->cpu_count; i++)
        find->cpus[i].node = find->cpus[i].node == UNKNOWN ? 0 : find->cpus[i].node;
}

static void find_memory(finder *find, od_machine_node *node)
{
    static const char label[] = "MemTotal:";
    const char *total = strstr(read_text(find, NODE, node->id, "meminfo"), label);

    if (total != NULL)
        node->memory_bytes = strtoull(total + sizeof label - 1, NULL, 10) * 1024; /* the file has KiB */
}

/* Reads siblings once per core, because all siblings have the same list. */
static void find_core(finder *find, const od_machine_cpu *cpu)
{
    int package = read_number(find, cpu->id, "topology/physical_package_id");

    read_sharers(find, cpu->id, "topology/thread_siblings_list");
    assign(find, offsetof(od_machine_cpu, core), cpu->id);
    assign(find, offsetof(od_machine_cpu, package), package);
}

/* Reads each cache once. */
static void find_cache(finder *find, const od_machine_cpu *cpu)
{
    char file[64];

    for (int index = 0; index < MOST_CACHES; index++) {
        snprintf(file, sizeof file, "cache/index%d/level", index);
        if (read_number(find, cpu->id, file) == 3) {
            snprintf(file, sizeof file, "cache/index%d/shared_cpu_list", index);
            read_sharers(find, cpu->id, file);
            assign(find, offsetof(od_machine_cpu, l3), cpu->id);
            return;
        }
    }
}

static bool read_distances(finder *find, int id, uint8_t *row)
{
    const char *at = read_text(find, NODE, id, "distance");

    for (int to = 0; to < find->node_count; to++) {
        char *end;
        long number = strtol(at, &end, 10);

        if (number <= 0)
            return false;
        row[to] = (uint8_t)(number < 255 ? number : 255);
        at = end;
    }
    return at[strspn(at, " \n")] == '\0';
}

/* Returns NULL if an allocation fails; the distances are then 10 and 20. */
static uint8_t *find_distances(finder *find)
{
    size_t count = (size_t)find->node_count;
    uint8_t *table = malloc(count * count);

    for (size_t from = 0; table != NULL && from < count; from++) {
        uint8_t *row = table + from * count;

        if (!read_distances(find, find->nodes[from].id, row)) {
            memset(row, ODI_DISTANCE_REMOTE, count);
            row[from] = ODI_DISTANCE_LOCAL;
        }
    }
    return table;
}

odi_topology *odi_topology_discover(const odi_source *source, const odi_limits *limits,
                                    bool wanted)
{
    int known = odi_cpu_mask_count(&limits->cpus), count = 0;
    finder *find = malloc(sizeof *find + (size_t)(known > 0 ? known : 1) * sizeof find->cpus[0]);
    if (find == NULL)
        return NULL;

    find->source = source;
    find->node_count = 0;
    for (int id = odi_cpu_mask_next(&limits->cpus, 0); id >= 0 || count == 0;
         id = odi_cpu_mask_next(&limits->cpus, id + 1))
        find->cpus[count++] = (od_machine_cpu){.id = id >= 0 ? id : 0, .node = UNKNOWN,
                                               .core = UNKNOWN, .package = UNKNOWN, .l3 = UNKNOWN};
    find->cpu_count = count;
    find_nodes(find, limits);
    wanted = wanted || find->node_count > 1;
    for (int i = 0; i < find->node_count && wanted; i++)
        find_memory(find, &find->nodes[i]);
    for (int i = 0; i < count; i++) {
        const od_machine_cpu *cpu = &find->cpus[i];

        if (!wanted || known == 0)
            find->cpus[i].core = i;
        else if (cpu->core == UNKNOWN)
            find_core(find, cpu);
        if (wanted && known > 0 && cpu->l3 == UNKNOWN)
            find_cache(find, cpu);
    }

    uint8_t *distances = find->node_count > 1 ? find_distances(find) : NULL;
    odi_topology described = {.cpu_count = count, .cpus = find->cpus, .distances = distances,
                              .node_count = find->node_count, .nodes = find->nodes,
                              .live = source->live, .cpus_known = known > 0};
    odi_topology *topology = odi_topology_build(&described);
    free(distances);
    free(find);
    return topology;
}
