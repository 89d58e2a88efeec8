/* worker/: where the next job comes from and in which order, bands, stealing, and workers
 * that block. All by counts, because the machine may be busy. */
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include "include/od_report.h"
#include "topology/topology.h"
#include "worker/bench.h"
#include "worker/recruit.h"

#include "pool/monitor.c"

static atomic_int seats_kept; /* waits on the bench that only a call or a stop ends */

static odi_futex_result wait_on_the_bench(odi_atomic(uint32_t) *word, uint32_t value, int64_t deadline)
{
    atomic_fetch_add(&seats_kept, deadline == ODI_FOREVER);
    return odi_futex_wait(word, value, deadline);
}

#define odi_futex_wait wait_on_the_bench
#include "worker/bench.c"
#undef odi_futex_wait

/* ---- a journal of what started, in order ---- */

enum { JOURNAL = 4096 };

static struct {
    atomic_int length;
    int entries[JOURNAL];
} journal;

static void note(void *raw)
{
    int place = atomic_fetch_add(&journal.length, 1);

    if (place < JOURNAL)
        journal.entries[place] = (int)(intptr_t)raw;
}

static int set_up(void **state)
{
    atomic_store(&journal.length, 0);
    return 0;
}

static void *numbered(int number) { return (void *)(intptr_t)number; }

/* A pool of one worker that waits at a gate, so that what is submitted next piles up. */
typedef struct {
    od_pool *pool;
    gate door;
} held_pool;

static void hold(held_pool *it)
{
    it->pool = lone_worker();
    it->door = (gate){0};
    od_pool_submit(it->pool, OD_BAND_USER_INTERACTIVE, gate_job, &it->door);
    assert_comes_true(atomic_load(&it->door.waiting) == 1);
}

static void let_go(held_pool *it, int jobs)
{
    gate_open(&it->door);
    assert_comes_true(atomic_load(&journal.length) >= jobs);
    od_pool_free(it->pool);
    assert_int_equal(atomic_load(&journal.length), jobs);
}

/* ---- order ---- */

#define WORKER_TEST(name) TEST_WITH(name, set_up, NULL)

WORKER_TEST(bands_are_served_from_the_highest)
{
    held_pool it;

    hold(&it);
    for (int i = 0; i < 50; i++) {
        for (int band = 4; band >= 0; band--)
            od_pool_submit(it.pool, (od_band)band, note, numbered(band * 100 + i));
    }
    let_go(&it, 250);
    for (int i = 0; i < 250; i++) /* each band in its order, and before the next */
        assert_int_equal(journal.entries[i], i / 50 * 100 + i % 50);
}

static od_pool *inner_pool;

static void spawn_three(void *raw)
{
    note(raw);
    for (int i = 1; i <= 3; i++)
        od_pool_submit(inner_pool, OD_BAND_DEFAULT, note, numbered((int)(intptr_t)raw + i));
}

WORKER_TEST(what_a_worker_submits_comes_in_its_order_behind_the_batch_in_hand)
{
    held_pool it;

    hold(&it);
    inner_pool = it.pool;
    for (int i = 0; i < 4; i++)
        od_pool_submit(it.pool, OD_BAND_DEFAULT, spawn_three, numbered(10 * i));
    let_go(&it, 16);
    static const int expected[] = {0, 10, 20, 30, 1, 2, 3, 11, 12, 13, 21, 22, 23, 31, 32, 33};
    for (int i = 0; i < 16; i++)
        assert_int_equal(journal.entries[i], expected[i]);
}

/* ---- fairness ---- */

static struct {
    od_pool *pool;
    long left, jobs;    /* of the flood, run by one worker */
    long waits_since;   /* `jobs` when the watched job was submitted, or -1 */
    long longest_wait[ODI_BANDS];
    atomic_bool over;
    uint32_t band; /* the flood's own */
} flood;

/* A job of another kind, submitted from within the flood, so that nothing depends on when. */
static struct {
    long submitted_at[ODI_BANDS];
    bool out[ODI_BANDS];
    int started[ODI_BANDS];
} watched;

static void watched_job(void *raw)
{
    int band = (int)(intptr_t)raw;
    long waited = flood.jobs - watched.submitted_at[band];

    if (waited > flood.longest_wait[band])
        flood.longest_wait[band] = waited;
    watched.out[band] = false;
    watched.started[band]++;
}

