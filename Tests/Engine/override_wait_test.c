/* worker/override.c and gate/override.c: who waits for a group or a queue in a higher band overrides that of what is waited
 * for. */
#include "worker/override.h"
#include "Support/held_worker.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "job/group.h"

static uint32_t overridden(void)
{
    return odi_load_relaxed(&odi_overrides.bands); /* relaxed: looked at again and again */
}

static void *open_when_something_is_lent(void *unused)
{
    assert_comes_true(overridden() != 0);
    gate_open(&scene.door);
    return unused;
}

/* The first thread waits for `group`, or for `queue`. */
static void wait_and_lend(od_group *group, od_queue *queue, int32_t band)
{
    pthread_t opener;

    pthread_create(&opener, NULL, open_when_something_is_lent, NULL);
    if (group == NULL)
        assert_true(od_queue_wait(queue, HANG_NS));
    else
        assert_true(od_group_wait_for(group, queue, band, HANG_NS));
    pthread_join(opener, NULL);
    assert_int_equal(overridden(), 0);
}

static void leave_group(void *group)
{
    note((void *)(uintptr_t)'H');
    od_group_leave(group);
}

SCENE(a_group_is_waited_for_in_the_waiters_band,
      "lone; hold pool Held band 0; queue q band 4; group g; add pool 20 d; add q b in g; "
      "thread {pool.overridden >= 1; open Held}; wait g; join; pool.overridden = 0; order bd20")

SCENE(a_groups_job_in_a_line_is_waited_for_in_the_waiters_band,
      "lone; hold pool Held band 0; queue q width 1 band 4; group g; add q a; add pool 20 d; add q b in g; "
      "thread {pool.overridden >= 1; open Held}; wait g; join; pool.overridden = 0; order abd20")

/* Its waiter is its parent's. */
SCENE(a_forked_child_serves_each_band_as_itself,
      "lone; hold pool Held band 0; queue q band 4; add q b; thread {wait q; came}; pool.overridden >= 1; "
      "child {pool.overridden = 0}; open Held; join; came = 1")

static struct {
    od_queue *queue;
    od_group *group;
    outcome child;
} joins_late;

/* Who waits is not there. */
static void expect_nothing_overridden(void *unused) { child_expects(overridden() == 0); }

static void *open_when_what_came_is_overridden(void *unused)
{
    assert_comes_true(overridden() != 0);
    joins_late.child = in_a_child(expect_nothing_overridden, NULL, 60);
    od_queue_async(joins_late.queue, joins_late.group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    assert_comes_true(overridden() >> 4 * OD_BAND_BACKGROUND != 0);
    gate_open(&scene.door);
    return unused;
}

/* It waited behind all that came in the middle. */
HELD(what_joins_a_group_during_a_wait_is_waited_for_in_the_waiters_band)
{
    od_queue *middle = od_queue_create(scene.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "middle");
    pthread_t opener;

    joins_late.queue = background(OD_UNLIMITED);
    joins_late.group = od_group_create();
    flood_the_middle();
    od_queue_async(middle, joins_late.group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'A');
    pthread_create(&opener, NULL, open_when_what_came_is_overridden, NULL);
    assert_true(od_group_wait(joins_late.group, HANG_NS));
    pthread_join(opener, NULL);
    assert_int_equal(joins_late.child.status, 0);
    release_queues(middle, joins_late.queue);
    od_group_release(joins_late.group);
}

static void end_when_asleep(void *thread)
{
    while (odi_thread_sleeps((int)(intptr_t)thread) != 1)
        sched_yield();
}

/* Workers look whether one has, and yield once. */
HELD(a_lender_that_is_woken_is_told_of_until_it_comes)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();
    odi_override next = {.band = OD_BAND_USER_INTERACTIVE};
    uint32_t before = odi_load_relaxed(&odi_overrides.yields) >> 1; /* relaxed, and below: hints */

    if (odi_thread_sleeps(odi_thread_id()) < 0)
        skip();
    od_queue_async(queue, group, OD_QUEUE_BAND, end_when_asleep, (void *)(intptr_t)odi_thread_id());
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_comes_true(odi_load_relaxed(&odi_overrides.yields) >> 1 == before + 1);
    odi_override_begin(&next, &scene.pool->team, OD_BAND_BACKGROUND);
    odi_override_end(&next);
    assert_int_equal(odi_load_relaxed(&odi_overrides.yields) & 1, 0);
    od_queue_release(queue);
    od_group_release(group);
}

SCENE(a_queue_is_waited_for_in_the_waiters_band,
      "lone; hold pool Held band 0; queue q band 4; add pool 20 d; add q b; thread {pool.overridden >= 1; open Held}; "
      "wait q; join; pool.overridden = 0; order bd20")

