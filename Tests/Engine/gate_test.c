/* gate/: queues' order, width and suspension, and what a queue says. */
#include "Support/crowd.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

/* ---- serial order ---- */

enum { SUBMITTERS = 3, EACH = 5000, EACH_SANITIZED = 1000 };

static struct {
    od_queue *queue;
    int each;
    atomic_int inside;
    int overlaps, disorder, ran;
    int last[SUBMITTERS];
} serial;

static void serial_job(void *raw)
{
    int submitter = (int)((uintptr_t)raw >> 32), index = (int)(uintptr_t)raw;

    /* Nothing here is atomic but `inside`: a serial queue needs no more. */
    serial.overlaps += atomic_fetch_add(&serial.inside, 1) != 0;
    serial.disorder += index != serial.last[submitter] + 1;
    serial.last[submitter] = index;
    serial.ran++;
    atomic_fetch_sub(&serial.inside, 1);
}

static void *submit_in_order(void *raw)
{
    for (int i = 1; i <= serial.each; i++)
        add(serial.queue, serial_job, (void *)((uintptr_t)raw << 32 | (uintptr_t)i));
    return NULL;
}

static void assert_serial(int each)
{
    serial.each = each;
    serial.overlaps = serial.disorder = serial.ran = 0;
    memset(serial.last, 0, sizeof serial.last);
    run_on_threads(SUBMITTERS, submit_in_order);
    assert_true(od_queue_wait(serial.queue, HANG_NS));
    assert_int_equal(serial.overlaps, 0);
    assert_int_equal(serial.disorder, 0);
    assert_int_equal(serial.ran, SUBMITTERS * each);
}

QUEUE_TEST(a_serial_queue_runs_one_at_a_time_in_each_submitters_order)
{
    serial.queue = queue_of(1);
    assert_serial(UNLESS_SANITIZED(EACH, EACH_SANITIZED));
    od_queue_release(serial.queue);
}

static atomic_bool toggling;

static void *suspend_and_resume(void *queue)
{
    prng random = prng_for(3, 3);

    while (atomic_load(&toggling)) {
        od_queue_suspend(queue);
        if (prng_one_in(&random, 2))
            sched_yield();
        od_queue_resume(queue);
        for (uint32_t i = prng_below(&random, 100); i > 0; i--)
            odi_spin_pause();
        if (prng_one_in(&random, 16))
            odi_clock_sleep(100 * ODI_MICROSECOND); /* what it holds back gets through */
    }
    return NULL;
}

static void *resize(void *raw)
{
    prng random = prng_for(4, 4);

    while (atomic_load(&toggling)) {
        od_pool_set_workers(pool, 1 + (int)prng_below(&random, 6));
        odi_clock_sleep(100 * ODI_MICROSECOND);
    }
    return NULL;
}

static void assert_serial_beside(void *(*disturb)(void *queue))
{
    pthread_t thread;

    serial.queue = queue_of(1);
    atomic_store(&toggling, true);
    pthread_create(&thread, NULL, disturb, serial.queue);
    assert_serial(UNLESS_SANITIZED(EACH, EACH_SANITIZED));
    atomic_store(&toggling, false);
    pthread_join(thread, NULL);
    od_queue_release(serial.queue);
}

QUEUE_TEST(order_survives_suspensions) { assert_serial_beside(suspend_and_resume); }

QUEUE_TEST(order_survives_a_pool_that_changes_its_size) { assert_serial_beside(resize); }

/* ---- width ---- */

SCENE(at_most_width_jobs_run_at_once,
      "W in 1 2 3 4 5: queue q width W; add q 10 Door; Door -> W; settle; Door = W; open Door; add q 2000 {come; a; go}; "
      "wait q; a = 2000; pool.most <= W; q.width = W")

SCENE(the_widest_width_is_a_width,
      "queue q width 2147483647; q.width = 2147483647; width q 0; q.width = 0; width q 2147483647; q.width = 2147483647")

SCENE(a_narrower_width_holds_for_what_starts_afterwards,
      "queue q; hold q 3 Door; add q 500 {come; a; go}; width q 1; add q 500 {come; a; go}; open Door; wait q; "
      "a = 1000; pool.most <= 4; anew; add q 500 {come; a; go}; wait q; pool.most = 1; "
      "hold q 1 Only; add q a; settle; a = 1500; open Only; width q 0; add q 500 {come; a; go}; wait q; a = 2001")