/* As if from outside: through the site's injector. */
static void submit_as_outsider(int band)
{
    odi_worker *self = odi_worker_self;
    odi_entry job = odi_job_plain(watched_job, numbered(band), 0);

    watched.submitted_at[band] = flood.jobs;
    watched.out[band] = true;
    (void)odi_site_push(self->site, (uint32_t)band, job);
}

static void submit_as_insider(int band)
{
    watched.submitted_at[band] = flood.jobs;
    watched.out[band] = true;
    od_pool_submit(flood.pool, (od_band)band, watched_job, numbered(band));
}

static void (*submit_watched)(int band);
static uint32_t watched_bands;

static void flood_job(void *unused)
{
    flood.jobs++;
    for (int band = 0; band < ODI_BANDS; band++) {
        if (watched_bands & (1u << band) && !watched.out[band])
            submit_watched(band);
    }
    if (--flood.left > 0)
        od_pool_submit(flood.pool, (od_band)flood.band, flood_job, NULL);
    else
        atomic_store(&flood.over, true);
}

static void run_flood(uint32_t band, uint32_t watch, void (*submit)(int band))
{
    memset(&flood, 0, sizeof flood);
    memset(&watched, 0, sizeof watched);
    flood.pool = lone_worker();
    flood.left = 20000;
    flood.band = band;
    watched_bands = watch;
    submit_watched = submit;
    od_pool_submit(flood.pool, (od_band)band, flood_job, NULL);
    assert_comes_true(atomic_load(&flood.over));
    od_pool_free(flood.pool);
}

WORKER_TEST(a_worker_in_a_flood_of_its_own_looks_outside_every_61_takes)
{
    run_flood(OD_BAND_DEFAULT, 1u << OD_BAND_DEFAULT, submit_as_outsider);
    assert_true(watched.started[OD_BAND_DEFAULT] > 100);
    assert_in_range(flood.longest_wait[OD_BAND_DEFAULT], 60, 61);
}

WORKER_TEST(a_lower_band_is_passed_over_at_most_256_times)
{
    for (int outside = 0; outside < 2; outside++) {
        for (int band = 1; band < ODI_BANDS; band++) {
            run_flood(0, 1u << band, outside ? submit_as_outsider : submit_as_insider);
            assert_true(watched.started[band] > 50);
            assert_in_range(flood.longest_wait[band], 255, 256);
        }
    }
}

WORKER_TEST(several_lower_bands_are_each_passed_over_at_most_256_times)
{
    for (int outside = 0; outside < 2; outside++) {
        run_flood(0, 0x1e, outside ? submit_as_outsider : submit_as_insider);
        for (int band = 1; band < ODI_BANDS; band++) {
            /* What one lower band gets is, for the others, a pass too. */
            assert_true(watched.started[band] > 50);
            assert_in_range(flood.longest_wait[band], 255, 256);
        }
    }
}

WORKER_TEST(a_higher_band_never_waits_behind_a_lower_one)
{
    run_flood(OD_BAND_BACKGROUND, 0x0f, submit_as_insider);
    for (int band = 0; band < OD_BAND_BACKGROUND; band++) {
        assert_true(watched.started[band] > 1000);
        assert_int_equal(flood.longest_wait[band], 0);
    }
}

/* ---- stealing ---- */

static struct {
    od_pool *pool;
    atomic_ullong ran, on_others;
    pthread_t victim;
} theft;

static void stealable(void *unused)
{
    atomic_fetch_add(&theft.ran, 1);
    if (!pthread_equal(theft.victim, pthread_self()))
        atomic_fetch_add(&theft.on_others, 1);
}

static void spawn_and_stay(void *raw)
{
    int jobs = (int)(intptr_t)raw;

    theft.victim = pthread_self();
    submit_many(theft.pool, jobs, stealable, NULL);
    while (atomic_load(&theft.on_others) < (unsigned long long)jobs)
        sched_yield(); /* only thieves can end this */
}

