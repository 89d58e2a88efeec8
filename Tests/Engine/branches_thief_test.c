/* branches_thief_test.c — no thief starves while an owner is busy below its forks, and none sleeps while there
 * is a fork for it. */
#include <pthread.h>
#include <unistd.h>

#include "Support/branches.h"
#include "Support/process.h"

/* ---- an owner in a long leaf ---- */

enum { ABOVE = 10 };

static struct {
    atomic_int started;
    _Atomic(int64_t) began[ABOVE];
    int64_t leaf_began;
    int pipe[2];
    bool reads;
} above;

static void note_start(void *raw)
{
    atomic_store(&above.began[(intptr_t)raw], odi_clock_now());
    atomic_fetch_add(&above.started, 1);
}

/* The leaf ends when all forks above it have started, or after a hang's time. */
static void leaf(void)
{
    char byte;

    above.leaf_began = odi_clock_now();
    if (above.reads)
        (void)!read(above.pipe[0], &byte, 1);
    else
        (void)COMES_TRUE(atomic_load(&above.started) == ABOVE);
}

static void fork_above(intptr_t level)
{
    if (level == ABOVE) {
        leaf();
        return;
    }
    od_fork_slot *branch = od_fork(note_start, (void *)level);
    fork_above(level + 1);
    od_join(branch, note_start, (void *)level);
}

static void fork_all_above(void *unused) { fork_above(0); }

static void check_above(bool reads)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "above");

    memset(&above, 0, sizeof above);
    above.reads = reads;
    if (reads)
        assert_int_equal(pipe(above.pipe), 0);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_all_above, NULL);
    bool all = COMES_TRUE(atomic_load(&above.started) == ABOVE);
    if (reads)
        assert_int_equal(write(above.pipe[1], "x", 1), 1);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_true(all); /* by the other worker: the owner was in the leaf */
    int64_t last = 0;
    for (int i = 0; i < ABOVE; i++)
        last = atomic_load(&above.began[i]) > last ? atomic_load(&above.began[i]) : last;
    print_message("the last of %d started %lld us after the leaf\n", ABOVE,
                  (long long)(last - above.leaf_began) / 1000);
    end_pool(pool, queue);
}

TEST(forks_above_a_long_leaf_are_taken) { check_above(false); }

TEST(forks_above_a_blocked_leaf_are_taken) { check_above(true); }

/* ---- sleepers ---- */

static struct {
    atomic_int done[2];
    bool seen[2], slept;
} later;

static void note_done(void *raw) { atomic_store(&later.done[(intptr_t)raw], 1); }

/* Both forks run elsewhere, because this one does not come back before they have. */
static void fork_now_and_later(void *pool)
{
    od_fork_slot *root = od_fork(note_done, (void *)0);
    later.seen[0] = COMES_TRUE(atomic_load(&later.done[0]));
    later.slept = COMES_TRUE(idle_ones_sleep(pool, 1)); /* the thief */
    od_fork_slot *second = od_fork(note_done, (void *)1);
    later.seen[1] = COMES_TRUE(atomic_load(&later.done[1]));
    od_join(second, note_done, (void *)1);
    od_join(root, note_done, (void *)0);
}

TEST(a_sleeper_is_woken_for_a_fork_that_comes_later)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "later");

    memset(&later, 0, sizeof later);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_now_and_later, pool);
    assert_true(od_queue_wait(queue, 4 * HANG_NS));
    assert_true(later.slept);
    assert_true(later.seen[0]);
    assert_true(later.seen[1]);
    end_pool(pool, queue);
}

/* One of two sleepers takes the root's branch and stays in it. The other is woken for what is
 * forked above from then on. */
static struct {
    atomic_int inside, awake, started;
} second;

static void stay_inside(void *unused)
{
    atomic_store(&second.inside, 1);
    later.seen[1] = COMES_TRUE(atomic_load(&second.started) == ABOVE);
}

static void note_second(void *unused) { atomic_fetch_add(&second.started, 1); }

