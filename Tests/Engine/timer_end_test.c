/* Timers that repeat, and how each ends: cancelled, with its queue or its pool, or left behind in a fork. */
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/timers.h"
#include "Support/watchdog.h"

#include <sys/wait.h>

CHILDREN_MAY_START_THREADS

/* ---- repeating ---- */

ON_ONE(it_repeats_until_cancelled_and_not_once_more)
{
    probe it = {0};

    start(&it, MILLISECONDS(2), MILLISECONDS(2));
    assert_comes_true(atomic_load(&it.calls) >= 5);
    (void)od_timer_cancel(it.timer);
    assert_comes_true(atomic_load(&it.overs) == 1);
    int calls = atomic_load(&it.calls);
    probe later = {0}; /* as many of its times have come since */
    start(&later, MILLISECONDS(2), MILLISECONDS(2));
    assert_comes_true(atomic_load(&later.calls) >= 5);
    (void)od_timer_cancel(later.timer);
    assert_comes_true(atomic_load(&later.overs) == 1);
    od_timer_release(later.timer);
    assert_int_equal(atomic_load(&it.calls), calls);
    assert_true(od_timer_is_cancelled(it.timer));
    assert_int_equal(atomic_load(&it.early), 0);
    od_timer_release(it.timer);
}

/* Calls and missed ones together are the intervals that have passed: nothing drifts. Returns whether
 * the last call came in its own interval too, which a full machine may not let it. */
static bool count_missed_times(void)
{
    gate door = {0};
    probe it = {.waits_at = &door};
    int64_t interval = MILLISECONDS(5), begin = odi_clock_now() + interval;

    start(&it, interval, interval);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    odi_clock_sleep(10 * interval);
    gate_open(&door);
    assert_comes_true(atomic_load(&it.calls) >= 4);
    (void)od_timer_cancel(it.timer);
    assert_comes_true(atomic_load(&it.overs) == 1);
    int64_t passed = (int64_t)atomic_load(&it.calls) + (int64_t)atomic_load(&it.missed);
    assert_true(atomic_load(&it.missed) >= 8);
    assert_true(it.last_call >= begin + (passed - 1) * interval); /* no call before its time */
    od_timer_release(it.timer);
    return it.last_call < begin + (passed + 1) * interval;
}

ON_TWO(missed_times_are_counted_and_do_not_drift)
{
    bool in_its_interval = false;

    for (int tries = 0; tries < 200 && !in_its_interval; tries++)
        in_its_interval = count_missed_times();
    assert_true(in_its_interval);
}

SCENE(a_suspended_queue_gets_one_call_that_counts_the_others,
      "pool 2; queue q; suspend q; timer t q 3 3 a; q.pending -> 1; pause 40; settle; q.pending = 1; a = 0; resume q; "
      "a >= 2; t.missed >= 8; disarm t; t.overs -> 1")

SCENE(cancelling_the_queue_does_not_end_one_that_repeats,
      "pool 2; queue q; suspend q; timer once q 0 0 a; timer again q 0 2 b; q.pending -> 2; cancel q 2; resume q; "
      "once.overs -> 1; a = 0; once.cancelled = 1; b >= 2; disarm again; again.overs -> 1")

/* ---- cancelling ---- */

SCENE(a_cancel_says_what_it_found,
      "pool 2; queue q; timer armed q 3600000 0 a; disarm armed prevented; armed.overs = 1; disarm armed over; "
      "timer runs q 0 1 Door; Door -> 1; suspend q; timer queued q 0 0 a; q.pending -> 2; disarm queued prevented; "
      "disarm queued over; disarm runs runs; disarm runs runs; open Door; resume q; runs.overs -> 1; queued.overs -> 1; "
      "Door = 1; a = 0")

ON_TWO(its_own_call_may_cancel_it)
{
    probe it = {.cancels_itself_at = 3, .cancel_said = -1};

    start(&it, MILLISECONDS(1), MILLISECONDS(1));
    assert_comes_true(atomic_load(&it.overs) == 1);
    assert_int_equal(atomic_load(&it.calls), 3);
    assert_int_equal(atomic_load(&it.cancel_said), OD_TIMER_RUNS);
    od_timer_release(it.timer);
}

SCENE(a_cancel_may_come_before_the_start,
      "pool 2; queue q; timer t q 0 1 a unstarted; disarm t prevented; t.overs = 0; start t; t.overs = 1; a = 0")

static void *cancel_it(void *raw)
{
    (void)od_timer_cancel(((probe *)raw)->timer);
    return NULL;
}

/* `over` may free the pool. A canceller that has set its bit is kept in the pool's wheel here. */
ON_TWO(over_waits_until_a_cancel_has_done_with_the_pool)
{
    gate door = {0};
    probe it = {.waits_at = &door};
    odi_timer_wheel *wheel;
    pthread_t canceller;

    start(&it, 0, 0);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    wheel = &pool->team.timers.wheels[((odi_timer_entry *)it.timer)->site];
    odi_lock_acquire(&wheel->lock);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_it, &it), 0);
    assert_comes_true(od_timer_is_cancelled(it.timer));
    gate_open(&door);
    odi_clock_sleep(MILLISECONDS(30));
    int overs = atomic_load(&it.overs);
    odi_lock_release(&wheel->lock);
    pthread_join(canceller, NULL);
    assert_comes_true(atomic_load(&it.overs) == 1);
    assert_int_equal(overs, 0);
    od_timer_release(it.timer);
}