WORKER_TEST(thieves_take_all_that_a_busy_worker_has)
{
    enum { JOBS = 1000 };

    for (int workers = 2; workers <= 4; workers++) {
        odi_pool_world one_node = {.topology = machine_of(1, 4, 1)};
        od_pool_options options = options_for(workers);

        memset(&theft, 0, sizeof theft);
        options.spare_workers = 0; /* for who stays off its CPU on a busy machine: what it has would go outside, and come back */
        theft.pool = pool_with(options, one_node);
        od_pool_submit(theft.pool, OD_BAND_DEFAULT, spawn_and_stay, numbered(JOBS));
        assert_comes_true(all_done(theft.pool) == JOBS + 1);
        assert_int_equal(atomic_load(&theft.on_others), JOBS);
        od_metrics metrics = metrics_of(theft.pool);
        assert_true(metrics.stolen[0] >= JOBS);
        assert_int_equal(metrics.stolen[1] + metrics.stolen[2], 0); /* one node */
        assert_in_range(metrics.steals[0], metrics.stolen[0] / ODI_STEAL_BATCH, metrics.stolen[0] - 1);
        assert_int_equal(metrics.injector_jobs, 1);
        odi_reclaim_drain(); /* its deque has grown */
        assert_true(metrics_of(theft.pool).grace_periods > 0);
        od_pool_free(theft.pool);
    }
}

WORKER_TEST(on_four_nodes_everything_runs_and_distances_are_told_apart)
{
    enum { ROUNDS = 20, MOST_ROUNDS = 1000, JOBS = 500 };
    od_pool *pool = pool_with(options_for(8), (odi_pool_world){
                                                  .topology = machine_of(4, 2, 1)});
    uint64_t far = 0;
    od_metrics metrics;
    int round;

    memset(&theft, 0, sizeof theft);
    theft.pool = pool;
    assert_int_equal(pool->team.site_count, 4);
    /* Where other programs have the CPUs the neighbour takes all, round after round. */
    for (round = 0; round < ROUNDS || (far == 0 && round < MOST_ROUNDS); round++) {
        atomic_store(&theft.on_others, 0);
        od_pool_submit(pool, OD_BAND_DEFAULT, spawn_and_stay, numbered(JOBS));
        assert_comes_true(all_done(pool) == (uint64_t)(round + 1) * (JOBS + 1));
        metrics = metrics_of(pool);
        far = metrics.stolen[1] + metrics.stolen[2];
    }
    for (int distance = 0; distance < 3; distance++)
        assert_true(metrics.steals[distance] <= metrics.stolen[distance]);
    assert_true(far > 0);
    assert_int_equal(atomic_load(&theft.ran), round * JOBS);
    od_pool_free(pool);
}

static struct {
    od_pool *pool;
    atomic_ullong ran;
    atomic_int seen; /* 1: it ran beside the one that moves; -1: it did not */
} moving;

static void arm_nothing(odi_team *team) {}

/* Who submitted the other job relied on this worker's search. */
static void move_with_the_token(void *unused)
{
    odi_worker *self = odi_worker_self;

    (void)COMES_TRUE(idle_ones_sleep(moving.pool, 1));
    self->searching = odi_idle_try_search(&self->site->idle);
    (void)odi_site_push(self->site, OD_BAND_DEFAULT, odi_job_plain(count_job, &moving.ran, 0));
    odi_store_relaxed(&self->moves, true); /* relaxed: its own look */
    odi_team_move(self);
    atomic_store(&moving.seen, COMES_TRUE(atomic_load(&moving.ran) == 1) ? 1 : -1);
}

WORKER_TEST(a_worker_that_moves_leaves_its_search_to_another)
{
    gate doors[2] = {{0}};

    moving.pool = pool_with(options_for(2), (odi_pool_world){.topology = machine_of(1, 2, 1)});
    moving.pool->team.arm_monitor = arm_nothing; /* which would see to it later */
    for (int i = 0; i < 2; i++)
        hold_a_worker(moving.pool, &doors[i]);
    open_gates(doors, 2);
    od_pool_submit(moving.pool, OD_BAND_DEFAULT, move_with_the_token, NULL);
    assert_comes_true(atomic_load(&moving.seen) != 0);
    assert_int_equal(atomic_load(&moving.seen), 1);
    od_pool_free(moving.pool);
}

/* ---- blocking ---- */

typedef struct {
    gate door;
    bool says_so;
} blocker;

