/* Placement that went wrong once: pools that grew onto one node, workers pinned to where the
 * process was no longer allowed, and meeting places of all nodes on one. */
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include "os/affinity.h"
#include "os/source.h"

enum { MOST = 16 };

static gate doors[MOST];

static od_pool *pool_on(odi_topology *topology, int workers)
{
    od_pool_options options = options_for(workers);

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = 0;
    return pool_with(options, (odi_pool_world){.topology = topology});
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

/* Workers that work, by site. */
static int workers_at(od_pool *pool, int site)
{
    int count = 0;

    odi_lock_acquire(&pool->team.lock);
    for (int slot = 0; slot < pool->team.capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&pool->team.slots[slot]);

        count += worker != NULL && worker->present && !worker->benched &&
                 worker->site_index == site;
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

/* Nobody moves on the bench: marked as one that has to, the first spare had every submission look for it. */
TEST(a_first_spare_moves_when_it_is_called_back)
{
    od_pool_options options = options_for(1);

    options.placement = OD_PLACEMENT_NODE;
    options.spare_workers = 1;
    od_pool *pool = pool_with(options, (odi_pool_world){.topology = machine_of(2, 4, 1)});
    hold_workers(pool, 1);
    let_workers_go(pool, 1);
    od_pool_set_workers(pool, 8);
    assert_comes_true(still_to_move(pool) == 0);
    hold_workers(pool, 8);
    assert_int_equal(workers_at(pool, 0), 4);
    assert_int_equal(workers_at(pool, 1), 4);
    let_workers_go(pool, 8);
    assert_comes_true(still_to_move(pool) == 0);
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

static void note_cpu(void *unused)
{
    atomic_store(&pinned_to, own_cpu());
}

static bool runs_pinned_to(od_pool *pool, int cpu)
{
    uint64_t before = all_done(pool);

    od_pool_submit(pool, OD_BAND_DEFAULT, note_cpu, NULL);
    return COMES_TRUE(all_done(pool) > before) && atomic_load(&pinned_to) == cpu;
}

static od_pool *pool_of_allowed(odi_source *source, int workers)
{
    od_pool_options options = options_for(workers);

    *source = odi_source_live();
    source->affinity = ask_allowed;
    options.placement = OD_PLACEMENT_CORE;
    options.spare_workers = 0;
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
    for (int workers = 0; workers <= 1; workers++) {
        allow_only(first, -1);
        od_pool *pool = pool_of_allowed(&source, workers);
        assert_true(runs_pinned_to(pool, first));
        allow_only(second, -1);
        assert_comes_true(runs_pinned_to(pool, second));
        od_pool_free(pool);
    }
}

TEST(each_worker_of_a_pool_that_grew_has_a_cpu_of_its_own)
{
    odi_source source;
    int first, second, seen[2];

    if (!two_cpus(&first, &second))
        skip();
    allow_only(first, second);
    od_pool *pool = pool_of_allowed(&source, 1);
    assert_true(runs_pinned_to(pool, first));
    od_pool_set_workers(pool, 2);
    assert_comes_true(still_to_move(pool) == 0);
    hold_workers(pool, 2);
    for (int slot = 0; slot < 2; slot++) {
        odi_worker *worker = odi_load_acquire(&pool->team.slots[slot], W1);
        odi_cpu_mask mask;

        odi_lock_acquire(&pool->team.lock);
        assert_true(odi_plan_mask(pool->team.plan, pool->team.assigned[worker->slot], &mask));
        odi_lock_release(&pool->team.lock);
        seen[slot] = odi_cpu_mask_next(&mask, 0);
    }
    assert_int_not_equal(seen[0], seen[1]);
    let_workers_go(pool, 2);
    od_pool_free(pool);
}

static int site_here(od_pool *pool)
{
    return (int)(odi_team_site_here(&pool->team) - pool->team.sites);
}

/* A changed condition showed that nobody asked: slot 0 is of this site, and so is enough. */
TEST(the_first_worker_begins_on_the_site_that_it_is_wanted_on)
{
    od_pool *pool = pool_on(machine_of(2, 4, 1), 8);
    int before = site_here(pool);

    hold_workers(pool, 1);
    if (site_here(pool) == before) { /* else this thread was moved meanwhile */
        assert_true(workers_at(pool, before) >= 1);
        assert_int_equal(workers_at(pool, 1 - before), 0);
    }
    let_workers_go(pool, 1);
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
