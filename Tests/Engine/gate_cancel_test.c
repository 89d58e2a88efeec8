/* gate/: what a cancel keeps from running, and counts. */
#include "Support/queues.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

QUEUE_TEST(a_cancel_of_what_waits_is_exact)
{
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        od_group *group = od_group_create();
        atomic_ullong ran = 0;

        assert_int_equal(od_queue_cancel_all(queue), 0);
        od_queue_suspend(queue);
        for (int job = 0; job < 100; job++)
            od_queue_async(queue, job % 2 ? group : NULL, job % 4 ? OD_QUEUE_BAND : 0, count_job, &ran);
        assert_int_equal(od_queue_cancel_all(queue), 100);
        assert_int_equal(od_queue_cancel_all(queue), 0);
        assert_true(od_group_wait(group, HANG_NS));
        assert_true(od_queue_wait(queue, HANG_NS));
        od_queue_resume(queue);
        add(queue, count_job, &ran); /* the queue goes on */
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), 1);
        od_group_release(group);
        od_queue_release(queue);
    }
}

QUEUE_TEST(a_job_that_runs_is_not_cancelled)
{
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        gate door = {0};
        atomic_ullong ran = 0;

        hold_a_job(queue, &door);
        od_queue_suspend(queue); /* so that no second one starts */
        add_many(queue, 50, count_job, &ran);
        assert_int_equal(od_queue_cancel_all(queue), 50);
        assert_int_equal(od_queue_pending(queue), 1);
        assert_false(od_queue_wait(queue, 0));
        gate_open(&door);
        od_queue_resume(queue);
        end_queue(queue);
        assert_int_equal(atomic_load(&ran), 0);
    }
}

/* It has met them in the pool, and given them back to the line's front. */
TEST(what_a_worker_met_of_a_suspended_queue_is_cancelled_too)
{
    od_pool *lone = lone_worker();
    od_queue_options options = {.band = OD_BAND_DEFAULT, .label = "met", .shared = true};
    od_queue *queue = od_queue_create_with(lone, &options);
    od_group *group = od_group_create();
    gate door = {0};

    hold_a_worker(lone, &door);
    for (int job = 0; job < 10; job++)
        od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    od_queue_suspend(queue);
    gate_open(&door);
    assert_comes_true(LOOK(queue, queue->early.count) == 10);
    assert_int_equal(od_queue_cancel_all(queue), 10);
    assert_true(od_group_wait(group, HANG_NS)); /* and not when somebody resumes it */
    od_queue_resume(queue);
    od_group_release(group);
    end_pool(lone, queue);
}

static struct {
    od_queue *queue;
    od_group *group;
    atomic_ullong ran, submitted, cancelled;
    atomic_int running;
    bool from_inside;
} race;

static void spawning_job(void *depth)
{
    atomic_fetch_add(&race.ran, 1);
    for (int i = 0; (intptr_t)depth > 0 && i < 3; i++) {
        atomic_fetch_add(&race.submitted, 1);
        od_queue_async(race.queue, i % 2 ? race.group : NULL, OD_QUEUE_BAND, spawning_job,
                       (void *)((intptr_t)depth - 1));
    }
    if (race.from_inside && (intptr_t)depth == 1)
        atomic_fetch_add(&race.cancelled, od_queue_cancel_all(race.queue));
}

static void *race_submitter(void *unused)
{
    for (int i = 0; i < UNLESS_SANITIZED(4000, 600); i++) {
        atomic_fetch_add(&race.submitted, 1);
        od_queue_async(race.queue, i % 2 ? race.group : NULL, OD_QUEUE_BAND, spawning_job,
                       (void *)(intptr_t)(i % 3));
    }
    atomic_fetch_sub(&race.running, 1);
    return NULL;
}

static void *race_canceller(void *unused)
{
    while (atomic_load(&race.running) > 0) {
        atomic_fetch_add(&race.cancelled, od_queue_cancel_all(race.queue));
        sched_yield();
    }
    return NULL;
}

QUEUE_TEST(racing_cancels_account_for_every_job)
{
    for (size_t i = 0; i < 6; i++) {
        pthread_t submitters[2], cancellers[2];

        memset(&race, 0, sizeof race);
        race.queue = queue_of(widths[i % 3]);
        race.group = od_group_create();
        race.from_inside = i >= 3;
        atomic_store(&race.running, 2);
        start_threads(submitters, 2, race_submitter);
        start_threads(cancellers, 2, race_canceller);
        join_threads(submitters, 2);
        join_threads(cancellers, 2);
        assert_true(od_queue_wait(race.queue, HANG_NS));
        assert_true(od_group_wait(race.group, HANG_NS));
        if (atomic_load(&race.submitted) != atomic_load(&race.ran) + atomic_load(&race.cancelled))
            print_error("width %d: submitted %llu, ran %llu, cancelled %llu\n", widths[i % 3],
                        atomic_load(&race.submitted), atomic_load(&race.ran),
                        atomic_load(&race.cancelled));
        assert_int_equal(atomic_load(&race.submitted), atomic_load(&race.ran) + atomic_load(&race.cancelled));
        assert_int_equal(od_queue_pending(race.queue), 0);
        assert_int_equal(od_group_pending(race.group), 0);
        od_queue_release(race.queue);
        od_group_release(race.group);
    }
}

QUEUE_TEST(what_is_cancelled_is_in_the_pools_counters)
{
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        uint64_t before = metrics_of(pool).cancelled;

        od_queue_suspend(queue);
        add_many(queue, 100, no_job, NULL);
        assert_int_equal(od_queue_cancel_all(queue), 100);
        od_queue_resume(queue);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_comes_true(metrics_of(pool).cancelled == before + 100);
        od_queue_release(queue);
    }
}

static struct {
    od_queue *queue;
    atomic_int told, inside;
} end_of_cancelled;

static void look_around(void *unused)
{
    atomic_fetch_add(&end_of_cancelled.inside, od_queue_is_current(end_of_cancelled.queue));
    atomic_fetch_add(&end_of_cancelled.told, 1);
}

/* The worker that finds the job cancelled tells its end, and believed itself inside it: a sync there came in where it had
 * to wait. */
QUEUE_TEST(the_end_of_a_job_that_was_cancelled_is_told_outside_of_it)
{
    od_pool *lone = lone_worker();
    gate door = {0};
    atomic_ullong ran = 0;

    memset(&end_of_cancelled, 0, sizeof end_of_cancelled);
    end_of_cancelled.queue = od_queue_create(lone, OD_BAND_DEFAULT, OD_UNLIMITED, "test");
    hold_a_worker(lone, &door);
    add(end_of_cancelled.queue, count_job, &ran);
    assert_int_equal(od_queue_cancel_all(end_of_cancelled.queue), 1);
    assert_int_equal(od_queue_notify(end_of_cancelled.queue, look_around, NULL), OD_OK);
    assert_int_equal(atomic_load(&end_of_cancelled.told), 0);
    gate_open(&door);
    assert_comes_true(atomic_load(&end_of_cancelled.told) == 1);
    assert_int_equal(atomic_load(&end_of_cancelled.inside), 0);
    assert_int_equal(atomic_load(&ran), 0);
    end_pool(lone, end_of_cancelled.queue);
}

GUARDED_PROGRAM
