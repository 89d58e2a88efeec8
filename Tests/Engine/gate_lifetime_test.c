/* gate/: queues and groups by the thousand, whose memory serves again. */
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

SCENE(a_released_queue_still_runs_what_it_was_given,
      "50 times W in 0 1 2: queue q width W; queue r width W; suspend r; add q 20 a; release q; add r 20 a; release r; "
      "a -> 40")

QUEUE_TEST(a_released_queues_memory_serves_again)
{
    od_queue *first = queue_of(1), *target = queue_of(1), *cancelled = queue_on(target, 1, "cancelled");
    gate door = {0};

    add(first, no_job, NULL);
    assert_ptr_equal(od_queue_adopt_context(first, &door), &door);
    end_queue(first);
    assert_comes_true(serves_again(first));

    hold_a_job(target, &door);
    add(cancelled, no_job, NULL);
    assert_int_equal(od_queue_cancel_all(cancelled), 1);
    od_queue_release(cancelled);
    assert_false(serves_again(cancelled)); /* its drainer is on the way, and ends it */
    gate_open(&door);
    assert_comes_true(serves_again(cancelled));
    end_queue(target);
}

QUEUE_TEST(a_queue_that_is_released_within_a_sync_is_over_with_that)
{
    od_queue *queue = queue_of(1);
    od_scope scope;

    od_queue_sync_begin(queue, &scope);
    od_queue_release(queue);
    assert_false(serves_again(queue));
    od_queue_sync_end(&scope);
    assert_true(serves_again(queue));
}

QUEUE_TEST(groups_come_and_go_while_their_jobs_run)
{
    od_queue *queues[] = {queue_of(OD_UNLIMITED), queue_of(1), queue_of(2)};
    atomic_ullong ran = 0, notified = 0;

    for (int round = 0; round < UNLESS_SANITIZED(1000, 200); round++) {
        od_group *group = od_group_create();

        for (int i = 0; i < 12; i++)
            od_queue_async(queues[i % 3], group, i % 2 ? OD_QUEUE_BAND : 0, count_job, &ran);
        if (round % 3 == 0)
            od_group_notify(group, count_job, &notified);
        if (round % 3 == 1)
            assert_true(od_group_wait(group, HANG_NS));
        od_group_release(group); /* with its jobs under way, mostly */
    }
    assert_comes_true(atomic_load(&ran) == 12ull * UNLESS_SANITIZED(1000, 200));
    assert_comes_true(atomic_load(&notified) == (UNLESS_SANITIZED(1000, 200) + 2) / 3);
    for (int i = 0; i < 3; i++)
        od_queue_release(queues[i]);
}

/* A serial queue's own count, which nothing in a job has to wait for. */
static void count_alone(void *count) { ++*(int *)count; }

/* Found by reading: each kept the blocks of its longest burst. */
QUEUE_TEST(an_idle_line_keeps_no_blocks)
{
    od_queue *queue = queue_of(1);
    bool trimmed = false;

    od_queue_suspend(queue);
    add_many(queue, 4000, no_job, NULL);
    od_queue_resume(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    for (int tries = 0; tries < 10000 && !trimmed; tries++) { /* its drainer has yet to go */
        trimmed = LOOK(queue, queue->gate.held == 0 && queue->line.first == NULL &&
                                  queue->inbox.fifo.first == NULL && queue->batches == NULL);
        odi_clock_sleep(MILLISECONDS(1));
    }
    assert_true(trimmed);
    od_queue_release(queue);
}

QUEUE_TEST(ten_thousand_serial_queues_cost_no_threads)
{
    enum { QUEUES = 10000 };
    od_queue **queues = malloc(QUEUES * sizeof *queues);
    int *counts = calloc(QUEUES, sizeof *counts);

    for (int i = 0; i < QUEUES; i++)
        queues[i] = queue_of(1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < QUEUES; i++)
            add(queues[i], count_alone, &counts[i]);
    }
    for (int i = 0; i < QUEUES; i++) {
        assert_true(od_queue_wait(queues[i], HANG_NS));
        assert_int_equal(counts[i], 3);
    }
#ifdef ODI_TSAN
    /* The sanitizer's runtime takes locks of its own inside jobs (its trace's, and each atomic
     * word's), and sleeps in the kernel for those whose holder is not running: such a job blocks,
     * and rightly has a spare. */
    assert_in_range(metrics_of(pool).threads_started, 1, 20);
#else
    assert_in_range(metrics_of(pool).threads_started, 1, 3);
    assert_int_equal(metrics_of(pool).most_spares, 0);
#endif
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    free(counts);
    free(queues);
}

/* More queues with work than there are tags: their jobs travel wrapped. */
QUEUE_TEST(queues_beyond_the_last_tag_work_the_same)
{
    enum { QUEUES = (1 << 15) + 500 };
    od_queue **queues = malloc(QUEUES * sizeof *queues);
    atomic_ullong ran = 0;
    uint64_t cancelled = 0;

    for (int i = 0; i < QUEUES; i++) {
        queues[i] = queue_of(i % 2 ? 1 : OD_UNLIMITED);
        if (i % 3 == 0)
            od_queue_suspend(queues[i]);
        add(queues[i], count_job, &ran);
        add(queues[i], count_job, &ran);
    }
    for (int i = 0; i < QUEUES; i += 3) {
        if (i % 2)
            cancelled += od_queue_cancel_all(queues[i]);
        od_queue_resume(queues[i]);
    }
    for (int i = 0; i < QUEUES; i++)
        assert_true(od_queue_wait(queues[i], HANG_NS));
    assert_true(cancelled > 1000);
    assert_int_equal(atomic_load(&ran) + cancelled, 2 * QUEUES);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    free(queues);
}

GUARDED_PROGRAM
