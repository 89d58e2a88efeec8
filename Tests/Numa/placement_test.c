/* Placement on a machine with several NUMA nodes: who runs where, whose memory lies where,
 * and who takes work from whom. Meant for the machines that Tests/Numa/run builds. */
#include <stdatomic.h>

#include "Numa/nodes.h"
#include "Support/idle_token.h"

#define NEEDS_NODES(n)                                                                    \
    do {                                                                                  \
        if (built.compute_nodes < (n))                                                    \
            skip();                                                                       \
    } while (0)

/* ---- the picture ---- */

TEST(the_machine_is_seen_as_it_was_built)
{
    od_pool *pool = pool_placed(OD_PLACEMENT_AUTOMATIC, 0);
    const odi_topology *seen = pool->topology;

    assert_int_equal(od_pool_workers(pool), built.cpus);
    assert_int_equal(seen->node_count, built.nodes);
    assert_int_equal(seen->cpu_count, built.cpus);
    assert_int_equal(seen->compute_nodes, built.compute_nodes);
    for (int node = 0; node < built.nodes; node++) {
        assert_int_equal(seen->nodes[node].cpu_count, built.cpus_of[node]);
        assert_true(seen->nodes[node].memory_bytes > 0 || built.nodes == 1);
        for (int to = 0; to < built.nodes; to++)
            assert_int_equal(odi_topology_distance(seen, node, to), built.distance[node][to]);
        bool taken[MOST_NODES] = {false};
        for (int near = node, before = 0; near >= 0; near = odi_topology_nearest(seen, node, taken)) {
            taken[near] = true;
            assert_true(built.distance[node][near] >= before);
            before = built.distance[node][near];
        }
    }
    od_pool_free(pool);
}

/* ---- where workers run ---- */

typedef struct {
    odi_cpu_mask masks[MOST_CPUS]; /* by slot */
    int cpus[MOST_CPUS], nodes[MOST_CPUS];
} whereabouts;

static void note_whereabouts(hold *it, odi_worker *worker)
{
    whereabouts *notes = it->argument;
    int slot = worker->slot;

    (void)odi_affinity_get(0, &notes->masks[slot]);
    notes->cpus[slot] = od_thread_cpu();
    notes->nodes[slot] = odi_affinity_node();
}

static void check_whereabouts(od_pool *pool, bool by_core)
{
    static hold everybody;
    static whereabouts notes;
    odi_cpu_mask used, expected;
    int at_home[MOST_NODES] = {0};

    odi_cpu_mask_clear(&used);
    hold_all(&everybody, pool, note_whereabouts, &notes);
    for (int slot = 0; slot < everybody.count; slot++) {
        odi_worker *worker = worker_at(pool, slot);

        assert_non_null(worker);
        assert_int_equal(notes.nodes[slot], home_of(worker));
        assert_true(cpus_on_node(home_of(worker), &expected));
        assert_true(odi_cpu_mask_has(&expected, notes.cpus[slot]));
        if (by_core) {
            odi_cpu_mask_clear(&expected);
            odi_cpu_mask_add(&expected, notes.cpus[slot]);
            assert_false(odi_cpu_mask_has(&used, notes.cpus[slot]));
            odi_cpu_mask_add(&used, notes.cpus[slot]);
        }
        assert_true(odi_cpu_mask_equal(&notes.masks[slot], &expected));
        at_home[home_of(worker)]++;
    }
    for (int node = 0; node < built.nodes; node++)
        assert_int_equal(at_home[node], built.cpus_of[node]);
    assert_int_equal(metrics_of(pool).warnings, 0);
    hold_release_all(&everybody);
    od_pool_free(pool);
}

TEST(placed_by_core_each_worker_has_a_cpu_of_its_own)
{
    check_whereabouts(pool_placed(OD_PLACEMENT_CORE, 0), true);
}

TEST(placed_by_node_each_worker_has_its_node)
{
    check_whereabouts(pool_placed(OD_PLACEMENT_NODE, 0), false);
}

