/* lane/: what a serial queue's drainer has in hand, and what the inbox has on credit. */
#include "Support/lanes.h"
#include "Support/prng.h"
#include "Support/watchdog.h"

#include <pthread.h>

/* Adds them all before the first starts, so that one drainer takes several at once. */
static void block_in_front_of(od_queue *queue, gate *door, int count, atomic_ullong *ran)
{
    od_queue_suspend(queue);
    add(queue, gate_job, door);
    for (int i = 0; i < count; i++)
        add(queue, count_job, ran);
    od_queue_resume(queue);
    assert_comes_true(atomic_load(&door->waiting) == 1);
    assert_int_equal(atomic_load(ran), 0);
}

/* Found by reading: up to 15 jobs waited for the blocked one, whatever the new width. */
static void a_width_raised_behind_a_blocked_job_holds_for_what_its_drainer_took(void **state)
{
    static const int32_t wider[] = {2, OD_UNLIMITED};

    (void)state;
    for (int i = 0; i < 2; i++) {
        od_queue *queue = queue_of(1);
        gate door = {0};
        atomic_ullong ran = 0;

        block_in_front_of(queue, &door, 30, &ran);
        od_queue_set_width(queue, wider[i]);
        assert_comes_true(atomic_load(&ran) == 30);
        assert_comes_true(od_queue_pending(queue) == 1);
        gate_open(&door);
        assert_true(od_queue_wait(queue, HANG_NS));
        od_queue_release(queue);
    }
}

static void what_was_taken_back_keeps_its_order(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        od_queue *queue = queue_of(1);
        gate door = {0};
        atomic_ullong ran = 0;

        block_in_front_of(queue, &door, 30, &ran);
        od_queue_suspend(queue);
        gate_open(&door);
        assert_true(od_queue_pending(queue) >= 30);
        add(queue, count_job, &ran);
        od_queue_resume(queue);
        od_stay stay;
        od_queue_sync_begin(queue, &stay); /* after all of them, in a serial order */
        assert_int_equal(atomic_load(&ran), 31);
        od_queue_sync_end(&stay);
        assert_true(od_queue_wait(queue, HANG_NS));
        od_queue_release(queue);
    }
}

static void a_cancel_counts_what_a_blocked_drainer_took(void **state)
{
    od_queue *queue = queue_of(1);
    gate door = {0};
    atomic_ullong ran = 0;

    (void)state;
    block_in_front_of(queue, &door, 30, &ran);
    assert_int_equal(od_queue_cancel_all(queue), 30);
    assert_int_equal(od_queue_pending(queue), 1);
    add(queue, count_job, &ran);
    gate_open(&door);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&ran), 1);
    od_queue_release(queue);
}

/* ---- exactly once, whatever is changed meanwhile ---- */

enum { SUBMITTERS = 2, MOST_EACH = 20000 };

static struct {
    od_queue *queue;
    od_group *group;
    uint32_t each;
    atomic_int submitting;
    atomic_uchar times[SUBMITTERS * MOST_EACH];
} racing;

static void racing_job(void *raw)
{
    atomic_fetch_add(&racing.times[(uintptr_t)raw], 1);
}

static void *submit_racing(void *raw)
{
    uintptr_t first = (uintptr_t)raw * MOST_EACH;

    for (uintptr_t i = 0; i < racing.each; i++)
        od_queue_async(racing.queue, i % 7 == 0 ? racing.group : NULL,
                       i % 11 == 0 ? OD_BAND_USER_INITIATED : OD_QUEUE_BAND, racing_job,
                       (void *)(first + i));
    atomic_fetch_sub(&racing.submitting, 1);
    return NULL;
}