static void block_at_a_gate(void *raw)
{
    blocker *it = raw;

    if (it->says_so) {
        od_blocking_begin();
        od_blocking_begin(); /* pairs nest */
    }
    gate_pass(&it->door);
    if (it->says_so) {
        od_blocking_end();
        od_blocking_end();
    }
}

static void open_their_gates(void *raw)
{
    blocker *first = raw;

    for (blocker *it = first; it < first + 8; it++)
        gate_open(&it->door);
}

static void run_blockers(bool say_so)
{
    static blocker blockers[8];
    od_pool *pool = pool_of(1);

    memset(blockers, 0, sizeof blockers);
    for (int i = 0; i < 8; i++) {
        blockers[i].says_so = say_so;
        od_pool_submit(pool, OD_BAND_DEFAULT, block_at_a_gate, &blockers[i]);
    }
    od_pool_submit(pool, OD_BAND_DEFAULT, open_their_gates, blockers);
    assert_comes_true(all_done(pool) == 9); /* with one worker alone this never ends */
    assert_in_range(metrics_of(pool).most_spares, 1, 16);
    assert_comes_true(metrics_of(pool).active <= 1);
    od_pool_free(pool);
}

WORKER_TEST(jobs_that_say_that_they_block_hand_their_place_over)
{
    for (int round = 0; round < 5; round++)
        run_blockers(true);
}

WORKER_TEST(jobs_that_block_without_saying_so_are_noticed)
{
    for (int round = 0; round < 3; round++)
        run_blockers(false);
}

static struct {
    gate blocks, doors[2];
    atomic_bool is_back, over;
    atomic_ullong ran;
} coming_back;

static void block_and_go_on(void *unused)
{
    od_blocking_begin();
    gate_pass(&coming_back.blocks);
    od_blocking_end();
    atomic_store(&coming_back.is_back, true);
    while (!atomic_load(&coming_back.over))
        odi_clock_sleep(200 * ODI_MICROSECOND);
}

/* Three are awake where two may be, and who is woken for a job is the one too many. */
WORKER_TEST(a_worker_that_goes_to_the_bench_leaves_what_it_was_woken_for_to_another)
{
    od_pool *pool = pool_of(2);

    memset(&coming_back, 0, sizeof coming_back);
    pool->team.arm_monitor = arm_nothing; /* which would see to it later */
    od_pool_submit(pool, OD_BAND_DEFAULT, block_and_go_on, NULL);
    assert_comes_true(atomic_load(&coming_back.blocks.waiting) == 1);
    for (int i = 0; i < 2; i++)
        hold_a_worker(pool, &coming_back.doors[i]);
    open_gates(coming_back.doors, 2);
    assert_comes_true(idle_ones_sleep(pool, 2));
    gate_open(&coming_back.blocks);
    assert_comes_true(atomic_load(&coming_back.is_back));
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &coming_back.ran);
    assert_comes_true(atomic_load(&coming_back.ran) == 1); /* beside the one that came back */
    atomic_store(&coming_back.over, true);
    od_pool_free(pool);
}

WORKER_TEST(spare_workers_have_a_cap_and_reaching_it_is_counted)
{
    static blocker blockers[8];
    od_pool_options options = options_for(1);

    memset(blockers, 0, sizeof blockers);
    options.spare_workers = 2;
    od_pool *pool = pool_with(options, (odi_pool_world){0});
    pool->team.arm_monitor = arm_nothing; /* which counts as well */
    for (int i = 0; i < 8; i++) {
        blockers[i].says_so = true;
        od_pool_submit(pool, OD_BAND_DEFAULT, block_at_a_gate, &blockers[i]);
        assert_comes_true(i > 1 || blocked_in(pool) == i + 1);
        assert_int_equal(i > 1 ? 0 : metrics_of(pool).spare_cap_reached, 0); /* not by as many as there may be */
    }
    assert_comes_true(metrics_of(pool).spare_cap_reached > 0);
    assert_int_equal(metrics_of(pool).most_spares, 2);
    assert_int_equal(metrics_of(pool).workers, 1); /* spares are none of the number */
    assert_int_equal(od_pool_workers(pool), 1);
    open_their_gates(blockers);
    assert_comes_true(all_done(pool) == 8 && metrics_of(pool).active == 1);
    uint64_t reached = metrics_of(pool).spare_cap_reached;
    static const int changes[] = {4, -1, -3}; /* who goes on reaches nothing */
    for (int i = 0; i < 3; i++)
        odi_team_count_blocked(&pool->team, changes[i]);
    assert_int_equal(metrics_of(pool).spare_cap_reached, reached + 1);
    blockers[0] = (blocker){.says_so = true};
    od_pool_submit(pool, OD_BAND_DEFAULT, block_at_a_gate, &blockers[0]);
    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_comes_true(all_done(pool) == 9);
    assert_int_equal(metrics_of(pool).most_spares, 2); /* were there once */
    gate_open(&blockers[0].door);
    od_pool_free(pool);
}