TEST(automatic_means_node_where_the_nodes_are_ours)
{
    od_pool *pool = pool_placed(OD_PLACEMENT_AUTOMATIC, 0);

    if (built.compute_nodes < 2) {
        assert_int_equal(pool->team.plan->policy, OD_PLACEMENT_NONE);
        assert_false(pool->team.plan->pins);
        od_pool_free(pool);
        return;
    }
    assert_int_equal(pool->team.plan->policy, OD_PLACEMENT_NODE);
    check_whereabouts(pool, false);
}

/* A part of the machine, as `taskset` would give it. */
TEST(only_what_the_affinity_mask_leaves_is_used)
{
    static hold everybody;
    static whereabouts notes;
    odi_cpu_mask before, part, node;

    NEEDS_NODES(2);
    assert_int_equal(odi_affinity_get(0, &before), 0);
    odi_cpu_mask_clear(&part);
    for (int i = 0; i < built.compute_nodes; i++) {
        assert_true(cpus_on_node(built.home_nodes[i], &node));
        odi_cpu_mask_add(&part, odi_cpu_mask_next(&node, 0));
    }
    assert_int_equal(odi_affinity_set(&part), 0);
    od_pool *pool = pool_placed(OD_PLACEMENT_AUTOMATIC, 0);
    od_pool *placed = pool_placed(OD_PLACEMENT_CORE, 0);
    assert_int_equal(odi_affinity_set(&before), 0);

    assert_int_equal(od_pool_workers(placed), built.compute_nodes);
    hold_all(&everybody, placed, note_whereabouts, &notes);
    for (int slot = 0; slot < everybody.count; slot++) {
        assert_int_equal(odi_cpu_mask_count(&notes.masks[slot]), 1);
        assert_true(odi_cpu_mask_covers(&part, &notes.masks[slot]));
        assert_int_equal(notes.nodes[slot], home_of(worker_at(placed, slot)));
    }
    hold_release_all(&everybody);
    assert_false(pool->team.plan->pins || built.cpus == built.compute_nodes);
    od_pool_free(placed);
    od_pool_free(pool);
}

/* ---- where memory lies ---- */

enum { DEEP = 256 * 1024, SMALL_PUSHES = 8, LARGE_PUSHES = 5000, INTO_THE_RING = 40000 };

/* What a worker found of its own memory, by node. */
typedef struct {
    int worker, small_ring, ring, ring_later, stack_now, stack_deep, thread_local_word;
} pages_of;

static _Thread_local volatile char thread_local_word;
static atomic_ullong children_ran;

__attribute__((noinline)) static int node_of_deep_stack(void)
{
    volatile char deep[DEEP];

    for (size_t i = 0; i < sizeof deep; i += 1024)
        deep[i] = (char)i;
    return node_of((const void *)(uintptr_t)&deep[0]);
}

static const char *default_ring(odi_worker *worker)
{
    return (const char *)odi_load_relaxed(&worker->deques[OD_BAND_DEFAULT].ring); /* own */
}

static void note_pages(hold *it, odi_worker *worker)
{
    pages_of *found = (pages_of *)it->argument + worker->slot;
    volatile char here = 1;

    thread_local_word = here;
    submit_many(it->pool, SMALL_PUSHES, count_job, &children_ran);
    found->small_ring = node_of(default_ring(worker));
    submit_many(it->pool, LARGE_PUSHES, count_job, &children_ran);
    found->ring = node_of(default_ring(worker));
    found->ring_later = node_of(default_ring(worker) + INTO_THE_RING);
    found->worker = node_of(worker);
    found->stack_now = node_of((const void *)(uintptr_t)&here);
    found->stack_deep = node_of_deep_stack();
    found->thread_local_word = node_of((const void *)(uintptr_t)&thread_local_word);
}

