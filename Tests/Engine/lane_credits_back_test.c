/* lane/lane.c, drain.c, borrow.c: credits of inboxes, where queues are on queues. What is not used of them keeps
 * a wait for the queue waiting, and a notification of it, so they are given back where nothing of the queue's own
 * waits any more. In each of these tests they were not, and a notification came too late or never. All were found
 * by reading. */
#include "Support/lanes.h"
#include "Support/looks.h"
#include "Support/watchdog.h"

#include <pthread.h>

/* Whether the queue's own jobs are over, and what is outstanding are credits that nobody has used. */
static bool only_credits_are_left(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_lock_acquire(&queue->inbox.lock);
    uint32_t credits = queue->inbox.credits;
    bool only = credits > 0 &&
                odi_records_outstanding(queue->records, odi_record_next_of_queue) == credits;
    odi_lock_release(&queue->inbox.lock);
    odi_lock_release(&queue->watch.lock);
    return only;
}

static void be_noted(void *noted)
{
    atomic_store((atomic_bool *)noted, true);
}

/* ---- queues on the target ---- */

/* All that waits in the target's lane are passes of queues on it, for as long as those are busy. */
static void a_notification_of_a_target_does_not_wait_for_the_queues_on_it(void **state)
{
    od_pool *before = pool;
    gate busy = {0}, of_target = {0}, on_target = {0};
    atomic_bool noted = false;

    (void)state;
    pool = lone_worker();
    od_queue *target = queue_of(1), *on_it = queue_on(target, 1, "on it");
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &busy);
    assert_comes_true(atomic_load(&busy.waiting) == 1);
    add(target, gate_job, &of_target);
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
static void a_notification_of_a_queue_does_not_wait_for_its_suspended_target(void **state)
{
    od_pool *before = pool;
    gate busy = {0}, last = {0};
    atomic_bool noted = false;

    (void)state;
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

/* ---- a holder that takes its place back ---- */

static struct {
    od_queue *target, *on_it;
    gate first, first_in_target; /* in both; in the target */
    gate second;                 /* in the target, before it syncs onto the other one */
    gate second_is_back;         /* in both */
    gate third;                  /* in the target */
    gate on_top;                 /* on a worker, on top of a caller of both that waits for the target */
} scene;

static void *be_first(void *unused)
{
    od_stay target, on_it;

    od_queue_sync_begin(scene.target, &target);
    od_queue_sync_begin(scene.on_it, &on_it);
    gate_pass(&scene.first);
    od_queue_sync_end(&on_it);
    gate_pass(&scene.first_in_target);
    od_queue_sync_end(&target);
    return unused;
}

static void *be_second(void *unused)
{
    od_stay target, on_it;

    od_queue_sync_begin(scene.target, &target);
    gate_pass(&scene.second);
    od_queue_sync_begin(scene.on_it, &on_it);
    gate_pass(&scene.second_is_back);
    od_queue_sync_end(&on_it);
    od_queue_sync_end(&target);
    return unused;
}

static void *be_third(void *unused)
{
    od_stay target;

    od_queue_sync_begin(scene.target, &target);
    gate_pass(&scene.third);
    od_queue_sync_end(&target);
    return unused;
}

/* As a worker's job, with another one in the worker's deque. */
static void call_both(void *unused)
{
    od_stay stay;

    (void)unused;
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &scene.on_top);
    od_queue_sync_begin(scene.on_it, &stay);
    od_queue_sync_end(&stay);
}

/* So that the other worker has nobody but itself for what lies in its deque. */
static void blocking_gate_job(void *door)
{
    od_blocking_begin();
    gate_pass(door);
    od_blocking_end();
}

/* The caller is away when the holder comes back, so it takes no place meanwhile and the target's jobs run; the
 * last of them is over and its drainer in line in the pool when the caller goes back into the target's line.
 * There its coming takes what is left of the credits off, and who had come to wait was not told. */
static void who_takes_a_place_back_gives_back_the_credits_of_the_line(void **state)
{
    od_pool_options options = options_for(2);
    od_pool *before = pool;
    gate busy = {0}, last = {0}, urgent = {0};
    atomic_bool noted = false;
    pthread_t first, second, third;

    (void)state;
    options.spare_workers = 0;
    pool = pool_with(options, (odi_pool_world){0});
    memset(&scene, 0, sizeof scene);
    scene.target = queue_of(3);
    scene.on_it = queue_on(scene.target, 2, "on it");
    pthread_create(&first, NULL, be_first, NULL);
    assert_comes_true(atomic_load(&scene.first.waiting) == 1);
    pthread_create(&second, NULL, be_second, NULL);
    pthread_create(&third, NULL, be_third, NULL);
    assert_comes_true(atomic_load(&scene.second.waiting) + atomic_load(&scene.third.waiting) == 2);
    od_pool_submit(pool, OD_BAND_DEFAULT, blocking_gate_job, &busy);
    assert_comes_true(atomic_load(&busy.waiting) == 1);
    od_pool_submit(pool, OD_BAND_DEFAULT, call_both, NULL);
    assert_comes_true(atomic_load(&scene.on_top.waiting) == 1);
    add(scene.target, no_job, NULL); /* behind the caller */
    add(scene.target, gate_job, &last);
    od_queue_notify(scene.target, be_noted, &noted);
    gate_open(&scene.second);
    assert_comes_true(away_from(scene.target) == 1);
    od_pool_submit(pool, OD_BAND_BACKGROUND, no_job, NULL); /* turns of one job */
    gate_open(&scene.third);
    pthread_join(third, NULL); /* a drainer has its place */
    gate_open(&busy);
    assert_comes_true(atomic_load(&last.waiting) == 1);
    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, gate_job, &urgent);
    gate_open(&last);
    assert_comes_true(atomic_load(&urgent.waiting) == 1);
    bool is_as_told = COMES_TRUE(only_credits_are_left(scene.target));
    bool was_noted = atomic_load(&noted);
    gate_open(&scene.first);
    bool is_noted = COMES_TRUE(atomic_load(&noted));
    gate_open(&scene.second_is_back);
    gate_open(&scene.first_in_target);
    gate_open(&scene.on_top);
    gate_open(&urgent);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    add(scene.target, no_job, NULL); /* whose end tells, if nothing has */
    assert_comes_true(atomic_load(&noted));
    assert_true(od_queue_wait(scene.on_it, HANG_NS));
    assert_true(od_queue_wait(scene.target, HANG_NS));
    od_queue_release(scene.on_it);
    od_queue_release(scene.target);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pool = before;
    assert_true(is_as_told);
    assert_false(was_noted);
    assert_true(is_noted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LANE_TEST(a_notification_of_a_target_does_not_wait_for_the_queues_on_it),
        LANE_TEST(a_notification_of_a_queue_does_not_wait_for_its_suspended_target),
        LANE_TEST(who_takes_a_place_back_gives_back_the_credits_of_the_line),
    };
    return run_guarded(tests);
}