static int allowed_beside(odi_team *team, int computing, int blocked, bool work_waits)
{
    const int count[BLOCKED + 1] = {[COMPUTING] = computing, [BLOCKED] = blocked};

    odi_lock_acquire(&team->lock);
    adjust(team, count, work_waits);
    int allowance = team->allowance;
    odi_lock_release(&team->lock);
    return allowance;
}

static int allowed_for(odi_team *team, int blocked, bool work_waits)
{
    return allowed_beside(team, 0, blocked, work_waits);
}

/* In place of who sleeps for a lock another one would stand in line for the same. */
WORKER_TEST(blocked_ones_have_spares_twice_as_many_each_time_but_not_who_sleeps_for_a_lock)
{
    od_pool *pool = pool_of(1);
    odi_team *team = &pool->team;
    gate door = {0};

    team->arm_monitor = arm_nothing; /* what it does is done here */
    hold_a_worker(pool, &door);
    odi_worker *worker = odi_load_acquire(&team->slots[0], W3);
    assert_comes_true(watch_worker(worker, odi_clock_coarse()) == BLOCKED);
    odi_store_relaxed(&worker->sleeps_for_lock, true); /* relaxed, both: as its owner would, who sleeps */
    assert_int_equal(watch_worker(worker, odi_clock_coarse()), IDLE);
    odi_store_relaxed(&worker->sleeps_for_lock, false);
    assert_int_equal(allowed_for(team, 4, true), 4);
    assert_int_equal(allowed_for(team, 4, true), 8);
    assert_int_equal(allowed_beside(team, 1, 4, true), 4); /* somebody is left to take what waits */
    assert_int_equal(allowed_beside(team, 1, 4, true), 4);
    assert_int_equal(allowed_for(team, 1000, false), team->spare_cap);
    assert_int_equal(metrics_of(pool).spare_cap_reached, 0); /* nothing waited for more */
    assert_int_equal(allowed_for(team, 1000, true), team->spare_cap);
    assert_int_equal(metrics_of(pool).spare_cap_reached, 1);
    disarm(team); /* nothing waits any more */
    assert_int_equal(LOCKED(&team->lock, team->allowance), 0);
    assert_int_equal(allowed_for(team, 4, true), 4);
    assert_int_equal(allowed_for(team, 0, false), 0);
    notice_a_stall(pool, (const int[BLOCKED + 1]){[BLOCKED] = 1}, false);
    assert_true(pool->still_since == 0); /* all wait, and no work does */
    gate_open(&door);
    od_pool_free(pool);
}

/* A thread is there for a job that waits, though no further one may be had by then. */
WORKER_TEST(who_is_alone_on_the_bench_stays_there)
{
    od_pool *pool = pool_of(1);

    atomic_store(&seats_kept, 0);
    pool->team.bench_ns = 1;
    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_comes_true(atomic_load(&seats_kept) == 1);
    assert_int_equal(workers_present(pool), 2);
    od_pool_free(pool);
}

static doing seen_after(odi_worker *worker, uint64_t jobs, int64_t used_ns)
{
    worker->watched_jobs = odi_worker_activity(worker) - jobs;
    worker->watched_cpu = odi_clock_cpu(worker->cpu_clock) - used_ns; /* asleep it uses none */
    return LOCKED(&worker->team->lock, look_at(worker, odi_clock_coarse()));
}

/* The kernel counts the last of a thread's time when it has left its CPU. */
static bool used_no_time(odi_worker *worker, int64_t *seen)
{
    int64_t before = *seen;

    *seen = odi_clock_cpu(worker->cpu_clock);
    return *seen == before;
}

