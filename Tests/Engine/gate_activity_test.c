/* gate/: queues that begin inactive, and how many of a queue's jobs run. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "include/od_report.h"

/* ---- inactive ---- */

SCENE(an_inactive_queue_starts_nothing_until_it_is_activated,
      "W in 0 1 2: queue q width W inactive; q.active = 0; q.suspended = 0; add q 100 a; settle; a = 0; "
      "q.pending = 100; activate q; q.active = 1; wait q; a = 100; add q a; wait q; a = 101")

SCENE(suspensions_count_beside_being_inactive,
      "queue q inactive; add q a; suspend q; activate q; activate q; q.suspended = 1; settle; a = 0; resume q; wait q; "
      "a = 1; queue r width 1 inactive; suspend r; r.suspended = 1; resume r; add r a; settle; a = 1; activate r; "
      "wait r; a = 2")

SCENE_TRAPS(being_inactive_is_no_suspension_to_resume,
            "pool 1; queue state width 1 inactive; resume state",
            "TaskQueue.resume(): called more often than suspend() (\"state\")")

SCENE(a_released_inactive_queue_runs_what_it_was_given,
      "W in 0 1 2: queue q width W inactive; add q 2 a; suspend q; release q; a -> 2")

SCENE(an_inactive_queue_is_cancelled_as_any,
      "queue q width 2 inactive; add q 10 a; cancel q 10; q.pending = 0; add q a; activate q; wait q; a = 1")

SCENE(a_stop_cancels_what_an_inactive_queue_holds,
      "pool 2; queue q inactive; add q 5 a; stop in 20000 ran 0 cancelled 5 stuck 0; a = 0")

SCENE(activating_loses_nothing_that_is_submitted_meanwhile,
      "20 times W in 0 1 2: queue q width W inactive; thread {add q 1000 a}; thread 2 {activate q}; join; wait q; "
      "a = 1000")

/* ---- running ---- */

SCENE(jobs_that_meet_a_suspension_on_their_way_are_counted,
      "lone; queue q; hold pool Door; add q 5 a; suspend q; open Door; pool.diverted -> 5; a = 0; resume q; wait q; "
      "a = 5")

SCENE(what_runs_is_counted_and_what_waits_is_not,
      "W in 0 1 2: queue q width W; queue r width 1; q.running = 0; hold r Other; add q 2 Door; W=1 Door >= 1; "
      "W!=1 Door >= 2; W=1 q.running = 1; W!=1 q.running = 2; q.pending = 2; r.running = 1; open Door; wait q; "
      "q.running = 0; r.running = 1; open Other; wait r")

/* A drainer tells the ends of many at once: nobody who asks finds none while somebody would still wait. */
QUEUE_TEST(a_job_whose_end_is_not_told_yet_is_pending)
{
    od_queue *queue = queue_of(1);
    gate door = {0};

    hold_a_job(queue, &door);
    odi_lock_acquire(&queue->watch.lock); /* which its drainer wants before it looks for more */
    gate_open(&door);
    bool ended = COMES_TRUE(nothing_runs(pool));
    uint64_t pending = odi_record_pending(&pool->team, queue->records);
    odi_lock_release(&queue->watch.lock);
    assert_true(ended);
    assert_int_equal(pending, 1);
    end_queue(queue);
}

/* What the job's run has drawn of its record's counts is none. */
SCENE(what_a_job_may_submit_yet_is_in_no_count,
      "queue q; group g; enter g; add q {add q Door in g; Door} in g; Door -> 2; q.pending = 2; g.pending = 3; leave g; "
      "open Door; wait g; g.pending = 0")

static struct {
    od_queue *queue;
    uint64_t inside, in_sync, beside;
    int band;
    void *owner;
} counts;

SCENE(a_job_counts_itself_and_a_sync_caller_does_not,
      "queue q; add q {q.running = 1; inside q; q.running = 1; a}; wait q; a = 1; inside q; q.running = 0")

static void count_outside(void *queue)
{
    counts.beside = od_queue_running(queue);
    counts.band = od_pool_current_band();
    counts.owner = od_pool_current_owner();
}