/* ---- stop and fork ---- */

ON_TWO(a_stop_drops_what_is_armed)
{
    probe far = {0}, again = {0}, late = {0};
    od_stop_report report;

    start(&far, SECONDS(3600), 0);
    start(&again, MILLISECONDS(1), MILLISECONDS(1));
    assert_comes_true(atomic_load(&again.calls) >= 2);
    assert_int_equal(od_pool_stop(pool, INT64_MAX, &report), OD_OK);
    assert_int_equal(atomic_load(&far.calls), 0);
    assert_int_equal(atomic_load(&far.overs), 1);
    assert_int_equal(atomic_load(&again.overs), 1);
    assert_true(od_timer_is_cancelled(far.timer));
    assert_int_equal(report.cancelled, 0);
    assert_int_equal(report.ran, atomic_load(&again.calls));

    start(&late, 0, 0);
    assert_int_equal(atomic_load(&late.overs), 1);
    assert_int_equal(atomic_load(&late.calls), 0);
    assert_true(od_timer_is_cancelled(late.timer));
    assert_int_equal(od_timer_cancel(far.timer), OD_TIMER_WAS_OVER);
    od_timer_release(far.timer);
    od_timer_release(again.timer);
    od_timer_release(late.timer);
}

static void cancel_the_other(void *raw)
{
    probe_over(raw);
    (void)od_timer_cancel(((probe *)raw)->other->timer);
}

/* What a stop drops is its own to end, before it has come to it too. */
ON_ONE(who_is_told_of_a_drop_may_cancel_the_others)
{
    probe two[2] = {{.other = &two[1]}, {.other = &two[0]}};

    for (int i = 0; i < 2; i++) {
        od_timer_options options = options_of(&two[i], SECONDS(3600), 0);

        options.over = cancel_the_other;
        two[i].timer = od_timer_create(queue, &options);
        od_timer_start(two[i].timer);
    }
    assert_stop(pool, INT64_MAX, 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atomic_load(&two[i].overs), 1);
        od_timer_release(two[i].timer);
    }
}

static void wait_and_call(void *raw, od_timer *timer)
{
    gate_job(((probe *)raw)->waits_at);
    ((probe *)raw)->waits_at = NULL;
    od_timer_perform(timer);
}

/* It was taken off the wheel with another one, whose delivery lasted. */
TEST(a_timer_that_a_worker_has_in_hand_is_not_called_after_a_stop)
{
    od_pool *lone = lone_worker();
    od_queue *open = od_queue_create(lone, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
    gate busy = {0}, delivery = {0};
    probe first = {.waits_at = &delivery}, second = {0};
    od_timer_options options = options_of(&first, MILLISECONDS(1), 0);

    hold_a_worker(lone, &busy);
    first.timer = od_timer_create_elsewhere(lone, &options, wait_and_call);
    ((odi_timer_entry *)first.timer)->site = 0; /* the other one's wheel */
    deliver_by_workers_alone(lone);
    od_timer_start(first.timer);
    start_on(open, &second, MILLISECONDS(2), 0);
    odi_clock_sleep(MILLISECONDS(5));
    gate_open(&busy);
    assert_comes_true(atomic_load(&delivery.waiting) == 1);
    assert_stop(lone, 0, 1, 0, 0);
    gate_open(&delivery);
    assert_comes_true(atomic_load(&second.overs) == 1);
    assert_int_equal(atomic_load(&second.calls), 0);
    assert_true(od_timer_is_cancelled(second.timer));
    assert_comes_true(metrics_of(lone).cancelled == 1); /* counted after `over` */
    od_timer_release(first.timer);
    od_timer_release(second.timer);
    od_queue_release(open);
    assert_comes_true(od_pool_free(lone) == OD_OK);
}

ON_TWO(a_forked_child_has_none_of_its_parents)
{
    static probe before, after;

    before = after = (probe){0};
    start(&before, MILLISECONDS(100), 0);
    pid_t child = fork();
    if (child == 0) {
        od_timer_options options = options_of(&after, MILLISECONDS(5), 0);
        bool fine = od_pool_timers_armed(pool) == 0;
        int calls = atomic_load(&before.calls); /* a full machine may have let it come first */

        (void)od_timer_cancel(before.timer); /* finds nothing to cancel, and does not crash */
        after.timer = od_timer_create(queue, &options);
        od_timer_start(after.timer);
        fine = fine && COMES_TRUE(atomic_load(&after.overs) == 1);
        odi_clock_sleep(MILLISECONDS(200));
        _exit(fine && atomic_load(&before.calls) == calls ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_comes_true(atomic_load(&before.overs) == 1);
    assert_int_equal(atomic_load(&before.calls), 1);
    od_timer_release(before.timer);
}

GUARDED_PROGRAM