WORKER_TEST(a_worker_is_taken_for_blocked_by_what_it_has_done_since_the_last_look)
{
    od_pool *pool = pool_of(1);
    gate door = {0};
    int64_t used = 0;

    pool->team.arm_monitor = arm_nothing; /* what it does is done here */
    hold_a_worker(pool, &door);
    odi_worker *worker = odi_load_acquire(&pool->team.slots[0], W3);
    assert_comes_true(watch_worker(worker, odi_clock_coarse()) == BLOCKED); /* it sleeps */
    assert_comes_true(used_no_time(worker, &used));
    assert_int_equal(seen_after(worker, 0, 0), QUIET);
    assert_int_equal(seen_after(worker, 0, TICK_NS / IDLE_SHARE), QUIET);
    assert_int_equal(seen_after(worker, 0, TICK_NS / IDLE_SHARE + 1), COMPUTING);
    assert_int_equal(seen_after(worker, 2, 0), FRESH);
    assert_int_equal(seen_after(worker, 4, 0), COMPUTING);
    gate_open(&door);
    od_pool_free(pool);
}

static atomic_int still_said;

static void note_that_it_stands_still(const char *sentence) { atomic_fetch_add(&still_said, 1); }

/* Whether it is said that it stands still, so long after that was first seen. */
static bool says_it(od_pool *pool, int64_t after_ns, const int *count)
{
    int before = atomic_load(&still_said);

    pool->still_since = odi_clock_now() - after_ns;
    pool->still_said = false;
    notice_a_stall(pool, count, true);
    return atomic_load(&still_said) > before;
}

WORKER_TEST(a_pool_stands_still_a_second_after_the_last_one_that_could_go_on)
{
    od_pool *pool = pool_of(1);

    od_warnings_to(note_that_it_stands_still);
    assert_true(says_it(pool, ODI_SECOND, (int[BLOCKED + 1]){[BLOCKED] = 1}));
    assert_true(says_it(pool, ODI_SECOND, (int[BLOCKED + 1]){[WAITING] = 1}));
    assert_false(says_it(pool, 0, (int[BLOCKED + 1]){[BLOCKED] = 1}));
    for (doing what = IDLE; what <= COMPUTING; what++) {
        int count[BLOCKED + 1] = {[BLOCKED] = 1};

        count[what] = 1;
        assert_false(says_it(pool, ODI_SECOND, count));
        assert_true(pool->still_since == 0);
    }
    od_warnings_to(NULL);
    od_pool_free(pool);
}

/* And not at once: whoever finds nobody to wake would try it. */
WORKER_TEST(a_monitor_that_could_not_be_had_is_tried_for_again_some_time_later)
{
    od_pool *pool = pool_of(1);
    int64_t before = odi_clock_now();

    pool->team.present++; /* as who starts one does */
    pool->monitor_present = true;
    start_failed(pool);
    assert_int_equal(pool->team.present, 0);
    assert_true(pool->team.next_monitor_ns >= before + RETRY_NS);
    pool->team.next_monitor_ns = INT64_MAX;
    odi_pool_stand_by(&pool->team);
    assert_false(pool->monitor_present);
    assert_int_equal(metrics_of(pool).thread_failures, 1);
    pool->team.next_monitor_ns = before;
    odi_pool_stand_by(&pool->team);
    assert_true(LOCKED(&pool->team.lock, pool->monitor_present));
    od_pool_free(pool);
}

/* Nobody would see it leave. */
WORKER_TEST(no_monitor_comes_after_a_stop)
{
    od_pool *pool = pool_of(1);

    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_int_equal(od_pool_stop(pool, INT64_MAX, NULL), OD_OK);
    assert_comes_true(all_have_gone(pool));
    uint32_t woken = odi_load_relaxed(&pool->monitor_word);
    odi_pool_stand_by(&pool->team);
    assert_int_equal(odi_load_relaxed(&pool->monitor_word), woken + 1); /* instead */
    assert_true(all_have_gone(pool));
    od_pool_free(pool);
}

static atomic_bool compute_on;

static void compute(void *unused)
{
    while (atomic_load(&compute_on))
        odi_spin_pause();
}