static void fork_above_a_taken_root(void *pool)
{
    od_fork_slot *branches[ABOVE], *root = od_fork(stay_inside, NULL);

    (void)COMES_TRUE(atomic_load(&second.inside));
    later.slept = COMES_TRUE(idle_ones_sleep(pool, 1)); /* the other */
    for (int i = 0; i < ABOVE; i++)
        branches[i] = od_fork(note_second, NULL);
    later.seen[0] = COMES_TRUE(atomic_load(&second.started) == ABOVE);
    for (int i = ABOVE; i-- > 0;)
        od_join(branches[i], note_second, NULL);
    od_join(root, stay_inside, NULL);
}

/* One of `all` at once. */
static void be_awake(void *all)
{
    atomic_fetch_add(&second.awake, 1);
    (void)COMES_TRUE(atomic_load(&second.awake) == (intptr_t)all);
}

TEST(a_second_sleeper_is_woken_when_the_first_stays_in_its_branch)
{
    od_pool *pool = pool_of(3);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "second");

    memset(&second, 0, sizeof second);
    memset(&later, 0, sizeof later);
    add_many(queue, 3, be_awake, (void *)3);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_comes_true(idle_ones_sleep(pool, 3));
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_above_a_taken_root, pool);
    assert_true(od_queue_wait(queue, 4 * HANG_NS));
    assert_true(later.slept);
    assert_true(later.seen[0]);
    assert_true(later.seen[1]); /* not by the first, once it was done */
    end_pool(pool, queue);
}

static void note_thread(void *raw)
{
    *(pthread_t *)raw = pthread_self();
    atomic_store(&later.done[0], 1);
}

static void fork_for_another(void *raw)
{
    pthread_t thread = pthread_self();
    od_fork_slot *root = od_fork(note_thread, &thread);

    (void)COMES_TRUE(atomic_load(&later.done[0]));
    od_join(root, note_thread, &thread);
    *(bool *)raw = !pthread_equal(thread, pthread_self());
}

/* A worker's stack of the least size holds forks as well. */
TEST(workers_with_small_stacks_share_their_forks)
{
    od_pool_options options;
    od_pool *pool;
    char message[256];

    od_pool_options_init(&options);
    options.workers = 2;
    options.stack_bytes = 256 * 1024;
    assert_int_equal(od_pool_create(&options, &pool, message, sizeof message), OD_OK);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "small");
    bool shared = false;
    memset(&later, 0, sizeof later);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_for_another, &shared);
    assert_true(od_queue_wait(queue, 3 * HANG_NS));
    assert_true(shared);
    end_pool(pool, queue);
}

/* ---- blocking ---- */

/* Until it is wanted, there are no spares. */
static atomic_bool monitor_wanted;

static void arm_if_wanted(odi_team *team)
{
    if (atomic_load(&monitor_wanted))
        odi_pool_arm_monitor(team);
}

/* Both workers are in these, computing, until they are let out one by one. */
static struct {
    atomic_int here, out[2];
} held;

static void be_held(void *unused)
{
    int slot = odi_worker_self->slot;

    atomic_fetch_add(&held.here, 1);
    compute_until(&held.out[slot]);
}

/* The worker in the other slot forks, and the one in `slot` takes it. */
static void have_stolen(od_pool *pool, od_queue *queue, int slot)
{
    memset(&held, 0, sizeof held);
    memset(&later, 0, sizeof later);
    add_many(queue, 2, be_held, NULL);
    assert_comes_true(atomic_load(&held.here) == 2);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_now_and_later, pool);
    atomic_store(&held.out[1 - slot], 1);
    odi_worker *worker = odi_load_acquire(&pool->team.slots[1 - slot], W3);
    assert_comes_true(odi_forks_hold_work(&worker->forks));
    atomic_store(&held.out[slot], 1);
    assert_true(od_queue_wait(queue, 3 * HANG_NS));
    worker = odi_load_acquire(&pool->team.slots[slot], W3);
    assert_true(odi_load_acquire(&worker->forks_run, W7) > 1);
}

