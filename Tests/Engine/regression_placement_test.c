/* Placement that went wrong once: pools that grew onto one node, workers pinned to where the
 * process was no longer allowed, and meeting places of all nodes on one. */
#include <errno.h>

#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include "os/affinity.h"
#include "os/source.h"
#include "worker/assignment.h"
#include "worker/recruit.h"

/* The node that the calling thread is on, as far as pools ask for it. */
static _Thread_local int node_here;

static int pretended_node(void) { return node_here; }

#define odi_affinity_node pretended_node
#include "worker/site.c"

enum { MOST = 16 };

static gate doors[MOST];

static od_pool *pool_on(odi_topology *topology, int workers)
{
    od_pool_options options = options_for(workers);

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = 0;
    return pool_with(options, (odi_pool_world){.topology = topology});
}

/* Two are as near as the nearest that has CPUs, and one without is nearer. */
TEST(sites_are_ranked_by_distance_from_each_and_told_apart_by_it)
{
    static const uint8_t far[] = {10, 11, 20, 20, 30}, classes[] = {0, 1, 1, 1, 2};
    od_machine_cpu cpus[4] = {{0}};
    uint8_t distances[25];

    for (int i = 0; i < 25; i++)
        distances[i] = far[abs(i / 5 - i % 5)];
    for (int i = 0; i < 4; i++)
        cpus[i] = (od_machine_cpu){.id = i, .node = i > 0 ? i + 1 : 0, .core = i, .l3 = -1};
    odi_topology five = {.cpu_count = 4, .cpus = cpus, .node_count = 5, .distances = distances, .cpus_known = true};
    od_pool *pool = pool_on(odi_topology_build(&five), 4);

    for (int rank = 0; rank < 5; rank++) {
        assert_int_equal(pool->team.site_order[0][rank], rank);
        assert_int_equal(pool->team.site_classes[0][rank], classes[rank]);
    }
    od_pool_free(pool);
}

static void hold_workers(od_pool *pool, int workers);
static void let_workers_go(od_pool *pool, int workers);

/* There are no more meeting places than that: nodes beyond share those of others. */
TEST(a_machine_of_more_nodes_than_sites_is_served)
{
    od_pool *pool = pool_on(machine_of(ODI_MOST_SITES + 3, 1, 1), ODI_MOST_SITES + 3);

    assert_int_equal(pool->team.site_count, ODI_MOST_SITES);
    for (int site = 0; site < ODI_MOST_SITES; site++)
        assert_int_equal(pool->team.site_order[site][0], site);
    hold_workers(pool, 2);
    let_workers_go(pool, 2);
    od_pool_free(pool);
}

/* So many workers are each in a job, and stay there. */
static void hold_workers(od_pool *pool, int workers)
{
    for (int i = 0; i < workers; i++) {
        doors[i] = (gate){0};
        od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &doors[i]);
    }
    for (int i = 0; i < workers; i++)
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
}

static void let_workers_go(od_pool *pool, int workers)
{
    open_gates(doors, workers);
    assert_comes_true(nothing_runs(pool));
}

/* Workers that work, by site, as thieves find them; the memory of whose rings is to be there. */
static int workers_at(od_pool *pool, int site)
{
    int count = 0;

    odi_lock_acquire(&pool->team.lock);
    const odi_table *table = odi_load_relaxed(&pool->team.table);
    for (int each = table->first[site]; each < table->first[site + 1]; each++) {
        const odi_worker *worker = table->workers[each];

        count += worker->present && !worker->benched && worker->site_index == site &&
                 worker->deques[OD_BAND_DEFAULT].node == worker->site->node;
    }
    odi_lock_release(&pool->team.lock);
    return count;
}

/* Workers that work and are not yet where they belong. */
static int still_to_move(od_pool *pool)
{
    int moving = 0;

    odi_lock_acquire(&pool->team.lock);
    for (int slot = 0; slot < pool->team.capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&pool->team.slots[slot]);

        moving += worker != NULL && worker->present && !worker->benched && odi_load_relaxed(&worker->moves);
    }
    odi_lock_release(&pool->team.lock);
    return moving;
}