WORKER_TEST(a_worker_that_computes_is_not_taken_for_blocked)
{
    atomic_ullong ran = 0;
    od_pool *pool = pool_of(1);

    atomic_store(&compute_on, true);
    od_pool_submit(pool, OD_BAND_DEFAULT, compute, NULL);
    for (int i = 0; i < 10; i++) { /* work waits, and the monitor looks */
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        odi_clock_sleep(MILLISECONDS(10));
    }
    uint64_t ran_meanwhile = atomic_load(&ran);
    atomic_store(&compute_on, false);
    assert_comes_true(atomic_load(&ran) == 10);
    /* A busy machine may keep the worker from its CPU; then it neither slept. */
    assert_int_equal(ran_meanwhile, 0);
    assert_int_equal(metrics_of(pool).most_spares, 0);
    od_pool_free(pool);
}

WORKER_TEST(blocking_calls_elsewhere_do_nothing)
{
    atomic_ullong ran = 0;
    od_pool *pool = pool_of(1);

    atomic_store(&compute_on, true);
    od_pool_submit(pool, OD_BAND_DEFAULT, compute, NULL);
    od_blocking_end(); /* of nothing: a worker's traps */
    od_blocking_begin();
    od_blocking_begin();
    assert_int_equal(blocked_in(pool), 0);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    od_blocking_end();
    od_blocking_end();
    assert_int_equal(atomic_load(&ran), 0);
    atomic_store(&compute_on, false);
    assert_comes_true(all_done(pool) == 2);
    assert_int_equal(metrics_of(pool).most_spares, 0);
    od_pool_free(pool);
}

/* A lone job lies behind the one that has submitted it, and in the end before its end. */
static struct {
    od_pool *pool;
    atomic_bool ends;
    atomic_ullong ran;
} chain;

static void link_job(void *unused)
{
    if (!atomic_load(&chain.ends)) {
        od_pool_submit(chain.pool, OD_BAND_DEFAULT, link_job, NULL);
        return;
    }
    od_pool_submit(chain.pool, OD_BAND_DEFAULT, count_job, &chain.ran);
    while (atomic_load(&chain.ran) == 0)
        sched_yield(); /* computes, so no spare comes: only a thief can end this */
}

WORKER_TEST(who_leaves_a_chain_to_its_worker_takes_what_lies_and_sleeps_after_it)
{
    memset(&chain, 0, sizeof chain);
    chain.pool = pool_with(options_for(2), (odi_pool_world){.topology = machine_of(1, 2, 1)});
    od_pool_submit(chain.pool, OD_BAND_DEFAULT, link_job, NULL);
    assert_comes_true(metrics_of(chain.pool).failed_steals > 200); /* each look that leaves the job is one */
    atomic_store(&chain.ends, true);
    assert_comes_true(atomic_load(&chain.ran) == 1);
    assert_comes_true(odi_idle_sleepers(&chain.pool->team.sites[0].idle) == 2);
    od_pool_free(chain.pool);
}

/* ---- wakes ---- */

/* What a worker finds while it looks about awake is no wake: each of them follows a sleep. */
WORKER_TEST(a_wake_is_counted_once_whether_it_finds_work_or_not)
{
    enum { ROUNDS = 2000 };
    od_pool *pool = lone_worker();
    atomic_ullong ran = 0;

    for (unsigned long long round = 1; round <= ROUNDS; round++) {
        if (round % 256 == 0)
            assert_comes_true(odi_idle_sleepers(&pool->team.sites[0].idle) == 1);
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        for (int look = 1; atomic_load(&ran) < round; look++)
            yield_now_and_then(look);
    }
    assert_comes_true(odi_idle_sleepers(&pool->team.sites[0].idle) == 1);
    od_metrics metrics = metrics_of(pool);
    assert_true(metrics.useful_wakes > 0);
    assert_true(metrics.useful_wakes + metrics.spurious_wakes <= metrics.parks);
    assert_true(metrics.failed_steals > 0);
    for (uint64_t wakes = 1; wakes <= 2; wakes++) { /* the second follows one that found nothing */
        odi_team_publish(&pool->team, &pool->team.sites[0]);
        assert_comes_true(metrics_of(pool).parks >= metrics.parks + wakes);
        assert_comes_true(idle_ones_sleep(pool, 1));
    }
    assert_true(metrics_of(pool).spurious_wakes > metrics.spurious_wakes);
    od_pool_free(pool);
}

GUARDED_PROGRAM