/* What a worker did for others' forks is not taken for progress of the job that it blocks in. */
TEST(a_worker_that_has_stolen_forks_is_noticed_when_it_blocks)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "blocking");
    gate door = {0};
    atomic_ullong ran = 0;
    od_metrics metrics;

    pool->team.arm_monitor = arm_if_wanted;
    for (int slot = 0; slot < 2; slot++)
        have_stolen(pool, queue, slot);
    atomic_store(&monitor_wanted, true);
    add_many(queue, 2, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 2);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran);
    bool came = COMES_TRUE(atomic_load(&ran) == 1);
    od_pool_metrics(pool, &metrics);
    gate_open(&door);
    end_queue(queue);
    assert_true(came);
    assert_true(metrics.most_spares >= 1);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void compute_as_told(void *told) { compute_until(told); }

/* It was taken for idle. The other worker computes, so that there is a spare for nobody else. */
TEST(a_worker_that_blocks_in_a_stolen_fork_is_noticed)
{
    od_pool *pool = pool_of(2);
    od_fork_scope scope;
    gate door = {0};
    atomic_int told = 0;
    atomic_ullong ran = 0;

    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork(gate_job, &door);
    bool came = COMES_TRUE(atomic_load(&door.waiting) == 1);
    od_pool_submit(pool, OD_BAND_DEFAULT, compute_as_told, &told);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    came &= COMES_TRUE(atomic_load(&ran) == 1);
    atomic_store(&told, 1);
    gate_open(&door);
    od_join(branch, gate_job, &door);
    od_forks_leave(&scope);
    assert_true(came);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- a claim that takes long ---- */

static struct {
    odi_forks *forks;
    uintptr_t limit;
    int owner;
    atomic_bool joins, slept;
} claim;

static void *hold_the_claim(void *unused)
{
    (void)COMES_TRUE(atomic_load(&claim.joins));
    atomic_store(&claim.slept, COMES_TRUE(odi_thread_sleeps(claim.owner) == 1));
    odi_store_release(&claim.forks->owner.limit, claim.limit, F3);
    return unused;
}

/* Found by reading: it yielded again and again, and under a real-time priority a thief of a lower
 * one never came to its next instruction. */
TEST(an_owner_sleeps_while_a_thief_does_not_come_to_move_its_split)
{
    od_pool *pool = lone_worker();
    gate door = {0};
    od_fork_scope scope;
    pthread_t thief;

    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &door); /* nobody else asks or takes */
    assert_comes_true(atomic_load(&door.waiting) == 1);
    claim.owner = odi_thread_id();
    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork(no_job, NULL);
    claim.forks = (odi_forks *)od_forks_self;
    claim.limit = odi_load_relaxed(&claim.forks->owner.limit); /* relaxed: its owner's, no thief's */
    odi_store_relaxed(&claim.forks->owner.limit, ODI_FORKS_CLAIMED); /* relaxed: as above */
    pthread_create(&thief, NULL, hold_the_claim, NULL);
    atomic_store(&claim.joins, true);
    od_join(branch, no_job, NULL);
    pthread_join(thief, NULL);
    od_forks_leave(&scope);
    gate_open(&door);
    assert_true(atomic_load(&claim.slept));
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- thieves that wait awake for another fork ---- */

enum { TOGETHER = 4, MEETINGS = 60 };

static struct {
    atomic_int met;
    int meetings, slept_after;
} together;

static void meet(void *all)
{
    atomic_fetch_add(&together.met, 1);
    (void)COMES_TRUE(atomic_load(&together.met) >= (intptr_t)all);
}

/* Who sleeps after the first meeting knows that no job waits outside. One of the thieves has the token when a meeting is over,
 * and the others wait for forks, if they are not asleep already. */
static void meet_in_branches(void *pool)
{
    od_fork_slot *branches[TOGETHER - 1];

    for (; together.meetings < MEETINGS; together.meetings++) {
        void *all = (void *)(intptr_t)(TOGETHER * (together.meetings + 1));

        for (int i = 0; i < TOGETHER - 1; i++)
            branches[i] = od_fork(meet, all);
        meet(all);
        for (int i = TOGETHER - 1; i-- > 0;)
            od_join(branches[i], meet, all);
        if (!COMES_TRUE(idle_ones_sleep(pool, TOGETHER - 1)))
            break;
        together.slept_after++;
    }
}

TEST(thieves_that_wait_awake_for_another_fork_sleep_where_none_comes)
{
    od_pool *pool = pool_with(options_for(TOGETHER), (odi_pool_world){.topology = machine_of(1, TOGETHER, 1)});
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "together");

    memset(&second, 0, sizeof second);
    memset(&together, 0, sizeof together);
    add_many(queue, TOGETHER, be_awake, (void *)TOGETHER);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_comes_true(idle_ones_sleep(pool, TOGETHER));
    od_queue_async(queue, NULL, OD_QUEUE_BAND, meet_in_branches, pool);
    assert_true(od_queue_wait(queue, 4 * HANG_NS));
    assert_int_equal(together.slept_after, MEETINGS);
    assert_int_equal(atomic_load(&together.met), TOGETHER * MEETINGS);
    end_pool(pool, queue);
}

