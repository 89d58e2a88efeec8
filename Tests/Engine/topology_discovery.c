/* What recorded machines look like, and machines that a test makes up. */
#include "Engine/topology_fixtures.h"
#include "Support/machines.h"
#include "Support/node_of.h"

#include "topology/topology.h"

static odi_topology *look_at(const char *machine)
{
    char *recording = fixture_load(machine);
    odi_source source = source_of(recording);
    odi_limits limits;

    odi_limits_read(&source, NULL, &limits);
    odi_topology *topology = odi_topology_discover(&source, &limits, true);
    free(recording);
    assert_non_null(topology);
    assert_int_equal(topology->cpu_count, limits.cpu_count);
    return topology;
}

/* What every picture promises, whatever it was made from. */
static void check_promises(const odi_topology *topology)
{
    int seen = 0, compute = 0, cores = 0;

    assert_true(topology->cpu_count >= 1 && topology->node_count >= 1);
    for (int n = 0; n < topology->node_count; n++) {
        const od_machine_node *node = &topology->nodes[n];
        bool met[ODI_NODE_LIMIT] = {false};
        odi_cpu_mask cpus;

        assert_int_equal(node->cpu_first, seen);
        odi_topology_node_cpus(topology, n, &cpus);
        assert_int_equal(odi_cpu_mask_count(&cpus), node->cpu_count);
        if (n > 0)
            assert_true(node->id > topology->nodes[n - 1].id);
        for (int i = node->cpu_first; i < node->cpu_first + node->cpu_count; i++) {
            assert_int_equal(topology->cpus[i].node, n);
            assert_true(odi_cpu_mask_has(&cpus, topology->cpus[i].id));
            assert_in_range(topology->cpus[i].core, 0, topology->core_count - 1);
        }
        seen += node->cpu_count;
        cores += node->core_count;
        compute += node->cpu_count > 0;
        assert_true(odi_topology_distance(topology, n, n) > 0);

        met[n] = true;
        for (int rank = 0, before = 0; n < 8 && rank < topology->node_count - 1; rank++) {
            int other = odi_topology_nearest(topology, n, met);

            assert_true(other >= 0 && !met[other]);
            met[other] = true;
            assert_true(odi_topology_distance(topology, n, other) >= before);
            before = odi_topology_distance(topology, n, other);
        }
        assert_true(n >= 8 || odi_topology_nearest(topology, n, met) == -1);
    }
    assert_int_equal(seen, topology->cpu_count);
    assert_int_equal(cores, topology->core_count);
    assert_int_equal(compute, topology->compute_nodes);
}

static int caches_of(const odi_topology *topology)
{
    int most = -1;

    for (int i = 0; i < topology->cpu_count; i++)
        most = topology->cpus[i].l3 > most ? topology->cpus[i].l3 : most;
    return most + 1;
}

/* The `rank`-th nearest other node. */
static int neighbour(const odi_topology *topology, int node, int rank)
{
    bool taken[ODI_NODE_LIMIT] = {false};
    int at = node;

    for (; rank >= 0; rank--) {
        taken[at] = true;
        at = odi_topology_nearest(topology, node, taken);
    }
    return at;
}

TEST(recorded_machines_have_the_shape_that_the_table_says)
{
    static const struct {
        const char *machine;
        int nodes, compute, cpus, cores, caches;
        const char *node_sizes; /* usable CPUs of each node; * where it is not whole */
    } shapes[] = {
        {"vm-plain", 1, 1, 2, 2, 1, "2"},
        {"taskset", 1, 1, 3, 3, 1, "3*"},
        {"kubernetes-v1", 1, 1, 16, 16, 1, "16"},
        {"missing-everything", 1, 1, 1, 1, 0, "1"},
        {"missing-sysfs", 1, 1, 6, 6, 0, "6"},
        {"empty-files", 1, 1, 1, 1, 0, "1"},
        {"truncated", 1, 1, 1, 1, 0, "1"},
        {"gvisor", 1, 1, 4, 4, 0, "4"},
        {"offline-cpus", 1, 1, 4, 4, 1, "4"},
        {"smt-pairs", 1, 1, 8, 4, 1, "8"},
        {"smt-partial", 1, 1, 3, 2, 1, "3*"},
        {"two-caches", 1, 1, 8, 8, 2, "8"},
        {"no-cache-files", 1, 1, 4, 4, 0, "4"},
        {"arm-clusters", 1, 1, 6, 6, 0, "6"},
        {"amd-l3-off-index", 1, 1, 4, 4, 2, "4"},
        {"four-nodes-ring", 4, 4, 64, 64, 4, "16 16 16 16"},
        {"two-nodes-smt", 2, 2, 16, 8, 2, "8 8"},
        {"two-nodes-half", 2, 2, 12, 6, 2, "4* 8"},
        {"uneven-nodes", 2, 2, 8, 8, 2, "6 2"},
        {"memory-only-node", 4, 2, 8, 8, 2, "4 4 0 0"},
        {"sub-numa-clusters", 2, 2, 8, 8, 2, "4 4"},
        {"high-cpu-ids", 2, 2, 12, 12, 2, "8 4"},
        {"cpu-ids-beyond", 1, 1, 2, 2, 1, "2"},
        {"distances-malformed", 3, 3, 6, 6, 3, "2 2 2"},
        {"nodes-unlisted", 1, 1, 4, 4, 2, "4"},
        {"contradictions", 2, 2, 8, 8, 2, "6 2"},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        odi_topology *topology = look_at(shapes[i].machine);
        char sizes[128] = "";
        size_t used = 0;

        for (int n = 0; n < topology->node_count; n++)
            used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%d%s",
                                     n > 0 ? " " : "", topology->nodes[n].cpu_count,
                                     topology->nodes[n].whole ? "" : "*");
        if (topology->node_count != shapes[i].nodes ||
            topology->compute_nodes != shapes[i].compute ||
            topology->cpu_count != shapes[i].cpus || topology->core_count != shapes[i].cores ||
            caches_of(topology) != shapes[i].caches || strcmp(sizes, shapes[i].node_sizes) != 0)
            fail_msg("%s: %d nodes (%d with CPUs), %d CPUs, %d cores, %d caches, sizes %s",
                     shapes[i].machine, topology->node_count, topology->compute_nodes,
                     topology->cpu_count, topology->core_count, caches_of(topology), sizes);
        check_promises(topology);
        odi_topology_free(topology);
    }
}