TEST(a_pool_that_grows_fills_the_nodes_of_its_plan)
{
    static const int before[] = {1, 2, 3, 5, 7};

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        od_pool *pool = pool_on(machine_of(2, 4, 1), before[i]);

        hold_workers(pool, before[i]);
        int first = workers_at(pool, 0);
        assert_int_equal(first, before[i] <= 4 ? before[i] : (before[i] + 1) / 2);
        let_workers_go(pool, before[i]);
        od_pool_set_workers(pool, 8);
        assert_comes_true(still_to_move(pool) == 0); /* who has just found a job runs that first */
        hold_workers(pool, 8);
        assert_int_equal(workers_at(pool, 0), 4);
        assert_int_equal(workers_at(pool, 1), 4);
        let_workers_go(pool, 8);
        od_pool_free(pool);
    }
}

/* Also while they work: those that are there stay where they are. */
TEST(a_pool_that_grows_at_work_puts_new_workers_where_the_plan_has_room)
{
    od_pool *pool = pool_on(machine_of(2, 4, 1), 5);
    gate more[3] = {0};

    hold_workers(pool, 5);
    od_pool_set_workers(pool, 8);
    for (int i = 0; i < 3; i++)
        od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &more[i]);
    for (int i = 0; i < 3; i++)
        assert_comes_true(atomic_load(&more[i].waiting) == 1);
    assert_int_equal(workers_at(pool, 0), 4);
    assert_int_equal(workers_at(pool, 1), 4);
    open_gates(more, 3);
    let_workers_go(pool, 5);
    od_pool_free(pool);
}

TEST(a_pool_that_shrinks_moves_who_stays_to_the_nodes_of_its_plan)
{
    atomic_ullong ran = 0;
    uint64_t submitted = 0;

    for (int round = 0; round < 10; round++) {
        od_pool *pool = pool_on(machine_of(2, 4, 1), 8);

        hold_workers(pool, 8);
        let_workers_go(pool, 8);
        od_pool_set_workers(pool, 3); /* one node has enough cores for these */
        for (int i = 0; i < 200; i++, submitted++)
            od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        assert_comes_true(atomic_load(&ran) == submitted);
        assert_comes_true(metrics_of(pool).active <= 3 && workers_at(pool, 1) == 0);
        hold_workers(pool, 3);
        assert_comes_true(workers_at(pool, 0) == 3); /* one may still be on its way out */
        let_workers_go(pool, 3);
        assert_comes_true(still_to_move(pool) == 0);
        od_pool_free(pool);
    }
}

static void note_sites(od_pool *pool, int *sites, int workers)
{
    odi_lock_acquire(&pool->team.lock);
    for (int slot = 0; slot < workers; slot++)
        sites[slot] = odi_load_relaxed(&pool->team.slots[slot])->site_index;
    odi_lock_release(&pool->team.lock);
}

/* Two that had changed places, each on the other's node, went back with every new plan: nobody's place was free. */
TEST(who_changed_places_stays_where_it_is_when_a_full_pool_has_a_new_plan)
{
    enum { WORKERS = 8, PARTNER = 5 };
    od_pool *pool = pool_on(machine_of(2, 4, 1), WORKERS);
    odi_team *team = &pool->team;
    int before[WORKERS], after[WORKERS];

    hold_workers(pool, WORKERS);
    odi_lock_acquire(&team->lock);
    int place = team->assigned[0];
    team->assigned[0] = team->assigned[PARTNER];
    team->assigned[PARTNER] = place;
    for (int slot = 0; slot <= PARTNER; slot += PARTNER)
        odi_store_relaxed(&odi_load_relaxed(&team->slots[slot])->moves, true);
    odi_lock_release(&team->lock);
    let_workers_go(pool, WORKERS);
    for (int site = 0; site < team->site_count; site++)
        odi_idle_wake_all(&team->sites[site].idle);
    assert_comes_true(still_to_move(pool) == 0);
    note_sites(pool, before, WORKERS);
    assert_int_not_equal(before[0], before[1]);

    od_pool_set_workers(pool, WORKERS);
    assert_comes_true(still_to_move(pool) == 0);
    note_sites(pool, after, WORKERS);
    assert_memory_equal(before, after, sizeof before);
    od_pool_free(pool);
}

static void arm_nothing(odi_team *team) {}

static gate ends[MOST];

static void wait_and_stay(void *door)
{
    od_blocking_begin();
    gate_pass(door);
    od_blocking_end();
    gate_pass(&ends[(gate *)door - doors]);
}

/* Nobody moves on the bench: marked as one that has to, the first spare had every submission look for it. The others
 * have left when the plan changes. */