/* ---- a thief that is one too many ---- */

enum { MORE = 8 };

static struct {
    odi_worker *owner;
    atomic_int came, begun, by_thief, forked, may_end, joins;
} leaving;

static void note_that_it_came(void *unused) { atomic_store(&leaving.came, 1); }

static void note_who(void *unused)
{
    atomic_fetch_add(&leaving.by_thief, odi_worker_self != leaving.owner);
    if (atomic_fetch_add(&leaving.begun, 1) == 0)
        compute_until(&leaving.may_end);
}

/* The thief has gone to sleep once, and so knows that nothing waits outside; then it has the first, and may take each
 * of the others. */
static void fork_for_a_thief(void *pool)
{
    od_fork_slot *branches[1 + MORE];

    branches[0] = od_fork(note_that_it_came, NULL);
    compute_until(&leaving.came);
    od_join(branches[0], note_that_it_came, NULL);
    (void)COMES_TRUE(idle_ones_sleep(pool, 1));
    leaving.owner = odi_worker_self;
    branches[0] = od_fork(note_who, NULL);
    compute_until(&leaving.begun);
    for (int i = 1; i <= MORE; i++) {
        odi_forks_want(&leaving.owner->forks);
        branches[i] = od_fork(note_who, NULL);
    }
    atomic_store(&leaving.forked, 1);
    compute_until(&leaving.joins);
    for (int i = MORE; i >= 0; i--)
        od_join(branches[i], note_who, NULL);
}