TEST(a_ring_orders_its_nodes_by_distance)
{
    static const int want[4][3] = {{1, 3, 2}, {2, 0, 3}, {3, 1, 0}, {0, 2, 1}};
    odi_topology *topology = look_at("four-nodes-ring");

    for (int node = 0; node < 4; node++) {
        for (int rank = 0; rank < 3; rank++)
            assert_int_equal(neighbour(topology, node, rank), want[node][rank]);
    }
    assert_int_equal(odi_topology_distance(topology, 0, 2), 22);
    assert_int_equal(topology->nodes[3].memory_bytes, UINT64_C(16) << 30);
    odi_topology_free(topology);
}

TEST(memory_only_nodes_are_there_and_have_no_cpus)
{
    odi_topology *topology = look_at("memory-only-node");

    assert_int_equal(topology->nodes[2].id, 4);
    assert_int_equal(topology->nodes[3].id, 7);
    assert_int_equal(neighbour(topology, 0, 0), 2);
    assert_int_equal(neighbour(topology, 1, 0), 3);
    assert_true(topology->nodes[2].whole);
    odi_topology_free(topology);
}

TEST(malformed_distances_become_ten_and_twenty)
{
    odi_topology *topology = look_at("distances-malformed");

    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++)
            assert_int_equal(odi_topology_distance(topology, from, to), from == to ? 10 : 20);
    }
    odi_topology_free(topology);
}

TEST(siblings_share_a_core_and_stand_together)
{
    odi_topology *topology = look_at("smt-pairs");

    for (int i = 0; i < 8; i++) {
        const od_machine_cpu *cpu = &topology->cpus[i];

        assert_int_equal(cpu->core, i / 2);
        assert_int_equal(cpu->thread, i % 2);
        assert_int_equal(cpu->id, i / 2 + 4 * (i % 2));
        assert_int_equal(cpu->package, 0);
    }
    odi_topology_free(topology);
}

/* Which CPU it shares a core with instead is not believed either. */
TEST(a_list_of_siblings_that_leaves_its_cpu_out_is_not_believed)
{
    odi_source source = source_of("== /sys/devices/system/cpu/cpu0/topology/thread_siblings_list\n1-2\n"
                                  "== /sys/devices/system/cpu/cpu1/topology/thread_siblings_list\n1\n"
                                  "== /sys/devices/system/cpu/cpu2/topology/thread_siblings_list\n2\n"
                                  "== /sys/devices/system/cpu/cpu2/topology/physical_package_id\n4294967296\n");
    odi_cpu_mask three;
    odi_limits limits;

    odi_cpu_mask_clear(&three);
    for (int cpu = 0; cpu < 3; cpu++)
        odi_cpu_mask_add(&three, cpu);
    limits_of(&three, &limits);
    odi_topology *topology = odi_topology_discover(&source, &limits, true);
    assert_non_null(topology);
    assert_int_equal(topology->core_count, 3);
    assert_int_equal(topology->cpus[2].package, -1); /* nor is a number that is none of theirs */
    odi_topology_free(topology);
}

TEST(high_ids_keep_their_numbers)
{
    odi_topology *topology = look_at("high-cpu-ids");

    assert_int_equal(topology->cpus[0].id, 1536);
    assert_int_equal(topology->cpus[11].id, 2051);
    assert_int_equal(topology->nodes[1].id, 5);
    assert_int_equal(topology->cpus[11].node, 1);
    assert_int_equal(odi_topology_distance(topology, 0, 1), 40);
    odi_topology_free(topology);
}

