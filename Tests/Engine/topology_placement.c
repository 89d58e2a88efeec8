/* Which worker lives where, on machines that a test makes up. */
#include "Engine/topology_fixtures.h"
#include "Support/machines.h"

#include "topology/placement.h"

/* A machine that claims to be the one we run on, so that plans have masks. */
typedef struct scene {
    odi_topology *topology;
    odi_limits limits;
} scene;

static scene scene_from(const od_machine_cpu *cpus, int count, int nodes, const uint8_t *distances,
                        const bool *partial)
{
    od_machine_node described[ODI_NODE_LIMIT];
    odi_topology spec = {.cpu_count = count, .cpus = cpus, .node_count = nodes,
                              .nodes = described, .distances = distances, .live = true,
                              .cpus_known = true};

    for (int i = 0; i < nodes; i++)
        described[i] = (od_machine_node){.id = i, .whole = partial == NULL || !partial[i]};
    odi_cpu_mask all;
    scene made = {.topology = odi_topology_build(&spec)};

    assert_non_null(made.topology);
    odi_cpu_mask_clear(&all);
    for (int i = 0; i < count; i++)
        odi_cpu_mask_add(&all, cpus[i].id);
    limits_of(&all, &made.limits);
    return made;
}

/* nodes x cores x 2 hardware threads, or x 1. */
static scene scene_of(int nodes, int cores, int threads)
{
    odi_topology *shape = machine_of(nodes, cores, threads);
    scene made = scene_from(shape->cpus, shape->cpu_count, nodes, NULL, NULL);

    odi_topology_free(shape);
    return made;
}

static odi_plan *plan_for(const scene *scene, int workers, od_placement policy)
{
    odi_plan *plan = odi_plan_make(scene->topology, &scene->limits, workers, policy);

    assert_non_null(plan);
    assert_int_equal(plan->worker_count, workers);
    assert_int_not_equal(plan->policy, OD_PLACEMENT_AUTOMATIC);
    assert_non_null(plan->reason);
    return plan;
}

/* How many workers each node has, as text: "4 4 0 0". Neighbours share a node. */
static const char *spread(const odi_plan *plan)
{
    static char text[256];
    int counts[ODI_NODE_LIMIT] = {0};
    size_t used = 0;
    int changes = 0, assigned = 0;

    for (int i = 0; i < plan->worker_count; i++) {
        counts[plan->places[i].node]++;
        if (i > 0 && plan->places[i].node != plan->places[i - 1].node)
            changes++;
    }
    for (int n = 0; n < plan->topology->node_count; n++) {
        assigned += counts[n] > 0;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", n > 0 ? " " : "",
                                 counts[n]);
    }
    assert_int_equal(changes, assigned - 1);
    return text;
}

static void check_spread(const scene *scene, int workers, const char *want)
{
    odi_plan *plan = plan_for(scene, workers, OD_PLACEMENT_CORE);
    const char *got = spread(plan);
    odi_cpu_mask used;
    int own = 0;

    if (strcmp(got, want) != 0)
        fail_msg("%d workers: %s, expected %s", workers, got, want);

    /* Nobody shares a CPU, and no core has two workers while another has none. */
    odi_cpu_mask_clear(&used);
    for (int i = 0; i < workers; i++) {
        int cpu = plan->places[i].cpu;

        if (cpu < 0)
            continue;
        assert_false(odi_cpu_mask_has(&used, cpu));
        odi_cpu_mask_add(&used, cpu);
        own++;
        int index = 0;
        while (scene->topology->cpus[index].id != cpu)
            index++;
        assert_int_equal(scene->topology->cpus[index].node, plan->places[i].node);
        if (workers <= scene->topology->core_count)
            assert_int_equal(scene->topology->cpus[index].thread, 0);
    }
    int cpus = scene->topology->cpu_count;
    assert_int_equal(own, workers < cpus ? workers : cpus);
    odi_plan_free(plan);
}

