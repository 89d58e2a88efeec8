/* gate/: queues that begin inactive, and how many of a queue's jobs run. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "include/od_report.h"

/* ---- inactive ---- */

QUEUE_TEST(an_inactive_queue_starts_nothing_until_it_is_activated)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *queue = inactive_queue(widths[i], "state");
        atomic_ullong ran = 0;

        assert_false(od_queue_is_active(queue));
        assert_false(od_queue_is_suspended(queue)); /* that is another state */
        add_many(queue, 100, count_job, &ran);
        let_all_run_that_can();
        assert_int_equal(atomic_load(&ran), 0);
        assert_int_equal(od_queue_pending(queue), 100);
        od_queue_activate(queue);
        assert_true(od_queue_is_active(queue));
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), 100);
        add(queue, count_job, &ran);
        end_queue(queue);
        assert_int_equal(atomic_load(&ran), 101);
    }
}

QUEUE_TEST(suspensions_count_beside_being_inactive)
{
    od_queue *queue = inactive_queue(OD_UNLIMITED, "state");
    atomic_ullong ran = 0;

    add(queue, count_job, &ran);
    od_queue_suspend(queue);
    od_queue_activate(queue);
    od_queue_activate(queue); /* changes nothing */
    assert_true(od_queue_is_suspended(queue));
    let_all_run_that_can();
    assert_int_equal(atomic_load(&ran), 0);
    od_queue_resume(queue);
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 1);

    queue = inactive_queue(1, "state");
    od_queue_suspend(queue);
    assert_true(od_queue_is_suspended(queue));
    od_queue_resume(queue);
    add(queue, count_job, &ran);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&ran), 1);
    od_queue_activate(queue);
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 2);
}

static void resume_an_inactive_one(void *queue) { od_queue_resume(queue); }

QUEUE_TEST(being_inactive_is_no_suspension_to_resume)
{
    od_queue *queue = inactive_queue(1, "state");

    assert_child_traps(resume_an_inactive_one, queue,
                       "TaskQueue.resume() of \"state\" was called more often than suspend()");
    od_queue_release(queue);
}

QUEUE_TEST(a_released_inactive_queue_runs_what_it_was_given)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *queue = inactive_queue(widths[i], "state");
        atomic_ullong ran = 0;

        add(queue, count_job, &ran);
        add(queue, count_job, &ran);
        od_queue_suspend(queue);
        od_queue_release(queue);
        assert_comes_true(atomic_load(&ran) == 2);
    }
}

QUEUE_TEST(an_inactive_queue_is_cancelled_as_any)
{
    od_queue *queue = inactive_queue(2, "state");
    atomic_ullong ran = 0;

    add_many(queue, 10, count_job, &ran);
    assert_int_equal(od_queue_cancel_all(queue), 10);
    assert_int_equal(od_queue_pending(queue), 0);
    add(queue, count_job, &ran);
    od_queue_activate(queue);
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 1);
}

QUEUE_TEST(a_stop_cancels_what_an_inactive_queue_holds)
{
    od_pool *other = pool_of(2);
    od_queue_options options = {.band = OD_BAND_DEFAULT, .label = "held", .inactive = true};
    od_queue *queue = od_queue_create_with(other, &options);
    atomic_ullong ran = 0;

    assert_non_null(queue);
    add_many(queue, 5, count_job, &ran);
    assert_stop(other, HANG_NS, 0, 5, 0);
    assert_int_equal(atomic_load(&ran), 0);
    end_pool(other, queue);
}

static struct {
    od_queue *queue;
    atomic_ullong ran;
} race;

static void *submit_a_thousand(void *unused)
{
    add_many(race.queue, 1000, count_job, &race.ran);
    return unused;
}

static void *activate(void *unused)
{
    od_queue_activate(race.queue);
    return unused;
}