static struct {
    int waiter; /* the thread */
    bool asleep;
    uint32_t overridden;
} when_raised;

/* What else would be overridden is by the time the waiter sleeps. */
static void *open_when_raised(void *raw)
{
    od_queue *queue = raw;

    when_raised.asleep = COMES_TRUE(LOOK(queue, queue->raised) != 0 && a_pass_waits() &&
                                    sleeps_at(&queue->watch, when_raised.waiter));
    when_raised.overridden = overridden();
    gate_open(&scene.door);
    return NULL;
}

HELD(a_serial_queue_is_waited_for_in_the_waiters_band)
{
    od_queue *queue = background(1);
    pthread_t opener;

    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_QUEUE_BAND, 'b');
    flood_the_middle();
    when_raised.waiter = odi_thread_id();
    pthread_create(&opener, NULL, open_when_raised, queue);
    assert_true(od_queue_wait(queue, 2 * HANG_NS));
    pthread_join(opener, NULL);
    assert_true(when_raised.asleep);
    assert_int_equal(when_raised.overridden, 0); /* the line alone is raised */
    assert_order(queue, "ab", 2);
}

HELD(what_was_entered_by_hand_is_lent_to_where_it_is_said_to_be)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    od_group_enter(group);
    flood_the_middle();
    od_queue_async(queue, NULL, OD_BAND_UTILITY, leave_group, group);
    wait_and_lend(group, queue, OD_BAND_UTILITY);
    assert_order(queue, "H", 1);
    od_group_release(group);
}

static struct {
    od_group *group;
    int32_t band;
} lends;

static void *leave_when_that_alone_is_lent(void *unused)
{
    assert_comes_true(overridden() == 1u << 4 * lends.band); /* as the main thread's, the highest */
    od_group_leave(lends.group);
    return unused;
}

/* No lower one than the queue's own. */
TEST(what_is_to_come_to_a_queue_is_waited_for_in_its_band_or_a_higher_one)
{
    static const int32_t given[] = {OD_QUEUE_BAND, OD_BAND_DEFAULT, OD_BAND_BACKGROUND},
                         lent[] = {OD_BAND_UTILITY, OD_BAND_DEFAULT, OD_BAND_UTILITY};
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "open");
    od_group *group = od_group_create();

    run_in(queue, no_job, NULL); /* from here on it is open */
    for (int each = 0; each < 3; each++) {
        pthread_t leaver;

        od_group_enter(group);
        lends.group = group;
        lends.band = lent[each];
        pthread_create(&leaver, NULL, leave_when_that_alone_is_lent, NULL);
        assert_true(od_group_wait_for(group, queue, given[each], 2 * HANG_NS));
        pthread_join(leaver, NULL);
    }
    od_group_release(group);
    end_pool(pool, queue);
}

static atomic_int waits_in_the_middle; /* the thread */

static void *wait_in_the_middle(void *group)
{
    atomic_store(&waits_in_the_middle, odi_thread_id());
    return od_group_wait(group, 2 * HANG_NS) ? group : NULL;
}

/* A thread that is nobody's is in the middle band, and so is what it waits for. */
HELD(nothing_is_lent_to_who_has_as_much)
{
    od_queue *queue = od_queue_create(scene.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "middle");
    od_group *group = od_group_create();
    pthread_t waiter;
    void *waited;

    od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    pthread_create(&waiter, NULL, wait_in_the_middle, group);
    assert_comes_true(sleeps_at(&group->watch, atomic_load(&waits_in_the_middle)));
    assert_int_equal(overridden(), 0);
    gate_open(&scene.door);
    pthread_join(waiter, &waited);
    assert_ptr_equal(waited, group);
    od_queue_release(queue);
    od_group_release(group);
}

/* Of two bands that are served alike each has its turns. */
HELD(a_lent_band_and_the_waiters_own_take_turns)
{
    enum { OWN = 20, LENT = 4 };
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    for (int i = 0; i < OWN; i++)
        od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, note, (void *)(uintptr_t)'u');
    for (int i = 0; i < LENT; i++)
        od_queue_async(queue, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_comes_true(atomic_load(&scene.ran) == OWN + LENT);
    assert_memory_equal(scene.order, "uBuBuBuBuuu", 11);
    od_queue_release(queue);
    od_group_release(group);
}