static void check_pages(od_placement placement, bool stacks_too)
{
    static hold everybody;
    static pages_of found[MOST_CPUS];
    int count[7] = {0};
    od_pool *pool = pool_placed(placement, built.cpus);

    atomic_store(&children_ran, 0);
    hold_all(&everybody, pool, note_pages, found);
    for (int slot = 0; slot < everybody.count; slot++) {
        int home = home_of(worker_at(pool, slot));
        pages_of *it = &found[slot];

        count[0] += it->worker == home;
        count[1] += it->small_ring == home;
        count[2] += it->ring == home;
        count[3] += it->ring_later == home;
        count[4] += it->stack_deep == home;
        count[5] += it->stack_now == home;
        count[6] += it->thread_local_word == home;
    }
    print_message("of %d workers' memory at home: state %d, first ring %d, grown ring %d and "
                  "%d, stack %d, its first pages %d, thread-locals %d\n",
                  everybody.count, count[0], count[1], count[2], count[3], count[4], count[5],
                  count[6]);
    hold_release_all(&everybody);
    uint64_t children = (uint64_t)built.cpus * (SMALL_PUSHES + LARGE_PUSHES);
    assert_comes_true(atomic_load(&children_ran) == children);
    od_pool_free(pool);
    for (int kind = 0; kind < (stacks_too ? 7 : 4); kind++)
        assert_int_equal(count[kind], everybody.count);
}

TEST(a_placed_workers_memory_is_on_its_node)
{
    NEEDS_NODES(2);
    check_pages(OD_PLACEMENT_CORE, true);
    check_pages(OD_PLACEMENT_NODE, true);
}

TEST(an_unplaced_workers_state_and_rings_are_on_its_home_node)
{
    NEEDS_NODES(2);
    check_pages(OD_PLACEMENT_NONE, false);
}

/* ---- who submits where ---- */

enum { SUBMITTED = 100, PAGE = 4096 };

typedef struct {
    od_pool *pool;
    int jobs;
    void (*job)(void *);
    void *context;
} submission;

static void submit_all(void *raw)
{
    submission *it = raw;

    for (int i = 0; i < it->jobs; i++)
        od_pool_submit(it->pool, OD_BAND_DEFAULT, it->job, it->context);
}

TEST(submitters_use_the_injector_of_their_node)
{
    static hold everybody;
    atomic_ullong ran = 0;
    od_pool *pool = pool_placed(OD_PLACEMENT_NODE, 0);

    NEEDS_NODES(1);
    hold_all(&everybody, pool, NULL, NULL);
    for (int i = 0; i < built.compute_nodes; i++) {
        int node = built.home_nodes[i];
        odi_injector *injector =
            &pool->team.sites[site_of_node(pool, node)].injectors[OD_BAND_DEFAULT];
        submission it = {pool, SUBMITTED, count_job, &ran};

        assert_int_equal(odi_injector_size(injector), 0);
        visit(node, submit_all, &it);
        assert_int_equal(odi_injector_size(injector), SUBMITTED);
        /* relaxed, both: nobody works on it */
        uint64_t head = odi_load_relaxed(&injector->head) / ODI_INJECTOR_BLOCK;
        uintptr_t block = odi_load_relaxed(&injector->directory[head].occupant);
        assert_int_equal(node_of((void *)(block & ~(uintptr_t)(PAGE - 1))), node);
    }
    hold_release_all(&everybody);
    assert_comes_true(atomic_load(&ran) == (uint64_t)(SUBMITTED * built.compute_nodes));
    od_pool_free(pool);
}

TEST(the_first_worker_starts_on_the_submitters_node)
{
    for (int i = 0; i < built.compute_nodes; i++) {
        atomic_ullong ran = 0;
        od_pool *pool = pool_placed(OD_PLACEMENT_NODE, 0);
        submission it = {pool, 1, count_job, &ran};

        visit(built.home_nodes[i], submit_all, &it);
        assert_comes_true(atomic_load(&ran) == 1);
        for (int slot = 0; slot < pool->team.capacity; slot++) {
            odi_worker *worker = worker_at(pool, slot);

            if (worker != NULL && odi_worker_executed(worker) > 0)
                assert_int_equal(home_of(worker), built.home_nodes[i]);
        }
        od_pool_free(pool);
    }
}

/* ---- who takes from whom ---- */

enum { MOST_LOGGED = 64 * MOST_CPUS, PUSHED = 40 };

typedef struct {
    atomic_int begun, count;       /* entries, and those of them that are written */
    int from[MOST_LOGGED];         /* the node that each job was submitted on */
    odi_worker *ran[MOST_LOGGED];  /* and who ran it */
} journal;

