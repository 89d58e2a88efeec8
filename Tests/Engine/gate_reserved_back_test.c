/* gate/settle.c, drain.c, earmark.c: reserved counts of inboxes, where queues are on queues. What is not used of them keeps
 * a wait for the queue waiting, and a notification of it, so they are given back where nothing of the queue's own
 * waits any more. In each of these tests they were not, and a notification came too late or never. All were found
 * by reading. */
#include "Support/looks.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

static void be_noted(void *noted)
{
    atomic_store((atomic_bool *)noted, true);
}

/* ---- queues on the target ---- */

/* All that waits in the target's line are passes of queues on it, for as long as those are busy. */
QUEUE_TEST(a_notification_of_a_target_does_not_wait_for_the_queues_on_it)
{
    od_pool *before = pool;
    gate busy = {0}, of_target = {0}, on_target = {0};
    atomic_bool noted = false, second = false;

    pool = lone_worker();
    od_queue *target = queue_of(1), *on_it = queue_on(target, 1, "on it");
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &busy);
    assert_comes_true(atomic_load(&busy.waiting) == 1);
    add(target, gate_job, &of_target);
    add(target, be_noted, &second); /* the first is counted by itself, this one among others */
    add(on_it, gate_job, &on_target);
    od_queue_notify(target, be_noted, &noted);
    gate_open(&busy);
    assert_comes_true(atomic_load(&of_target.waiting) == 1);
    gate_open(&of_target);
    assert_comes_true(atomic_load(&on_target.waiting) == 1);
    bool is_noted = COMES_TRUE(atomic_load(&noted));
    gate_open(&on_target);
    assert_true(od_queue_wait(on_it, HANG_NS));
    assert_comes_true(atomic_load(&noted));
    od_queue_release(on_it);
    od_queue_release(target);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pool = before;
    assert_true(is_noted);
}

/* ---- a queue on a target that is suspended ---- */

/* The drainer of two jobs stands in the target's line when they are over, and has left nothing behind. */
QUEUE_TEST(a_notification_of_a_queue_does_not_wait_for_its_suspended_target)
{
    od_pool *before = pool;
    gate busy = {0}, last = {0};
    atomic_bool noted = false;

    pool = lone_worker();
    od_queue *target = queue_of(1), *on_it = queue_on(target, 1, "on it");
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &busy);
    assert_comes_true(atomic_load(&busy.waiting) == 1);
    add(on_it, no_job, NULL);
    add(on_it, gate_job, &last);
    od_queue_notify(on_it, be_noted, &noted);
    gate_open(&busy);
    assert_comes_true(atomic_load(&last.waiting) == 1);
    od_queue_suspend(target);
    gate_open(&last);
    bool is_noted = COMES_TRUE(atomic_load(&noted));
    od_queue_resume(target);
    assert_comes_true(atomic_load(&noted));
    assert_true(od_queue_wait(on_it, HANG_NS));
    od_queue_release(on_it);
    od_queue_release(target);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pool = before;
    assert_true(is_noted);
}

/* ---- a queue whose turn is behind another band's ---- */

/* Two jobs of a lower band, one for each 256 of a higher one. Behind the second its drainer waits for its turn again, with
 * nothing to run. */
QUEUE_TEST(a_notification_of_a_queue_does_not_wait_for_another_band)
{
    enum { PASSED_OVER = 256, AHEAD = 2 * PASSED_OVER + PASSED_OVER / 2 };

    od_pool *before = pool;
    gate busy = {0}, other = {0};
    atomic_bool ran = false, noted = false;

    pool = lone_worker();
    od_queue *low = od_queue_create(pool, OD_BAND_UTILITY, 1, "low");
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &busy);
    assert_comes_true(atomic_load(&busy.waiting) == 1);
    add(low, no_job, NULL);
    add(low, be_noted, &ran);
    od_queue_notify(low, be_noted, &noted);
    for (int job = 0; job < AHEAD; job++)
        od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &other);
    gate_open(&busy);
    assert_comes_true(atomic_load(&other.waiting) == 1);
    bool has_run = atomic_load(&ran), is_noted = atomic_load(&noted);
    gate_open(&other);
    assert_true(od_queue_wait(low, HANG_NS));
    assert_comes_true(atomic_load(&noted));
    od_queue_release(low);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pool = before;
    assert_true(has_run);
    assert_true(is_noted);
}

GUARDED_PROGRAM