/* Found by reading: of three, the waiter's own got nothing until it was due by the bound. */
HELD(two_lent_bands_leave_the_waiters_own_its_turns)
{
    enum { OWN = 10, EACH_LENT = 20 };
    od_queue *utility = od_queue_create(scene.pool, OD_BAND_UTILITY, OD_UNLIMITED, "utility");
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    for (int i = 0; i < EACH_LENT; i++) {
        od_queue_async(utility, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'U');
        od_queue_async(queue, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    }
    for (int i = 0; i < OWN; i++)
        od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, note, (void *)(uintptr_t)'o');
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_comes_true(atomic_load(&scene.ran) == OWN + 2 * EACH_LENT);
    assert_in_range(strrchr(scene.order, 'o') - scene.order, OWN, 3 * OWN);
    release_queues(utility, queue);
    od_group_release(group);
}

/* One worker holds jobs of two bands, the other takes from it. */
static void note_and_keep(void *raw)
{
    od_pool *pool = odi_worker_self->team->pool;

    od_pool_submit(pool, OD_BAND_DEFAULT, note, (void *)(uintptr_t)'d');
    od_pool_submit(pool, OD_BAND_BACKGROUND, note, (void *)(uintptr_t)'B');
    gate_job(raw);
}

HELD(a_thief_takes_what_is_overridden_first)
{
    for (int is_overridden = 0; is_overridden < 2; is_overridden++) {
        od_pool_options options = options_for(2);
        gate thief = {0}, keeper = {0};
        odi_override override = {.band = OD_BAND_USER_INTERACTIVE};

        options.spare_workers = 0;
        od_pool *pool = pool_with(options, (odi_pool_world){.topology = machine_of(1, 2, 1)});
        memset(scene.order, 0, sizeof scene.order);
        atomic_store(&scene.ran, 0);
        hold_a_worker(pool, &thief);
        od_pool_submit(pool, OD_BAND_DEFAULT, note_and_keep, &keeper);
        assert_comes_true(atomic_load(&keeper.waiting) == 1);
        if (is_overridden)
            odi_override_begin(&override, &pool->team, OD_BAND_BACKGROUND);
        gate_open(&thief);
        assert_comes_true(atomic_load(&scene.ran) == 2);
        odi_override_end(&override);
        assert_string_equal(scene.order, is_overridden ? "Bd" : "dB");
        gate_open(&keeper);
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
    gate_open(&scene.door);
}

/* Where nothing is hinted at a worker with one band's work looks no farther; thieves of forks go by no hint at all. */
HELD(what_is_overridden_is_hinted_at_unless_forks_are_used)
{
    for (int forks_used = 0; forks_used < 2; forks_used++) {
        od_pool *pool = lone_worker();
        odi_override override = {.band = OD_BAND_USER_INTERACTIVE};

        odi_store_relaxed(&pool->team.forks_used, forks_used); /* relaxed, and below: nobody else is there */
        odi_override_begin(&override, &pool->team, OD_BAND_BACKGROUND);
        assert_int_equal(odi_load_relaxed(&pool->team.sites[0].bands), forks_used ? 0 : 1 << OD_BAND_BACKGROUND);
        odi_override_end(&override);
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
    gate_open(&scene.door);
}

static void end_in_a_child(void *override)
{
    odi_override_end(override);
    child_expects(overridden() == 0);
}

HELD(a_band_is_overridden_until_the_last_waiter_has_gone_and_in_no_child)
{
    odi_override first = {.band = OD_BAND_USER_INTERACTIVE}, last = first;

    odi_override_begin(&first, &scene.pool->team, OD_BAND_BACKGROUND);
    odi_override_begin(&last, &scene.pool->team, OD_BAND_BACKGROUND);
    assert_child_succeeds(end_in_a_child, &last);
    odi_override_end(&first);
    assert_true(overridden() != 0);
    odi_override_end(&last);
    assert_int_equal(overridden(), 0);
    gate_open(&scene.door);
}

static struct {
    od_pool *pool;
    od_queue *queue;
    gate door;
} other;

static void *free_the_other_pool(void *unused)
{
    assert_comes_true(overridden() != 0);
    gate_open(&other.door);
    end_queue(other.queue);
    assert_int_equal(od_pool_free(other.pool), OD_OK);
    gate_open(&scene.door);
    return unused;
}

HELD(a_pool_may_go_while_it_is_lent_to)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();
    pthread_t thread;

    other.pool = pool_of(1);
    other.queue = od_queue_create(other.pool, OD_BAND_BACKGROUND, OD_UNLIMITED, "other");
    od_pool_submit(other.pool, OD_BAND_DEFAULT, gate_job, &other.door);
    od_queue_async(other.queue, group, OD_QUEUE_BAND, no_job, NULL);
    od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    pthread_create(&thread, NULL, free_the_other_pool, NULL);
    assert_true(od_group_wait(group, HANG_NS));
    pthread_join(thread, NULL);
    assert_int_equal(overridden(), 0);
    od_queue_release(queue);
    od_group_release(group);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