static journal log_of_jobs;
static int node_numbers[MOST_NODES] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Of the calling thread's worker, or of one that is held: its next look begins near, as all do but every eighth. */
static void begin_near(odi_worker *worker) { worker->tick = worker->far_tick = 0; }

static void log_job(void *node)
{
    begin_near(odi_worker_self);
    int place = atomic_fetch_add(&log_of_jobs.begun, 1);

    log_of_jobs.from[place] = *(int *)node;
    log_of_jobs.ran[place] = odi_worker_self;
    atomic_fetch_add(&log_of_jobs.count, 1);
}

static void begin_log(void)
{
    atomic_store(&log_of_jobs.begun, 0);
    atomic_store(&log_of_jobs.count, 0);
}

/* One worker of each node fills its deque; of the thief's own node, a worker beside it. */
typedef struct {
    int thief_node;
    atomic_int thieves, victims[MOST_NODES];
    _Atomic(odi_worker *) thief;
} division;

static void divide(hold *it, odi_worker *worker)
{
    division *roles = it->argument;
    int node = home_of(worker);

    if (node == roles->thief_node && atomic_fetch_add(&roles->thieves, 1) == 0)
        atomic_store(&roles->thief, worker);
    else if (atomic_fetch_add(&roles->victims[node], 1) == 0)
        submit_many(it->pool, PUSHED, log_job, &node_numbers[node]);
}

static int place_of_worker(hold *it, odi_worker *worker)
{
    int place = 0;

    while (it->workers[place] != worker)
        place++;
    return place;
}

/* All that was logged was run by `thief`, and the distances never fell. */
static void check_nearest_first(odi_worker *thief)
{
    int before = 0;

    for (int i = 0; i < atomic_load(&log_of_jobs.count); i++) {
        int distance = built.distance[home_of(thief)][log_of_jobs.from[i]];

        assert_ptr_equal(log_of_jobs.ran[i], thief);
        assert_true(before <= distance);
        before = distance;
    }
}

typedef struct {
    int of[ODI_DISTANCE_CLASSES];
} by_distance;

static by_distance stolen_by(odi_worker *thief)
{
    by_distance count;

    for (int distance = 0; distance < ODI_DISTANCE_CLASSES; distance++)
        count.of[distance] = (int)odi_counted(&thief->counters.stolen[distance]);
    return count;
}

/* `before` is what it had stolen to come to the job that held it. */
static void check_distance_classes(odi_worker *thief, by_distance before, const division *roles)
{
    int home = home_of(thief), nearest = INT32_MAX;
    by_distance expected = before, stolen = stolen_by(thief);

    for (int i = 0; i < built.compute_nodes; i++) {
        int node = built.home_nodes[i];

        if (node != home && built.distance[home][node] < nearest)
            nearest = built.distance[home][node];
    }
    for (int i = 0; i < built.compute_nodes; i++) {
        int node = built.home_nodes[i];

        if (roles->victims[node] > 0)
            expected.of[node == home ? 0 : built.distance[home][node] == nearest ? 1 : 2] +=
                PUSHED;
    }
    print_message("from node %d: %d stolen at home, %d on the nearest nodes, %d farther\n", home,
                  stolen.of[0] - before.of[0], stolen.of[1] - before.of[1],
                  stolen.of[2] - before.of[2]);
    for (int distance = 0; distance < ODI_DISTANCE_CLASSES; distance++)
        assert_int_equal(stolen.of[distance], expected.of[distance]);
}

TEST(thieves_go_to_the_nearest_deque_first)
{
    static hold everybody;

    for (int i = 0; i < built.compute_nodes; i++) {
        division roles = {.thief_node = built.home_nodes[i]};
        od_pool *pool = pool_placed(OD_PLACEMENT_CORE, 0);
        int pushed = 0;

        begin_log();
        hold_all(&everybody, pool, divide, &roles);
        odi_worker *thief = atomic_load(&roles.thief);
        by_distance before = stolen_by(thief);
        for (int node = 0; node < built.nodes; node++)
            pushed += roles.victims[node] > 0 ? PUSHED : 0;
        begin_near(thief);
        hold_release(&everybody, place_of_worker(&everybody, thief));
        assert_comes_true(atomic_load(&log_of_jobs.count) == pushed);
        check_nearest_first(thief);
        check_distance_classes(thief, before, &roles);
        hold_release_all(&everybody);
        od_pool_free(pool);
    }
}