static void *change_racing(void *unused)
{
    prng random = prng_for(7, 1);
    od_stay stay;

    while (atomic_load(&racing.submitting) > 0) {
        switch (prng_below(&random, 5)) {
        case 0:
            od_queue_set_width(racing.queue, (int32_t)prng_below(&random, 4)); /* 0: unlimited */
            break;
        case 1:
            od_queue_suspend(racing.queue);
            sched_yield();
            od_queue_resume(racing.queue);
            break;
        case 2:
            od_queue_sync_begin(racing.queue, &stay);
            od_queue_sync_end(&stay);
            break;
        case 3:
            (void)od_queue_pending(racing.queue);
            break;
        default:
            od_queue_set_width(racing.queue, 1);
        }
    }
    return unused;
}

static void every_job_runs_once_while_width_and_suspension_change(void **state)
{
    (void)state;
    for (int round = 0; round < UNLESS_SANITIZED(6, 2); round++) {
        pthread_t submitters[SUBMITTERS], changer;

        memset(&racing, 0, sizeof racing);
        racing.queue = queue_of(1);
        racing.group = od_group_create();
        racing.each = UNLESS_SANITIZED(MOST_EACH, 2000);
        atomic_store(&racing.submitting, SUBMITTERS);
        for (uintptr_t i = 0; i < SUBMITTERS; i++)
            pthread_create(&submitters[i], NULL, submit_racing, (void *)i);
        pthread_create(&changer, NULL, change_racing, NULL);
        for (int i = 0; i < SUBMITTERS; i++)
            pthread_join(submitters[i], NULL);
        pthread_join(changer, NULL);
        assert_true(od_queue_wait(racing.queue, HANG_NS));
        assert_true(od_group_wait(racing.group, HANG_NS));
        assert_int_equal(od_queue_pending(racing.queue), 0);
        for (uint32_t s = 0; s < SUBMITTERS; s++) {
            for (uint32_t i = 0; i < racing.each; i++)
                assert_int_equal(atomic_load(&racing.times[s * MOST_EACH + i]), 1);
        }
        od_queue_release(racing.queue);
        od_group_release(racing.group);
    }
}

/* ---- credits ---- */

static void credits_are_not_pending_and_not_cancelled(void **state)
{
    od_queue *queue = queue_of(1);

    (void)state;
    for (int round = 1; round < 70; round++) {
        od_queue_suspend(queue);
        for (int i = 0; i < round; i++)
            add(queue, no_job, NULL);
        assert_true(queue->inbox.credited != NULL);
        assert_int_equal(od_queue_pending(queue), round);
        add(queue, no_job, NULL);
        assert_int_equal(od_queue_cancel_all(queue), round + 1);
        assert_int_equal(od_queue_pending(queue), 0);
        od_queue_resume(queue);
        assert_true(od_queue_wait(queue, HANG_NS));
    }
    od_queue_release(queue);
}

/* An empty lane keeps no credits, however it became empty; or its waiters would not wake. */
static void an_empty_lane_keeps_no_credits(void **state)
{
    od_queue *queue = queue_of(1);
    od_group *group = od_group_create();
    od_stay stay;

    (void)state;
    for (int round = 0; round < 200; round++) {
        add(queue, no_job, NULL);
        if (round % 2 == 0) {
            od_queue_sync_begin(queue, &stay);
            assert_int_equal(queue->inbox.credits, 0);
            od_queue_sync_end(&stay);
        }
        if (round % 3 == 0)
            od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
        if (round % 5 == 0)
            od_queue_async(queue, NULL, OD_BAND_USER_INTERACTIVE, no_job, NULL);
        assert_true(od_group_wait(group, HANG_NS));
        assert_true(od_queue_wait(queue, HANG_NS));
    }
    od_queue_release(queue);
    od_group_release(group);
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        LANE_TEST(a_width_raised_behind_a_blocked_job_holds_for_what_its_drainer_took),
        LANE_TEST(what_was_taken_back_keeps_its_order),
        LANE_TEST(a_cancel_counts_what_a_blocked_drainer_took),
        LANE_TEST(every_job_runs_once_while_width_and_suspension_change),
        LANE_TEST(credits_are_not_pending_and_not_cancelled),
        LANE_TEST(an_empty_lane_keeps_no_credits),
    };
    return run_guarded(tests);
}

CHILDREN_MAY_START_THREADS
