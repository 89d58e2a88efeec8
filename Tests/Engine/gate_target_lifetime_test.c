/* gate/target.c: how a queue comes onto another, how long that one lives, and how both end. */
#include "Support/crowd.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

static crowd visitors;

/* ---- setting a target ---- */

QUEUE_TEST(an_inactive_queue_changes_its_target)
{
    od_queue *first = queue_of(1), *second = queue_of(1), *queue = inactive_queue(1, "moving");
    gate door = {0};

    crowd_begin(&visitors);
    od_queue_set_target(queue, first);
    add(queue, crowd_visit, &visitors);
    od_queue_set_target(queue, second);
    od_queue_suspend(first); /* has nothing to do with it any more */
    hold_a_job(second, &door);
    od_queue_activate(queue);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&visitors.visits), 0); /* for want of a place */
    od_queue_suspend(second);
    gate_open(&door);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&visitors.visits), 0);
    od_queue_resume(second);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&visitors.visits), 1);
    release_queues(first, queue, second);

    queue = inactive_queue(1, "free");
    first = queue_of(1);
    od_queue_set_target(queue, first);
    od_queue_set_target(queue, NULL);
    od_queue_suspend(first);
    od_queue_activate(queue);
    add(queue, crowd_visit, &visitors);
    end_queue(queue);
    od_queue_release(first);
}

static void set_a_target_late(void *unused) { od_queue_set_target(queue_of(1), queue_of(1)); }

static void close_a_circle(void *unused)
{
    od_queue *a = inactive_queue(1, "a"), *b = inactive_queue(1, "b"), *c = inactive_queue(1, "c");

    od_queue_set_target(a, b);
    od_queue_set_target(b, c);
    od_queue_set_target(c, a);
}

static void be_ones_own_target(void *unused)
{
    od_queue *a = inactive_queue(1, "a");

    od_queue_set_target(a, a);
}

static void be_on_another_pools(void *unused)
{
    od_queue_set_target(inactive_queue(1, "a"), od_queue_create(pool_of(1), OD_BAND_DEFAULT, 1, "b"));
}

QUEUE_TEST(circles_and_late_targets_trap_by_name)
{
    assert_child_traps(be_on_another_pools, NULL, "TaskQueue \"a\" cannot be on \"b\", which is another scheduler's");
    assert_child_traps(set_a_target_late, NULL, "TaskQueue.setTarget of \"test\", which is active");
    assert_child_traps(close_a_circle, NULL,
                       "TaskQueue.setTarget of \"c\" would put it on itself: \"c\" -> \"a\" -> \"b\" -> \"c\"");
    assert_child_traps(be_ones_own_target, NULL,
                       "TaskQueue.setTarget of \"a\" would put it on itself: \"a\" -> \"a\"");
}

/* ---- lives, memory, ends ---- */

QUEUE_TEST(a_target_lives_as_long_as_what_is_on_it)
{
    for (int round = 0; round < UNLESS_SANITIZED(300, 50); round++) {
        od_queue *target = queue_of(widths[(size_t)round % WIDTHS]);
        od_queue *mid = queue_on(target, 1, "mid"), *high = queue_on(mid, OD_UNLIMITED, "high");

        crowd_begin(&visitors);
        add_many(high, 20, crowd_visit, &visitors);
        release_queues(target, mid);
        add(high, crowd_visit, &visitors);
        od_queue_release(high);
        assert_comes_true(atomic_load(&visitors.visits) == 21);
    }
}

/* A line that nobody has entered ends no drainer that could end the queue's life. */
QUEUE_TEST(a_target_is_over_with_queues_that_never_ran_anything)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *target = queue_of(widths[i]), *unused = queue_on(target, widths[i], "unused");
        od_queue *idle = inactive_queue(1, "never active"), *moved = inactive_queue(1, "moved");

        od_queue_set_target(idle, target);
        od_queue_set_target(moved, target);
        od_queue_set_target(moved, NULL);
        od_queue_release(target);
        assert_false(serves_again(target));
        od_queue_release(unused);
        assert_false(serves_again(target));
        od_queue_release(idle);
        assert_true(serves_again(target));
        od_queue_release(moved);
    }
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