TEST(finders_go_to_the_nearest_injector_first)
{
    enum { EACH = 8 };
    static hold everybody;

    for (int i = 0; i < built.compute_nodes; i++) {
        od_pool *pool = pool_placed(OD_PLACEMENT_NODE, 0);

        begin_log();
        hold_all(&everybody, pool, NULL, NULL);
        for (int j = 0; j < built.compute_nodes; j++) {
            int node = built.home_nodes[j];
            submission it = {pool, EACH, log_job, &node_numbers[node]};

            visit(node, submit_all, &it);
        }
        int place = hold_place_on(&everybody, built.home_nodes[i]);
        begin_near(everybody.workers[place]);
        hold_release(&everybody, place);
        assert_comes_true(atomic_load(&log_of_jobs.count) == EACH * built.compute_nodes);
        check_nearest_first(everybody.workers[place]);
        hold_release_all(&everybody);
        od_pool_free(pool);
    }
}

/* ---- who is woken ---- */

enum { WAKES = 10 };

typedef struct {
    hold *everybody;
    int asleep; /* workers that are to sleep before each submission */
    int node, distance; /* where from, and how far the woken one is to be */
    bool all_ran;
    int woken; /* submissions that woke one sleeper at that distance, and nobody elsewhere */
} caller;

/* Nobody but the submitter is about to wake anybody: all sleep, in the kernel too (who has only said
 * that he will looks once more, and wakes the next if he finds the job), nobody is on his way to a
 * search, and the monitor has gone to rest. */
static bool all_sleep(caller *it)
{
    const odi_team *team = &it->everybody->pool->team;
    bool awake = false;

    for (int site = 0; site < team->site_count; site++)
        awake |= token_is_out(&team->sites[site].idle);
    for (int place = 0; place < it->everybody->count; place++) {
        odi_worker *worker = it->everybody->workers[place];

        awake |= !(odi_worker_activity(worker) & 1) && /* relaxed: asked again and again */
                 odi_thread_sleeps(odi_load_relaxed(&worker->thread_id)) == 0;
    }
    return sleepers(it->everybody->pool) == it->asleep && !awake &&
           odi_load_acquire(&team->attention, S4) & ODI_MONITOR_OFF;
}

static void note_epochs(const od_pool *pool, uint32_t epochs[MOST_NODES])
{
    for (int site = 0; site < pool->team.site_count; site++) /* relaxed: our own wakes */
        epochs[site] = odi_load_relaxed(&pool->team.sites[site].idle.epoch);
}

/* A wake changes the epoch of the site whose sleeper it is meant for. */
static bool woke_one_at_the_distance(const caller *it, const uint32_t before[MOST_NODES])
{
    uint32_t now[MOST_NODES], right = 0, wrong = 0;

    const od_pool *pool = it->everybody->pool;

    note_epochs(pool, now);
    for (int site = 0; site < pool->team.site_count; site++) {
        bool there = built.distance[it->node][pool->team.sites[site].node] == it->distance;

        *(there ? &right : &wrong) += now[site] - before[site];
    }
    return right == 1 && wrong == 0;
}

static void submit_one_by_one(void *raw)
{
    caller *it = raw;
    od_pool *pool = it->everybody->pool;
    uint32_t before[MOST_NODES];

    it->all_ran = true;
    for (int i = 0; i < WAKES && it->all_ran; i++) {
        it->all_ran = COMES_TRUE(all_sleep(it));
        note_epochs(pool, before);
        od_pool_submit(pool, OD_BAND_DEFAULT, log_job, &node_numbers[it->node]);
        it->woken += woke_one_at_the_distance(it, before);
        it->all_ran = it->all_ran && COMES_TRUE(atomic_load(&log_of_jobs.count) == i + 1);
    }
}