TEST(spares_are_where_the_new_plan_has_them_when_they_are_called_back)
{
    enum { SPARES = 6 };
    od_pool_options options = options_for(1);

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = SPARES;
    od_pool *pool = pool_with(options, (odi_pool_world){.topology = machine_of(2, 4, 1)});
    pool->team.bench_ns = MILLISECONDS(1);
    pool->team.arm_monitor = arm_nothing; /* which would find those at the gates */
    for (int i = 0; i <= SPARES; i++) {
        doors[i] = ends[i] = (gate){0};
        od_pool_submit(pool, OD_BAND_DEFAULT, wait_and_stay, &doors[i]);
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    }
    for (int i = 0; i <= SPARES; i++) {
        gate_open(&doors[i]);
        assert_comes_true(atomic_load(&ends[i].waiting) == 1);
    }
    for (int i = SPARES; i >= 0; i--) {
        if (i == 0)
            assert_comes_true(workers_present(pool) == 2);
        gate_open(&ends[i]);
    }
    assert_comes_true(nothing_runs(pool));
    od_pool_set_workers(pool, 8);
    assert_comes_true(still_to_move(pool) == 0);
    hold_workers(pool, 8);
    assert_int_equal(workers_at(pool, 0), 4);
    assert_int_equal(workers_at(pool, 1), 4);
    let_workers_go(pool, 8);
    assert_comes_true(still_to_move(pool) == 0);
    od_pool_free(pool);
}

static gate *blocked;

static void block_on_the_second_node(void *door)
{
    bool blocks = odi_worker_self->site_index == 1;

    if (blocks) {
        blocked = door;
        od_blocking_begin();
    }
    gate_pass(door);
    if (blocks)
        od_blocking_end();
}

TEST(who_worked_for_another_has_its_place_when_that_sits_on_the_bench)
{
    od_pool_options options = options_for(2);

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = 1;
    od_pool *pool = pool_with(options, (odi_pool_world){.topology = machine_of(2, 1, 1)});
    pool->team.arm_monitor = arm_nothing; /* as above */
    for (int i = 0; i < 3; i++) {
        doors[i] = (gate){0};
        od_pool_submit(pool, OD_BAND_DEFAULT, i < 2 ? block_on_the_second_node : gate_job, &doors[i]);
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    }
    assert_int_equal(workers_at(pool, 0), 2);
    assert_int_equal(workers_at(pool, 1), 1);
    gate_open(blocked);
    assert_comes_true(workers_at(pool, 1) == 0);
    let_workers_go(pool, 3);
    assert_comes_true(workers_at(pool, 1) == 1 && still_to_move(pool) == 0);
    assert_int_equal(workers_at(pool, 0), 1);
    od_pool_free(pool);
}

TEST(who_has_no_place_of_its_own_is_given_one_on_its_node)
{
    od_pool *pool = pool_on(machine_of(2, 1, 1), 2);
    odi_team *team = &pool->team;
    int given = 0;

    odi_lock_acquire(&team->lock);
    for (int slot = 2; slot < 4; slot++) {
        int site = odi_assignment_site(team, slot);

        odi_assignment_take(team, slot);
        given += odi_assignment_is_own(team, slot) && odi_assignment_site(team, slot) == site;
        odi_assignment_number(team);
    }
    odi_lock_release(&team->lock);
    assert_int_equal(given, 2);
    od_pool_free(pool);
}

static int site_of_job[MOST];

static void note_site_and_stay(void *door)
{
    site_of_job[(gate *)door - doors] = odi_worker_self->site_index;
    gate_pass(door);
}

/* And not who sat down last. */
TEST(of_two_on_the_bench_the_one_comes_back_that_is_of_the_node)
{
    od_pool_options options = options_for(2);
    int other = 1;

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = 2;
    od_pool *pool = pool_with(options, (odi_pool_world){.topology = machine_of(2, 1, 1)});
    odi_team *team = &pool->team;
    team->bench_ns = HANG_NS;
    team->arm_monitor = arm_nothing; /* as above */
    odi_team_count_blocked(team, 2);
    for (int i = 0; i < 4; i++) {
        doors[i] = (gate){0};
        od_pool_submit(pool, OD_BAND_DEFAULT, note_site_and_stay, &doors[i]);
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    }
    odi_team_count_blocked(team, -2);
    while (site_of_job[other] == site_of_job[0])
        other++;
    gate_open(&doors[0]);
    gate_open(&doors[other]);
    assert_comes_true(metrics_of(pool).active == 2);
    int site = LOCKED(&team->lock, team->bench->next_benched->site_index);
    odi_team_count_blocked(team, 1);
    assert_true(odi_team_start_one(team, &team->sites[site]));
    assert_int_equal(LOCKED(&team->lock, team->bench->site_index), 1 - site);
    odi_team_count_blocked(team, -1);
    let_workers_go(pool, 4);
    od_pool_free(pool);
}