/* ---- suspension ---- */

SCENE(nothing_starts_while_suspended,
      "W in 0 1 2: queue q width W; suspend q; suspend q; q.suspended = 1; add q 100 a; resume q; q.suspended = 1; "
      "settle; a = 0; q.pending = 100; busy q; resume q; q.suspended = 0; wait q; a = 100")

SCENE(what_was_queued_before_a_suspension_is_held_back_too,
      "queue q; hold q 3 Door; add q 200 a; suspend q; open Door; pool.diverted -> 200; a = 0; resume q; wait q; "
      "a = 200")

SCENE_TRAPS(one_resume_too_many_traps_by_name,
            "pool 1; queue balanced width 1; suspend balanced; resume balanced; resume balanced",
            "TaskQueue.resume(): called more often than suspend() (\"balanced\")")

/* ---- what a queue says ---- */

static void note_band(void *band) { *(atomic_int *)band = od_pool_current_band(); }

QUEUE_TEST(a_job_runs_in_its_queues_band_or_a_higher_one)
{
    od_queue *queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, NULL);
    static const int asked[] = {OD_QUEUE_BAND, 0, 1, 2, 3, 4, 99, -7};
    static const int given[] = {3, 0, 1, 2, 3, 3, 3, 3};

    assert_int_equal(od_pool_current_band(), -1);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        atomic_int band = -5;

        od_queue_async(queue, NULL, asked[i], note_band, &band);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&band), given[i]);
    }
    assert_string_equal(od_queue_label(queue), "");
    assert_int_equal(od_queue_band(queue), OD_BAND_UTILITY);
    od_queue_release(queue);
}

QUEUE_TEST(a_long_label_is_cut)
{
    char label[100];

    memset(label, 'q', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, label);
    assert_int_equal(strlen(od_queue_label(queue)), OD_LABEL_BYTES - 1);
    od_queue_release(queue);
}

SCENE(notifications_of_a_queue_come_when_it_is_empty,
      "queue q width 1; notify q told; told = 1; suspend q; add q a; notify q told; settle; told = 1; resume q; "
      "told -> 2; suspend q; add q a; notify q told; cancel q 1; told -> 3")

static struct {
    od_queue *suspended;
    uint64_t threads_before, threads_after;
    bool blocked;
} asks;

static void ask_again_and_again(void *unused)
{
    asks.threads_before = metrics_of(pool).threads_started;
    for (int i = 0; i < 100; i++)
        asks.suspended = od_queue_wait(asks.suspended, 0) ? NULL : asks.suspended;
    asks.threads_after = metrics_of(pool).threads_started;
    asks.blocked = odi_worker_self->waits_ns != 0; /* it never waited before either */
}

/* Once a worker that asked so gave its place away and took it again, each time. */
QUEUE_TEST(a_wait_without_time_only_looks)
{
    od_pool *three = pool;
    atomic_ullong ran = 0;

    pool = pool_of(1);
    od_queue *queue = queue_of(OD_UNLIMITED);
    asks.suspended = queue_of(1);
    od_queue_suspend(asks.suspended);
    add(asks.suspended, count_job, &ran);
    od_queue_suspend(queue);
    add(queue, ask_again_and_again, NULL);
    add_many(queue, 10, count_job, &ran); /* for who comes in its place */
    od_queue_resume(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_non_null(asks.suspended);
    assert_int_equal(asks.threads_after, asks.threads_before);
    assert_false(asks.blocked);
    od_queue_resume(asks.suspended);
    end_queue(asks.suspended);
    assert_int_equal(atomic_load(&ran), 11);
    end_pool(pool, queue);
    pool = three;
}

enum { PERMITS = 3000 }; /* more than a pool has room for workers */

SCENE(as_many_tasks_hold_a_limited_queue_as_it_is_wide,
      "queue q width 3000; add q 3000 {keep q 1; kept}; kept -> 3000; add q a; settle; a = 0; "
      "add pool 3000 {give q 1; given}; given -> 3000; wait q; a = 1")

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