/* Each submission woke the right one. */
static void check_wakes(hold *everybody, int asleep, int node, int distance)
{
    caller it = {.everybody = everybody, .asleep = asleep, .node = node, .distance = distance};
    int ran_there = 0;

    begin_log();
    visit(node, submit_one_by_one, &it);
    assert_true(it.all_ran);
    for (int i = 0; i < WAKES; i++)
        ran_there += built.distance[node][home_of(log_of_jobs.ran[i])] == distance;
    print_message("node %d: %d of %d wakes at distance %d, %d jobs on who was woken\n", node,
                  it.woken, WAKES, distance, ran_there);
    assert_int_equal(it.woken, WAKES);
}

TEST(a_sleeper_of_the_submitters_node_is_woken)
{
    static hold everybody;
    od_pool *pool = pool_placed(OD_PLACEMENT_NODE, 0);

    hold_all(&everybody, pool, NULL, NULL);
    hold_release_all(&everybody);
    for (int i = 0; i < built.compute_nodes; i++)
        check_wakes(&everybody, everybody.count, built.home_nodes[i], ODI_DISTANCE_LOCAL);
    od_pool_free(pool);
}

TEST(when_the_node_is_busy_a_sleeper_of_the_nearest_is_woken)
{
    static hold everybody;

    NEEDS_NODES(2);
    for (int i = 0; i < built.compute_nodes; i++) {
        od_pool *pool = pool_placed(OD_PLACEMENT_NODE, 0);
        int node = built.home_nodes[i], busy = built.cpus_of[node], nearest = INT32_MAX;

        hold_all(&everybody, pool, NULL, NULL);
        for (int place = 0; place < everybody.count; place++) {
            int home = home_of(everybody.workers[place]);

            if (home == node)
                continue;
            if (built.distance[node][home] < nearest)
                nearest = built.distance[node][home];
            hold_release(&everybody, place);
        }
        check_wakes(&everybody, built.cpus - busy, node, nearest);
        hold_release_all(&everybody);
        od_pool_free(pool);
    }
}

/* ---- nothing is passed over for being far ---- */

typedef struct {
    od_pool *pool;
    odi_injector *injector;
    atomic_ullong *far;
    bool far_ran;
} feeder;

/* Slower than its submission. */
static void brief_job(void *unused)
{
    int64_t until = odi_clock_after(50 * ODI_MICROSECOND);

    while (odi_clock_now() < until)
        odi_spin_pause();
}

/* Keeps an injector from running dry until the far job has run. */
static void feed(void *raw)
{
    feeder *it = raw;
    int64_t give_up = odi_clock_now() + HANG_NS;

    while (!(it->far_ran = atomic_load(it->far) > 0) && odi_clock_now() < give_up) {
        if (odi_injector_size(it->injector) < 2000)
            od_pool_submit(it->pool, OD_BAND_DEFAULT, brief_job, NULL);
    }
}

TEST(work_of_another_node_is_not_starved_by_the_workers_own)
{
    atomic_ullong far = 0, first = 0;
    od_pool *pool = pool_placed(OD_PLACEMENT_NODE, 1);
    visitor feeding;

    NEEDS_NODES(2);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &first);
    assert_comes_true(atomic_load(&first) == 1);
    int home = home_of(worker_at(pool, 0)), site = worker_at(pool, 0)->site_index;
    feeder it = {.pool = pool, .far = &far,
                 .injector = &pool->team.sites[site].injectors[OD_BAND_DEFAULT]};
    submission lonely = {pool, 1, count_job, &far};
    visit_begin(&feeding, home, feed, &it);
    assert_comes_true(odi_injector_size(it.injector) > 1000);
    visit(built.home_nodes[built.home_nodes[0] == home ? 1 : 0], submit_all, &lonely);
    visit_end(&feeding);
    assert_true(it.far_ran);
    od_pool_free(pool);
}

/* ---- nodes that are not ours ---- */

/* A made-up machine whose nodes do not exist here: no memory can be bound to them, and no
 * submitter is on one of them. */