/* ---- on this machine ---- */

static odi_cpu_mask allowed; /* read and written with pools at rest, or by the lock below */
static odi_lock allowed_lock;

static int ask_allowed(const odi_source *source, odi_cpu_mask *mask)
{
    odi_lock_acquire(&allowed_lock);
    *mask = allowed;
    odi_lock_release(&allowed_lock);
    return 0;
}

static void allow_only(int first, int second)
{
    odi_lock_acquire(&allowed_lock);
    odi_cpu_mask_clear(&allowed);
    odi_cpu_mask_add(&allowed, first);
    if (second >= 0)
        odi_cpu_mask_add(&allowed, second);
    odi_lock_release(&allowed_lock);
}

static atomic_int pinned_to;

/* The CPU that the calling thread is pinned to, or -1. */
static int own_cpu(void)
{
    odi_cpu_mask mask;

    if (odi_affinity_get(0, &mask) != 0 || odi_cpu_mask_count(&mask) != 1)
        return -1;
    return odi_cpu_mask_next(&mask, 0);
}

static void note_cpu(void *unused) { atomic_store(&pinned_to, own_cpu()); }

static bool runs_pinned_to(od_pool *pool, int cpu)
{
    uint64_t before = all_done(pool);

    od_pool_submit(pool, OD_BAND_DEFAULT, note_cpu, NULL);
    return COMES_TRUE(all_done(pool) > before) && atomic_load(&pinned_to) == cpu;
}

static od_pool *pool_of_allowed(odi_source *source, int workers, int spares)
{
    od_pool_options options = options_for(workers);

    *source = odi_source_live();
    source->affinity = ask_allowed;
    options.placement = OD_PLACEMENT_CORE;
    options.spare_workers = spares;
    return pool_with(options, (odi_pool_world){.source = source});
}

static bool two_cpus(int *first, int *second)
{
    odi_cpu_mask mask;

    if (odi_affinity_get(getpid(), &mask) != 0)
        return false;
    *first = odi_cpu_mask_next(&mask, 0);
    *second = *first >= 0 ? odi_cpu_mask_next(&mask, *first + 1) : -1;
    return *second >= 0;
}

/* Whether the number of workers follows the limits or was asked for. */
TEST(a_pinned_worker_follows_the_cpus_that_are_left_to_the_process)
{
    odi_source source;
    int first, second;

    if (!two_cpus(&first, &second))
        skip();
    for (int workers = 0; workers <= 2; workers += 2) {
        allow_only(first, -1);
        od_pool *pool = pool_of_allowed(&source, workers, 0);
        assert_true(runs_pinned_to(pool, first));
        allow_only(second, -1);
        assert_comes_true(runs_pinned_to(pool, second));
        assert_int_equal(od_pool_workers(pool), workers == 0 ? 1 : workers);
        assert_true(LOCKED(&pool->plan_lock, odi_cpu_mask_has(&pool->limits.cpus, second))); /* once is enough */
        od_pool_free(pool);
    }
}

TEST(a_main_thread_that_pins_itself_takes_no_worker_away)
{
    od_pool_options options = options_for(0);
    odi_cpu_mask before, one;
    int first, second;

    if (!two_cpus(&first, &second))
        skip();
    od_pool *pool = pool_with(options, (odi_pool_world){0});
    od_pool_submit(pool, OD_BAND_DEFAULT, note_cpu, NULL);
    assert_comes_true(all_done(pool) == 1);
    int workers = od_pool_workers(pool);
    assert_int_equal(odi_affinity_get(0, &before), 0);
    odi_cpu_mask_clear(&one);
    odi_cpu_mask_add(&one, first);
    assert_int_equal(odi_affinity_set(&one), 0);
    for (int look = 0; look < 3; look++) {
        uint64_t done = all_done(pool);

        odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed: a hint */
        od_pool_submit(pool, OD_BAND_DEFAULT, note_cpu, NULL);
        assert_comes_true(all_done(pool) > done);
        assert_comes_true(odi_load_relaxed(&pool->next_refresh_ns) != INT64_MIN); /* a worker has read them again */
        assert_int_equal(od_pool_workers(pool), workers);
    }
    assert_int_equal(odi_affinity_set(&before), 0);
    od_pool_free(pool);
}