TEST(workers_fill_cores_of_few_nodes_then_threads_then_share)
{
    scene scene = scene_of(4, 4, 2);

    check_spread(&scene, 1, "1 0 0 0");
    check_spread(&scene, 3, "3 0 0 0");
    check_spread(&scene, 4, "4 0 0 0");
    check_spread(&scene, 5, "3 2 0 0");
    check_spread(&scene, 8, "4 4 0 0");
    check_spread(&scene, 9, "3 3 3 0");
    check_spread(&scene, 16, "4 4 4 4");
    check_spread(&scene, 17, "5 4 4 4");
    check_spread(&scene, 32, "8 8 8 8");
    check_spread(&scene, 40, "10 10 10 10");
    odi_topology_free(scene.topology);
}

TEST(uneven_nodes_get_workers_in_proportion)
{
    od_machine_cpu cpus[8] = {{0}};

    for (int i = 0; i < 8; i++)
        cpus[i] = (od_machine_cpu){.id = i, .core = i, .node = i < 6 ? 0 : 2, .l3 = -1};
    scene scene = scene_from(cpus, 8, 3, NULL, NULL);

    check_spread(&scene, 6, "6 0 0");
    check_spread(&scene, 7, "6 0 1");
    check_spread(&scene, 8, "6 0 2");
    check_spread(&scene, 16, "12 0 4");
    odi_topology_free(scene.topology);
}

TEST(nodes_follow_each_other_by_distance)
{
    /* 0 is near 2, 2 is near 3, and 1 is far from all. */
    static const uint8_t distances[16] = {10, 40, 12, 30, 40, 10, 40, 40,
                                          12, 40, 10, 12, 30, 40, 12, 10};
    od_machine_cpu cpus[4];
    static const int want[4] = {0, 2, 3, 1};

    for (int i = 0; i < 4; i++)
        cpus[i] = (od_machine_cpu){.id = i, .core = i, .node = i, .l3 = -1};
    scene scene = scene_from(cpus, 4, 4, distances, NULL);
    odi_plan *plan = plan_for(&scene, 4, OD_PLACEMENT_NODE);

    for (int i = 0; i < 4; i++)
        assert_int_equal(plan->places[i].node, want[i]);
    odi_plan_free(plan);
    odi_topology_free(scene.topology);
}

TEST(masks_follow_the_policy)
{
    scene scene = scene_of(2, 2, 2);
    odi_cpu_mask mask, node;

    odi_plan *plan = plan_for(&scene, 4, OD_PLACEMENT_NONE);
    assert_false(plan->pins);
    assert_false(odi_plan_mask(plan, 0, &mask));
    assert_int_equal(odi_cpu_mask_count(&mask), 0);
    odi_plan_free(plan);

    plan = plan_for(&scene, 4, OD_PLACEMENT_NODE);
    assert_true(odi_plan_mask(plan, 3, &mask));
    odi_topology_node_cpus(scene.topology, 1, &node);
    assert_true(odi_cpu_mask_equal(&mask, &node));
    assert_int_equal(plan->places[3].cpu, -1);
    odi_plan_free(plan);

    plan = plan_for(&scene, 4, OD_PLACEMENT_CORE);
    for (int i = 0; i < 4; i++) {
        assert_true(odi_plan_mask(plan, i, &mask));
        assert_int_equal(odi_cpu_mask_count(&mask), 1);
        assert_true(odi_cpu_mask_has(&mask, plan->places[i].cpu));
    }
    /* A spare worker has a home, and no CPU of its own. */
    assert_int_equal(odi_plan_place(plan, 6).node, plan->places[2].node);
    assert_int_equal(odi_plan_place(plan, 6).cpu, -1);
    assert_int_equal(odi_plan_place(plan, plan->worker_count).cpu, -1);
    assert_true(odi_plan_mask(plan, 6, &mask));
    assert_int_equal(odi_cpu_mask_count(&mask), 4);
    odi_plan_free(plan);

    scene.topology->cpus_known = false; /* whose CPUs are a guess */
    plan = plan_for(&scene, 4, OD_PLACEMENT_CORE);
    assert_false(plan->pins);
    odi_plan_free(plan);
    odi_topology_free(scene.topology);
}