TEST(nodes_that_do_not_exist_do_no_harm)
{
    static const od_machine_node nodes[] = {{.id = 40}, {.id = 41}, {.id = 42}};
    static const od_machine_cpu cpus[] = {
        {.id = 0, .node = 0, .core = 0, .l3 = -1},
        {.id = 1, .node = 2, .core = 1, .l3 = -1},
    };
    odi_topology spec = {.cpu_count = 2, .cpus = cpus, .node_count = 3, .nodes = nodes,
                              .live = true, .cpus_known = true};
    od_pool_options options = options_for(4);
    atomic_ullong ran = 0;

    options.placement = OD_PLACEMENT_NODE;
    odi_pool_world world = {.topology = odi_topology_build(&spec)};
    assert_non_null(world.topology);
    od_pool *pool = pool_with(options, world);
    for (int i = 0; i < built.compute_nodes; i++) {
        submission it = {pool, SUBMITTED, count_job, &ran};

        visit(built.home_nodes[i], submit_all, &it);
    }
    assert_comes_true(atomic_load(&ran) == (uint64_t)(SUBMITTED * built.compute_nodes));
    od_pool_free(pool);
}

/* ---- everything at once ---- */

enum { FLOOD = 4000, FAMILY = 3 };

/* One mark for each job; each job from outside submits FAMILY - 1 more from inside. */
static atomic_uchar *ledger;
static atomic_ullong flood_ran;

typedef struct {
    od_pool *pool;
    int first; /* of this submitter's jobs in the ledger */
} flood;

static od_pool *flooded;

static void mark(void *place)
{
    atomic_fetch_add((atomic_uchar *)place, 1);
    atomic_fetch_add(&flood_ran, 1);
}

static void mark_family(void *place)
{
    for (int child = 1; child < FAMILY; child++)
        od_pool_submit(flooded, OD_BAND_DEFAULT, mark, (atomic_uchar *)place + child);
    mark(place);
}

static void submit_flood(void *raw)
{
    flood *it = raw;

    for (int i = 0; i < FLOOD; i++)
        od_pool_submit(it->pool, (od_band)(i % ODI_BANDS), mark_family, &ledger[(it->first + i) * FAMILY]);
}

TEST(a_flood_from_every_node_runs_exactly_once)
{
    visitor submitters[MOST_NODES];
    flood floods[MOST_NODES];
    int count = built.compute_nodes, jobs = count * FLOOD * FAMILY, wrong = 0;
    od_pool *pool = flooded = pool_placed(OD_PLACEMENT_NODE, 0);
    int64_t begin = odi_clock_now();

    atomic_store(&flood_ran, 0);
    ledger = calloc((size_t)jobs, sizeof *ledger);
    assert_non_null(ledger);
    for (int i = 0; i < count; i++) {
        floods[i] = (flood){pool, i * FLOOD};
        visit_begin(&submitters[i], built.home_nodes[i], submit_flood, &floods[i]);
    }
    for (int i = 0; i < count; i++)
        visit_end(&submitters[i]);
    for (int wait = 0; wait < 5 && !COMES_TRUE(atomic_load(&flood_ran) == (uint64_t)jobs); wait++)
        continue;
    int64_t took = odi_clock_now() - begin;
    od_metrics metrics = metrics_of(pool);
    od_pool_free(pool);
    for (int i = 0; i < jobs; i++)
        wrong += ledger[i] != 1;
    print_message("%d jobs on %d CPUs of %d nodes: %d ms; from injectors %d, stolen at home %d, "
                  "on the nearest nodes %d, farther %d\n",
                  jobs, built.cpus, count, (int)(took / ODI_MILLISECOND),
                  (int)metrics.injector_jobs, (int)metrics.stolen[0], (int)metrics.stolen[1],
                  (int)metrics.stolen[2]);
    free(ledger);
    assert_int_equal(wrong, 0);
    assert_int_equal(atomic_load(&flood_ran), jobs);
    assert_int_equal(metrics.injector_jobs, count * FLOOD);
}

/* The argument, if there is one, says which tests: a name, or a pattern with asterisks. */
int main(int count, char **names)
{
    read_description();
    if (built.cpus > MOST_CPUS || built.nodes > MOST_NODES) {
        print_error("the machine is larger than this program's tables\n");
        return 1;
    }
    /* 64 emulated CPUs on two real ones take their time. */
    watchdog_allow(900, __FILE__, "the same program on the same machine");
    return run_listed(__FILE__, count, names);
}