TEST(who_cannot_be_pinned_works_all_the_same_and_is_counted)
{
    odi_source source;

    allow_only(ODI_CPU_LIMIT - 1, -1);
    od_pool *pool = pool_of_allowed(&source, 1, 0);
    assert_false(runs_pinned_to(pool, ODI_CPU_LIMIT - 1));
    assert_int_equal(metrics_of(pool).warnings, 1);
    od_pool_free(pool);
}

static atomic_bool has_quota;

static FILE *open_of_a_group(const odi_source *source, const char *path)
{
    static const char *const names[] = {"/proc/self/cgroup", "/proc/self/mountinfo", "/sys/fs/cgroup/x/cpu.max"};
    const char *texts[] = {"0::/x\n", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
                           atomic_load(&has_quota) ? "200000 100000\n" : "max 100000\n"};

    for (int each = 0; each < 3; each++) {
        if (strcmp(path, names[each]) == 0)
            return fmemopen((void *)(uintptr_t)texts[each], strlen(texts[each]), "r");
    }
    errno = ENOENT;
    return NULL;
}

/* With a quota the kernel chooses the CPUs. */
TEST(a_pinned_worker_is_let_go_where_limits_come_under_which_nobody_is_pinned)
{
    odi_source source = {.open = open_of_a_group, .affinity = ask_allowed, .root = "", .live = true};
    int first, second;

    if (!two_cpus(&first, &second))
        skip();
    allow_only(first, second);
    atomic_store(&has_quota, false);
    od_machine_cpu cpus[] = {{.id = first, .node = 0, .core = 0, .l3 = -1}, {.id = second, .node = 1, .core = 1, .l3 = -1}};
    odi_topology of_two = {.cpu_count = 2, .node_count = 2, .live = true, .cpus_known = true, .cpus = cpus};
    od_pool_options options = options_for(0);
    options.placement = OD_PLACEMENT_AUTOMATIC;
    od_pool *pool = pool_with(options, (odi_pool_world){.topology = odi_topology_build(&of_two), .source = &source});
    uint64_t before = all_done(pool);

    od_pool_submit(pool, OD_BAND_DEFAULT, note_cpu, NULL);
    assert_comes_true(all_done(pool) > before);
    assert_true(atomic_load(&pinned_to) >= 0);
    atomic_store(&has_quota, true);
    odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed: a worker that looks too has as much reason */
    odi_pool_refresh(&pool->team);
    assert_comes_true(runs_pinned_to(pool, -1));
    assert_comes_true(!odi_load_relaxed(&pool->pins)); /* relaxed: as above */
    od_pool_free(pool);
}

static FILE *open_siblings(const odi_source *source, const char *path)
{
    errno = ENOENT;
    return strstr(path, "thread_siblings_list") != NULL ? fmemopen((void *)(uintptr_t) "0-1", 3, "r") : NULL;
}

TEST(who_wants_cores_is_told_of_them_again_when_its_cpus_have_changed)
{
    odi_source source = {.open = open_siblings, .affinity = ask_allowed, .root = ""};
    od_pool_options options = options_for(0);

    options.placement = OD_PLACEMENT_CORE;
    allow_only(0, -1);
    od_pool *pool = pool_with(options, (odi_pool_world){.source = &source});
    allow_only(0, 1);
    assert_int_equal(od_pool_set_workers(pool, 0), OD_OK); /* now */
    assert_int_equal(LOCKED(&pool->plan_lock, pool->topology->cpu_count), 2);
    assert_int_equal(LOCKED(&pool->plan_lock, pool->topology->core_count), 1);
    od_pool_free(pool);
}

static atomic_bool first_is_offline;