TEST(an_unknown_machine_pins_nothing)
{
    odi_topology *topology = look_at("missing-everything");

    assert_false(topology->cpus_known);
    assert_false(topology->live);
    odi_topology_free(topology);
    topology = look_at("taskset");
    assert_true(topology->cpus_known);
    odi_topology_free(topology);
}

/* Whatever the order in which they are described: by cache, then core, then number. */
TEST(cpus_stand_by_cache_core_and_number)
{
    od_machine_cpu cpus[] = {{.id = 7, .core = 1, .l3 = 0}, {.id = 6, .core = 2, .l3 = 4}, {.id = 5, .core = 3, .l3 = 0},
                             {.id = 4, .core = 1, .l3 = 0}};
    static const int ids[] = {4, 7, 5, 6}, threads[] = {0, 1, 0, 0}, caches[] = {0, 0, 0, 1};
    odi_topology spec = {.cpu_count = 4, .cpus = cpus, .node_count = 1}, *topology = odi_topology_build(&spec);

    assert_non_null(topology);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(topology->cpus[i].id, ids[i]);
        assert_int_equal(topology->cpus[i].thread, threads[i]);
        assert_int_equal(topology->cpus[i].l3, caches[i]);
    }
    odi_topology_free(topology);
}

TEST(made_up_machines_have_the_shape_asked_for)
{
    odi_topology *topology = machine_of(4, 16, 2);

    assert_non_null(topology);
    check_promises(topology);
    assert_int_equal(topology->node_count, 4);
    assert_int_equal(topology->cpu_count, 128);
    assert_int_equal(topology->core_count, 64);
    assert_int_equal(topology->nodes[1].cpu_count, 32);
    assert_int_equal(topology->cpus[0].id, 0);
    assert_int_equal(topology->cpus[1].id, 64);
    assert_false(topology->live);
    assert_int_equal(neighbour(topology, 2, 0), 3);
    assert_int_equal(neighbour(topology, 3, 0), 0);
    odi_topology_free(topology);

    topology = machine_of(1024, 8, 1);
    assert_non_null(topology);
    odi_topology_free(topology);
    odi_topology_free(NULL);
}

static int caches_read;

static FILE *open_counting_caches(const odi_source *source, const char *path)
{
    caches_read += strstr(path, "/cache/") != NULL;
    return open_recorded(source, path);
}

TEST(only_what_is_wanted_is_read_of_one_node)
{
    char *recording = fixture_load("smt-pairs");
    odi_source source = source_of(recording);
    odi_limits limits;

    source.open = open_counting_caches;
    odi_limits_read(&source, NULL, &limits);
    odi_topology *topology = odi_topology_discover(&source, &limits, false);
    limits.online_count = limits.cpu_count + 1; /* one that no node lists */
    odi_topology *part = odi_topology_discover(&source, &limits, false);
    free(recording);
    assert_false(part->nodes[0].whole);
    odi_topology_free(part);
    check_promises(topology);
    assert_int_equal(topology->cpu_count, 8);
    assert_int_equal(topology->core_count, 8);
    assert_int_equal(topology->nodes[0].memory_bytes, 0);
    assert_true(topology->nodes[0].whole && topology->cpus_known);
    assert_int_equal(caches_read, 0);
    odi_topology_free(topology);
}

/* Every list names every node and every CPU: the worst that a tree of files can do. */
static FILE *open_everything(const odi_source *source, const char *path)
{
    return fmemopen("0-8191", 6, "r");
}

TEST(the_largest_machine_that_files_can_claim_is_bounded)
{
    odi_source source = {.open = open_everything, .root = ""};
    odi_limits limits;
    odi_cpu_mask all;

    memset(&all, 0xff, sizeof all);
    limits_of(&all, &limits);
    odi_topology *topology = odi_topology_discover(&source, &limits, true);
    assert_non_null(topology);
    assert_int_equal(topology->node_count, ODI_NODE_LIMIT);
    assert_int_equal(topology->cpu_count, ODI_CPU_LIMIT);
    check_promises(topology);
    odi_topology_free(topology);
}

TEST(this_machine_is_what_libnuma_says)
{
    odi_source source = odi_source_live();
    odi_limits limits;

    odi_limits_read(&source, NULL, &limits);
    odi_topology *topology = odi_topology_discover(&source, &limits, true);
    assert_non_null(topology);
    check_promises(topology);
    assert_true(topology->live);
    assert_true(topology->cpus_known);
    for (int n = 0; n < topology->node_count && numa_available() >= 0; n++) {
        odi_cpu_mask cpus, seen;

        assert_true(cpus_on_node(topology->nodes[n].id, &cpus));
        odi_topology_node_cpus(topology, n, &seen);
        assert_true(odi_cpu_mask_covers(&cpus, &seen));
        for (int to = 0; to < topology->node_count; to++)
            assert_int_equal(odi_topology_distance(topology, n, to),
                             numa_distance(topology->nodes[n].id, topology->nodes[to].id));
    }
    odi_topology_free(topology);
}

TEST_PROGRAM
