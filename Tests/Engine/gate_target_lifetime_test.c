/* gate/target.c: how a queue comes onto another, how long that one lives, and how both end. */
#include "Support/crowd.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

#include <pthread.h>

static crowd visitors;

/* ---- setting a target ---- */

QUEUE_TEST(an_inactive_queue_changes_its_target)
{
    od_queue *first = queue_of(1), *second = queue_of(1), *queue = inactive_queue(1, "moving");

    crowd_begin(&visitors);
    od_queue_set_target(queue, first);
    add(queue, crowd_visit, &visitors);
    od_queue_set_target(queue, second);
    od_queue_suspend(first); /* has nothing to do with it any more */
    od_queue_activate(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&visitors.visits), 1);
    od_queue_release(first);
    od_queue_release(queue);
    od_queue_release(second);

    queue = inactive_queue(1, "free");
    first = queue_of(1);
    od_queue_set_target(queue, first);
    od_queue_set_target(queue, NULL);
    od_queue_suspend(first);
    od_queue_activate(queue);
    add(queue, crowd_visit, &visitors);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_queue_release(queue);
    od_queue_release(first);
}

static void set_a_target_late(void *unused)
{
    od_queue_set_target(queue_of(1), queue_of(1));
}

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

QUEUE_TEST(circles_and_late_targets_trap_by_name)
{
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
        for (int job = 0; job < 20; job++)
            add(high, crowd_visit, &visitors);
        od_queue_release(target);
        od_queue_release(mid);
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

QUEUE_TEST(a_stop_cancels_what_a_suspended_target_holds)
{
    od_pool *mine = pool, *other = pool_of(2);
    od_stop_report report;

    pool = other;
    od_queue *target = queue_of(1), *high = queue_on(queue_on(target, 1, "mid"), 1, "high");
    pool = mine;
    crowd_begin(&visitors);
    od_queue_suspend(target);
    for (int job = 0; job < 5; job++)
        add(high, crowd_visit, &visitors);
    assert_int_equal(od_pool_stop(other, HANG_NS, &report), OD_OK);
    assert_report(&report, 0, 5, 0);
    od_queue_resume(target);
    od_queue_release(high);
    od_queue_release(target);
    assert_int_equal(od_pool_free(other), OD_OK);
}

/* ---- everything at once ---- */

static atomic_bool toggling;

static void *toggle(void *raw)
{
    prng random = prng_for(5, 5);

    for (int turn = 0; atomic_load(&toggling); turn++) {
        od_queue *queue = ((od_queue **)raw)[prng_below(&random, 4)];

        od_queue_suspend(queue);
        if (prng_one_in(&random, 2))
            sched_yield();
        od_queue_resume(queue);
        yield_now_and_then(turn);
    }
    return NULL;
}

static atomic_ullong submitted;

static void *submit_everywhere(void *raw)
{
    prng random = prng_for(6, (uint64_t)(uintptr_t)pthread_self());
    od_scope scope;

    for (int i = 0; i < UNLESS_SANITIZED(4000, 400); i++) {
        od_queue *queue = ((od_queue **)raw)[prng_below(&random, 4)];

        if (prng_one_in(&random, 20)) {
            od_queue_sync_begin(queue, &scope);
            crowd_visit(&visitors);
            od_queue_sync_end(&scope);
        } else if (prng_one_in(&random, 20))
            add_barrier(queue, crowd_visit, &visitors);
        else
            add(queue, crowd_visit, &visitors);
        atomic_fetch_add(&submitted, 1);
    }
    return NULL;
}

/* The ledger of a tree: what is submitted anywhere in it runs once, one at a time, or is counted
 * by a cancel. */
QUEUE_TEST(everything_at_once_on_a_tree_of_queues)
{
    od_queue *queues[4];
    pthread_t threads[3], toggler;
    uint64_t cancelled = 0;

    crowd_begin(&visitors);
    queues[0] = queue_of(1);
    queues[1] = queue_on(queues[0], OD_UNLIMITED, "a");
    queues[2] = queue_on(queues[1], 1, "aa");
    queues[3] = queue_on(queues[1], 2, "ab");
    atomic_store(&submitted, 0);
    atomic_store(&toggling, true);
    pthread_create(&toggler, NULL, toggle, queues);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, submit_everywhere, queues);
    for (int i = 0; i < 40; i++) {
        cancelled += od_queue_cancel_all(queues[i % 4]);
        sched_yield();
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&toggling, false);
    pthread_join(toggler, NULL);
    for (int i = 3; i >= 0; i--) {
        assert_true(od_queue_wait(queues[i], HANG_NS));
        od_queue_release(queues[i]);
    }
    assert_int_equal(atomic_load(&visitors.visits) + cancelled, atomic_load(&submitted));
    assert_int_equal(atomic_load(&visitors.most), 1);
}

GUARDED_PROGRAM

CHILDREN_MAY_START_THREADS