static void submit_to_its_own_full_queue(void *queue)
{
    add(queue, no_job, NULL);
    od_queue_async(queue, NULL, OD_BAND_USER_INITIATED, count_outside, queue); /* there is no room: at once */
}

/* On top of another job of its queue it runs outside of any run. */
QUEUE_TEST(a_job_that_runs_on_its_submitter_is_counted)
{
    od_queue_options options = {.width = 1, .pending_limit = 1, .band = OD_BAND_DEFAULT,
                                .overflow = OD_OVERFLOW_RUNS};
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create_with(pool, &options);

    counts.beside = 0;
    od_pool_set_owner(pool, queue);
    run_in(queue, submit_to_its_own_full_queue, queue);
    assert_int_equal(counts.beside, 2);
    assert_int_equal(counts.band, OD_BAND_USER_INITIATED); /* its own */
    assert_ptr_equal(counts.owner, queue);
    assert_int_equal(od_queue_running(queue), 0);
    assert_int_equal(metrics_of(pool).executed, 3);
    assert_int_equal(metrics_of(pool).ran_on_callers, 1);
    end_queue(queue);
    assert_stop(pool, INT64_MAX, 3, 0, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static atomic_bool flooding, seen_running;

static void *look_again_and_again(void *queue)
{
    uintptr_t most = 0;

    while (atomic_load(&flooding)) {
        uint64_t running = od_queue_running(queue);
        most = running > most ? running : most;
        if (running > 0)
            atomic_store(&seen_running, true);
    }
    return (void *)most;
}

QUEUE_TEST(looking_while_jobs_come_and_go_sees_no_more_than_there_are_workers)
{
    od_queue *queue = queue_of(1);
    atomic_ullong ran = 0;
    gate door = {0};
    pthread_t looker;
    void *most;

    atomic_store(&flooding, true);
    pthread_create(&looker, NULL, look_again_and_again, queue);
    add(queue, gate_job, &door);
    assert_comes_true(atomic_load(&seen_running));
    gate_open(&door);
    add_many(queue, UNLESS_SANITIZED(50000, 5000), count_job, &ran);
    assert_true(od_queue_wait(queue, HANG_NS));
    atomic_store(&flooding, false);
    pthread_join(looker, &most);
    /* One look passes over the workers one after another, spares too: each may have had the line. */
    assert_in_range((uintptr_t)most, 1, 3 + metrics_of(pool).most_spares);
    assert_int_equal(od_queue_running(queue), 0);
    assert_int_equal(atomic_load(&ran), UNLESS_SANITIZED(50000, 5000));
    od_queue_release(queue);
}

QUEUE_TEST(a_report_tells_what_is_inactive_and_what_runs)
{
    od_queue *held = inactive_queue(1, "state"), *busy = queue_of(2);
    od_queue_report reports[8];
    gate door = {0};
    int inactive = 0, running = 0;

    hold_a_job(busy, &door);
    od_queue_release(busy); /* what it has is a report's all the same */
    add(held, no_job, NULL);
    int count = od_pool_report_queues(pool, reports, 8);
    for (int i = 0; i < count; i++) {
        inactive += !reports[i].active && reports[i].pending == 1 && reports[i].running == 0;
        running += reports[i].active && reports[i].pending == 1 && reports[i].running == 1;
    }
    assert_int_equal(inactive, 1);
    assert_int_equal(running, 1);
    assert_int_equal(od_queue_cancel_all(held), 1);
    assert_int_equal(od_pool_report_queues(pool, reports, 1), count); /* so many there are, without a job too */
    gate_open(&door);
    assert_comes_true(nothing_runs(pool)); /* the door goes with this frame */
    od_queue *unused = queue_of(1);
    od_queue_suspend(unused);
    assert_int_equal(od_pool_report_queues(pool, reports, 8), count); /* it, and no more the busy one */
    release_queues(unused, held);
    assert_int_equal(od_pool_report_queues(pool, reports, 8), count - 2);
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