QUEUE_TEST(activating_loses_nothing_that_is_submitted_meanwhile)
{
    for (int round = 0; round < UNLESS_SANITIZED(100, 10); round++) {
        pthread_t submitter;

        race.queue = inactive_queue(widths[round % WIDTHS], "state");
        atomic_store(&race.ran, 0);
        pthread_create(&submitter, NULL, submit_a_thousand, NULL);
        run_on_threads(2, activate);
        pthread_join(submitter, NULL);
        end_queue(race.queue);
        assert_int_equal(atomic_load(&race.ran), 1000);
    }
}

/* ---- running ---- */

QUEUE_TEST(jobs_that_meet_a_suspension_on_their_way_are_counted)
{
    od_pool *lone = lone_worker();
    od_queue *queue = od_queue_create(lone, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
    atomic_ullong ran = 0;
    gate door = {0};

    hold_a_worker(lone, &door);
    add_many(queue, 5, count_job, &ran);
    od_queue_suspend(queue);
    gate_open(&door);
    assert_comes_true(metrics_of(lone).diverted == 5);
    assert_int_equal(atomic_load(&ran), 0);
    od_queue_resume(queue);
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 5);
    assert_int_equal(od_pool_free(lone), OD_OK);
}

QUEUE_TEST(what_runs_is_counted_and_what_waits_is_not)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *queue = queue_of(widths[i]), *other = queue_of(1);
        gate door = {0}, others = {0};
        int runs = widths[i] == OD_UNLIMITED || widths[i] > 2 ? 2 : widths[i];

        assert_int_equal(od_queue_running(queue), 0);
        hold_a_job(other, &others);
        /* Two workers are left for as many as the width allows. */
        add_many(queue, 2, gate_job, &door);
        assert_comes_true(atomic_load(&door.waiting) >= runs);
        assert_int_equal(od_queue_running(queue), runs);
        assert_int_equal(od_queue_pending(queue), 2);
        assert_int_equal(od_queue_running(other), 1);
        gate_open(&door);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(od_queue_running(queue), 0);
        assert_int_equal(od_queue_running(other), 1);
        gate_open(&others);
        assert_true(od_queue_wait(other, HANG_NS));
        release_queues(queue, other);
    }
}

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

static struct {
    od_queue *queue;
    od_group *group;
} both;

static void submit_and_stay(void *door)
{
    od_queue_async(both.queue, both.group, OD_QUEUE_BAND, gate_job, door);
    gate_pass(door);
}

/* What the job's run has drawn of its record's counts is none. */
QUEUE_TEST(what_a_job_may_submit_yet_is_in_no_count)
{
    gate door = {0};

    both.queue = queue_of(OD_UNLIMITED);
    both.group = od_group_create();
    od_group_enter(both.group);
    od_queue_async(both.queue, both.group, OD_QUEUE_BAND, submit_and_stay, &door);
    assert_comes_true(atomic_load(&door.waiting) == 2);
    assert_int_equal(od_queue_pending(both.queue), 2);
    assert_int_equal(od_group_pending(both.group), 3);
    od_group_leave(both.group);
    gate_open(&door);
    assert_true(od_group_wait(both.group, HANG_NS));
    assert_int_equal(od_group_pending(both.group), 0);
    end_queue(both.queue);
    od_group_release(both.group);
}

static struct {
    od_queue *queue;
    uint64_t inside, in_sync, beside;
    int band;
    void *owner;
} counts;

static void count_in_a_job(void *unused)
{
    od_scope scope;

    counts.inside = od_queue_running(counts.queue);
    od_queue_sync_begin(counts.queue, &scope); /* a sync caller is no job */
    counts.in_sync = od_queue_running(counts.queue);
    od_queue_sync_end(&scope);
}

QUEUE_TEST(a_job_counts_itself_and_a_sync_caller_does_not)
{
    od_scope scope;

    counts.queue = queue_of(OD_UNLIMITED);
    run_in(counts.queue, count_in_a_job, NULL);
    assert_int_equal(counts.inside, 1);
    assert_int_equal(counts.in_sync, 1);
    od_queue_sync_begin(counts.queue, &scope);
    assert_int_equal(od_queue_running(counts.queue), 0);
    od_queue_sync_end(&scope);
    od_queue_release(counts.queue);
}

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