TEST(a_thief_that_is_one_too_many_takes_no_further_fork)
{
    od_pool_options options = options_for(2);

    options.spare_workers = 0;
    od_pool *pool = pool_with(options, (odi_pool_world){.topology = machine_of(1, 2, 1)});
    od_pool_submit(pool, OD_BAND_DEFAULT, fork_for_a_thief, pool);
    assert_comes_true(atomic_load(&leaving.forked) == 1);
    assert_int_equal(od_pool_set_workers(pool, 1), OD_OK);
    atomic_store(&leaving.may_end, 1);
    assert_comes_true(metrics_of(pool).active == 1);
    assert_int_equal(atomic_load(&leaving.by_thief), 1);
    atomic_store(&leaving.joins, 1);
    assert_comes_true(all_done(pool) == 1);
    assert_int_equal(atomic_load(&leaving.begun), 1 + MORE);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- what a stolen branch is in ---- */

typedef struct {
    od_queue *queue, *within;
    bool current, current_within, outer, waits;
    int band;
} surroundings;

static struct {
    od_pool *pool;
    od_queue *queue, *other;
    atomic_int stolen, ran;
    surroundings seen;
} inside;

static void look_around(void *unused)
{
    (void)unused;
    inside.seen = (surroundings){
        .queue = od_queue_of_thread(0), .within = od_queue_of_thread(1),
        .current = od_queue_is_current(inside.queue), .current_within = od_queue_is_current(inside.other),
        .band = od_queue_current_band()};
    atomic_store(&inside.stolen, 1);
}

/* Until another thread has taken the branch. */
static void have_it_stolen(void (*branch)(void *))
{
    atomic_store(&inside.stolen, 0);
    od_fork_slot *slot = od_fork(branch, NULL);
    (void)COMES_TRUE(atomic_load(&inside.stolen) == 1);
    od_join(slot, branch, NULL);
}

static void have_a_root_stolen(void *unused)
{
    (void)unused;
    have_it_stolen(look_around);
}

static void sync_and_have_it_stolen(void *unused)
{
    od_scope scope;

    (void)unused;
    od_queue_sync_begin(inside.other, &scope);
    have_it_stolen(look_around);
    od_queue_sync_end(&scope);
}

static void sync_above_a_fork(void *unused)
{
    od_fork_slot *below = od_fork(no_job, unused);

    sync_and_have_it_stolen(unused);
    od_join(below, no_job, unused);
}

static surroundings seen_by(void (*job)(void *))
{
    od_queue_async(inside.queue, NULL, OD_BAND_UTILITY, job, NULL);
    assert_true(od_queue_wait(inside.queue, HANG_NS));
    return inside.seen;
}

static void begin_inside(void)
{
    inside.pool = pool_of(2);
    inside.queue = od_queue_create(inside.pool, OD_BAND_UTILITY, 1, "job's");
    inside.other = od_queue_create(inside.pool, OD_BAND_UTILITY, 1, "other");
}

static void end_inside(void)
{
    od_queue_release(inside.queue);
    od_queue_release(inside.other);
    assert_int_equal(od_pool_free(inside.pool), OD_OK);
}

TEST(a_stolen_branch_is_on_the_queues_of_its_job)
{
    begin_inside();
    surroundings root = seen_by(have_a_root_stolen);
    assert_ptr_equal(root.queue, inside.queue);
    assert_true(root.current);
    assert_false(root.current_within);
    assert_int_equal(root.band, OD_BAND_UTILITY);
    for (int above = 0; above < 2; above++) {
        surroundings synced = seen_by(above ? sync_above_a_fork : sync_and_have_it_stolen);
        assert_ptr_equal(synced.queue, inside.other);
        assert_ptr_equal(synced.within, inside.queue);
        assert_true(synced.current && synced.current_within);
    }
    end_inside();
}

static void sync_onto_the_job(void *unused)
{
    od_scope scope;

    (void)unused;
    atomic_store(&inside.stolen, 1);
    od_queue_sync_begin(inside.queue, &scope);
    od_queue_sync_end(&scope);
}

static void have_a_sync_stolen(void *unused)
{
    (void)unused;
    have_it_stolen(sync_onto_the_job);
}

static void sync_in_a_stolen_branch(void *unused)
{
    (void)unused;
    begin_inside();
    (void)seen_by(have_a_sync_stolen);
}

TEST(sync_from_a_stolen_branch_onto_its_jobs_serial_queue_traps)
{
    assert_child_traps(sync_in_a_stolen_branch, NULL, "would wait for itself");
}

static void count_one(void *unused)
{
    (void)unused;
    atomic_fetch_add(&inside.ran, 1);
}

static void submit_beyond_the_limit(void *unused)
{
    for (int i = 0; i < 4; i++)
        od_queue_async(inside.queue, NULL, OD_QUEUE_BAND, count_one, unused);
    atomic_store(&inside.stolen, 1);
}

static void have_a_submission_stolen(void *unused)
{
    (void)unused;
    have_it_stolen(submit_beyond_the_limit);
}

/* A submitter that waited for room would wait for its own job. */
TEST(a_stolen_branch_may_submit_to_its_jobs_full_queue)
{
    od_queue_options options = {.width = 1, .pending_limit = 1, .band = OD_BAND_UTILITY,
                                .overflow = OD_OVERFLOW_WAITS};

    begin_inside();
    od_queue_release(inside.queue);
    inside.queue = od_queue_create_with(inside.pool, &options);
    atomic_store(&inside.ran, 0);
    (void)seen_by(have_a_submission_stolen);
    assert_int_equal(atomic_load(&inside.ran), 4);
    end_inside();
}

CHILDREN_MAY_START_THREADS
TEST_PROGRAM