static FILE *open_two_nodes(const odi_source *source, const char *path)
{
    const char *text = strcmp(path, "/sys/devices/system/node/online") == 0 ? atomic_load(&first_is_offline) ? "1" : "0-1"
                       : strcmp(path, "/sys/devices/system/node/node0/cpulist") == 0 ? "0"
                       : strcmp(path, "/sys/devices/system/node/node1/cpulist") == 0 ? "1"
                                                                                     : NULL;

    errno = ENOENT;
    return text != NULL ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

/* It is the first one that there is then, and no other place than before. */
TEST(who_is_left_of_two_nodes_works_at_the_place_of_the_second)
{
    odi_source source = {.open = open_two_nodes, .affinity = ask_allowed, .root = ""};
    od_pool_options options = options_for(0);

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = 0;
    allow_only(0, 1);
    atomic_store(&first_is_offline, false);
    od_pool *pool = pool_with(options, (odi_pool_world){.source = &source});
    hold_workers(pool, 2);
    assert_int_equal(workers_at(pool, 1), 1);
    allow_only(1, -1);
    atomic_store(&first_is_offline, true);
    assert_int_equal(od_pool_set_workers(pool, 0), OD_OK); /* now */
    let_workers_go(pool, 2);
    assert_comes_true(workers_at(pool, 1) == 1 && workers_at(pool, 0) == 0);
    od_pool_free(pool);
}

static int seen[2];
static atomic_int have_seen;

static void note_cpu_and_stay(void *door)
{
    seen[atomic_fetch_add(&have_seen, 1)] = own_cpu();
    gate_pass(door);
}

/* Whether the second is a new one or comes from the bench. */
TEST(each_worker_of_a_pool_that_grew_has_a_cpu_of_its_own)
{
    odi_source source;
    int first, second;

    if (!two_cpus(&first, &second))
        skip();
    for (int spares = 0; spares <= 1; spares++) {
        allow_only(first, second);
        od_pool *pool = pool_of_allowed(&source, 1, spares);
        assert_true(runs_pinned_to(pool, first));
        od_pool_set_workers(pool, 2);
        assert_comes_true(still_to_move(pool) == 0);
        atomic_store(&have_seen, 0);
        for (int i = 0; i < 2; i++) {
            doors[i] = (gate){0};
            od_pool_submit(pool, OD_BAND_DEFAULT, note_cpu_and_stay, &doors[i]);
        }
        for (int i = 0; i < 2; i++)
            assert_comes_true(atomic_load(&doors[i].waiting) == 1);
        assert_int_equal(seen[0] + seen[1], first + second);
        assert_true(seen[0] == first || seen[1] == first);
        let_workers_go(pool, 2);
        od_pool_free(pool);
    }
}

static odi_atomic(int) began_on;

static void begin_there(void *door)
{
    odi_store_relaxed(&began_on, odi_worker_self->site_index); /* relaxed: the door hands it over */
    gate_pass(door);
}

/* A thread that is no worker, and new: it asks where it is before it submits. */
static void *submit_from(void *pool)
{
    node_here = 1;
    od_pool_submit(pool, OD_BAND_DEFAULT, begin_there, &doors[0]);
    return NULL;
}

/* A changed condition showed that nobody asked for another site than the lowest slot's. */
TEST(the_first_worker_begins_on_the_site_that_it_is_wanted_on)
{
    od_pool *pool = pool_on(machine_of(2, 4, 1), 8);
    pthread_t elsewhere;

    doors[0] = (gate){0};
    assert_int_equal(pthread_create(&elsewhere, NULL, submit_from, pool), 0);
    assert_comes_true(atomic_load(&doors[0].waiting) == 1);
    pthread_join(elsewhere, NULL);
    assert_int_equal(workers_at(pool, 0), 0);
    assert_int_equal(workers_at(pool, 1), 1);
    let_workers_go(pool, 1);
    od_pool_free(pool);
}

TEST(who_is_no_worker_submits_to_the_site_of_its_node)
{
    od_pool *pool = pool_on(machine_of(3, 1, 1), 3);
    static const struct {
        int node, site;
    } on[] = {{1, 1}, {2, 2}, {7, 0}, {0, 0}};

    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        node_here = on[i].node;
        for (int ask = 0; ask < 64; ask++) /* wherever it was when it last asked */
            (void)odi_team_nearest_site(&pool->team);
        assert_ptr_equal(odi_team_nearest_site(&pool->team), &pool->team.sites[on[i].site]);
    }
    od_pool_free(pool);
}

/* ---- memory ---- */

TEST(no_two_nodes_share_a_page_of_their_meeting_places)
{
    od_pool *pool = pool_on(machine_of(4, 2, 1), 8);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (int site = 0; site < 4; site++)
        assert_int_equal((uintptr_t)&pool->team.sites[site] % page, 0);
    od_pool_free(pool);
}

GUARDED_PROGRAM