static void check_automatic(const scene *scene, int workers, od_placement want, const char *because)
{
    odi_plan *plan = plan_for(scene, workers, OD_PLACEMENT_AUTOMATIC);

    assert_int_equal(plan->policy, want);
    assert_non_null(strstr(plan->reason, because));
    assert_int_equal(plan->pins, want == OD_PLACEMENT_NODE);
    odi_plan_free(plan);
}

TEST(automatic_pins_only_where_it_helps_and_harms_nobody)
{
    bool partial[] = {false, true}, foreign[] = {false, false, true};

    scene two = scene_of(2, 4, 2);
    check_automatic(&two, 16, OD_PLACEMENT_NODE, "owns whole nodes");
    check_automatic(&two, 8, OD_PLACEMENT_NODE, "owns whole nodes");
    check_automatic(&two, 7, OD_PLACEMENT_NONE, "fewer workers than cores");
    two.limits.quota_us = two.limits.period_us = 100000;
    check_automatic(&two, 8, OD_PLACEMENT_NONE, "quota");

    scene shared = scene_from(two.topology->cpus, 16, 2, NULL, partial);
    check_automatic(&shared, 16, OD_PLACEMENT_NONE, "partly");

    scene beside = scene_from(two.topology->cpus, 16, 3, NULL, foreign); /* a node that others have is none of ours */
    check_automatic(&beside, 16, OD_PLACEMENT_NODE, "owns whole nodes");
    odi_topology_free(beside.topology);

    scene one = scene_of(1, 4, 2);
    check_automatic(&one, 8, OD_PLACEMENT_NONE, "one node");
    odi_topology_free(one.topology);
    odi_topology_free(shared.topology);
    odi_topology_free(two.topology);
}

TEST(plans_for_other_machines_pin_nothing)
{
    odi_topology *other = machine_of(2, 4, 1);
    odi_limits limits;
    odi_cpu_mask mask;

    odi_topology_node_cpus(other, 0, &mask);
    limits_of(&mask, &limits);
    odi_plan *plan = odi_plan_make(other, &limits, 8, OD_PLACEMENT_NODE);
    assert_non_null(plan);
    assert_int_equal(plan->policy, OD_PLACEMENT_NODE);
    assert_false(plan->pins);
    assert_false(odi_plan_mask(plan, 0, &mask));
    odi_plan_free(plan);
    plan = odi_plan_make(other, &limits, -3, OD_PLACEMENT_NODE);
    assert_non_null(plan);
    assert_int_equal(plan->worker_count, 1);
    odi_plan_free(plan);
    odi_plan_free(NULL);
    odi_topology_free(other);
}

TEST(policies_are_read_by_name)
{
    od_placement policy = OD_PLACEMENT_CORE;
    char problem[128];

    for (od_placement each = OD_PLACEMENT_NONE; each <= OD_PLACEMENT_AUTOMATIC; each++) {
        assert_true(odi_placement_parse("P", odi_placement_name(each), &policy, NULL, 0));
        assert_int_equal(policy, each);
    }
    assert_false(odi_placement_parse("P", "Node", &policy, problem, sizeof problem));
    assert_string_equal(problem, "P: invalid value (\"Node\"). Choose none, node, core or automatic.");
    assert_string_equal(odi_placement_name((od_placement)99), "unknown");
}

/* Sums and bounds for every number of workers on machines of every small shape. */
TEST(every_small_machine_is_planned_completely)
{
    for (int nodes = 1; nodes <= 3; nodes++) {
        for (int cores = 1; cores <= 4; cores++) {
            for (int threads = 1; threads <= 2; threads++) {
                scene scene = scene_of(nodes, cores, threads);

                for (int workers = 1; workers <= 2 * nodes * cores * threads + 1; workers++) {
                    odi_plan *plan = plan_for(&scene, workers, OD_PLACEMENT_CORE);

                    spread(plan);
                    odi_plan_free(plan);
                }
                odi_topology_free(scene.topology);
            }
        }
    }
}

TEST_PROGRAM
