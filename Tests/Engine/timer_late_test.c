/* Timers that are overdue because every worker of their pool is inside a job: one more thread runs their calls. */
#include "Support/process.h"
#include "Support/timers.h"
#include "Support/watchdog.h"

#include <sys/wait.h>

CHILDREN_MAY_START_THREADS

/* A pool whose only worker is inside a job until the test opens the door. */
static struct {
    od_pool *pool;
    gate busy;
    od_queue *serial;
} late;

static int hold_the_only_worker(void **state)
{
    late.pool = lone_worker();
    late.busy = (gate){0};
    late.serial = od_queue_create(late.pool, OD_BAND_DEFAULT, 1, "serial");
    hold_a_worker(late.pool, &late.busy);
    return 0;
}

static int let_it_go(void **state)
{
    gate_open(&late.busy);
    od_queue_release(late.serial);
    return od_pool_free(late.pool) != OD_OK;
}

#define STARVED(test) TEST_WITH(test, hold_the_only_worker, let_it_go)

static void end_timer(probe *it)
{
    (void)od_timer_cancel(it->timer);
    assert_comes_true(atomic_load(&it->overs) == 1);
    od_timer_release(it->timer);
}

static struct {
    atomic_bool on_queue, on_worker;
    atomic_int band, stop;
} seen;

static void look_around(void *raw, uint64_t missed)
{
    atomic_store(&seen.on_queue, od_queue_of_thread(0) == late.serial && od_queue_is_alone(late.serial));
    atomic_store(&seen.on_worker, od_pool_is_worker(NULL));
    atomic_store(&seen.band, od_queue_current_band());
    atomic_store(&seen.stop, (int)od_pool_stop(late.pool, HANG_NS, NULL));
    probe_call(raw, missed);
}

STARVED(a_late_timer_runs_in_its_queue_while_every_worker_computes)
{
    probe it = {0};
    od_timer_options options = options_of(&it, MILLISECONDS(2), MILLISECONDS(2));

    options.call = look_around;
    it.timer = od_timer_create(late.serial, &options);
    od_timer_start(it.timer);
    assert_comes_true(atomic_load(&it.calls) >= 5);
    assert_true(atomic_load(&seen.on_queue));
    assert_false(atomic_load(&seen.on_worker));
    assert_int_equal(atomic_load(&seen.band), OD_BAND_DEFAULT);
    assert_int_equal(atomic_load(&seen.stop), OD_INSIDE);
    end_timer(&it);
    assert_true(od_queue_wait(late.serial, HANG_NS));
}

STARVED(late_timers_of_a_serial_queue_keep_the_order_of_their_times)
{
    probe first = {0}, second = {0};

    start_on(late.serial, &second, MILLISECONDS(2), 0);
    start_on(late.serial, &first, MILLISECONDS(1), 0);
    assert_comes_true(atomic_load(&first.overs) + atomic_load(&second.overs) == 2);
    assert_true(first.last_call <= second.last_call);
    od_timer_release(first.timer);
    od_timer_release(second.timer);
}

/* Each waits for its queue: behind a job, suspended, and on a target that is suspended. */
STARVED(a_late_timer_waits_if_its_queue_does_not_let_it_begin)
{
    atomic_ullong jobs = 0;
    probe its[3] = {{0}}, other = {0};
    od_queue *held = od_queue_create(late.pool, OD_BAND_DEFAULT, 1, "held");
    od_queue *on_held = od_queue_create_with(late.pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .target = held});
    od_queue *queues[3] = {late.serial, held, on_held};

    od_queue_suspend(held);
    od_queue_async(late.serial, NULL, OD_QUEUE_BAND, count_job, &jobs);
    for (int i = 0; i < 3; i++)
        start_on(queues[i], &its[i], MILLISECONDS(1), 0);
    od_queue *open = od_queue_create(late.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
    start_on(open, &other, MILLISECONDS(2), 0); /* taken after the others */
    assert_comes_true(atomic_load(&other.overs) == 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&its[i].calls), 0);
    od_queue_resume(held);
    gate_open(&late.busy);
    for (int i = 0; i < 3; i++) {
        assert_comes_true(atomic_load(&its[i].overs) == 1);
        assert_int_equal(atomic_load(&its[i].calls), 1);
        od_timer_release(its[i].timer);
    }
    assert_int_equal(atomic_load(&jobs), 1);
    od_timer_release(other.timer);
    od_queue_release(on_held);
    od_queue_release(held);
    od_queue_release(open);
}

static void deliver_here(void *unused, od_timer *timer)
{
    od_timer_perform(timer);
}

/* The second one's time comes while the first one's call waits. A timer that is delivered elsewhere is not kept by either. */
STARVED(one_late_call_runs_at_a_time_and_deliveries_go_on)
{
    gate door = {0};
    probe first = {.waits_at = &door}, second = {0}, elsewhere = {0};
    od_timer_options options = options_of(&elsewhere, MILLISECONDS(1), MILLISECONDS(1));
    od_queue *open = od_queue_create(late.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open");

    start_on(late.serial, &first, 0, 0);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    start_on(open, &second, MILLISECONDS(1), 0);
    elsewhere.timer = od_timer_create_elsewhere(late.pool, &options, deliver_here);
    od_timer_start(elsewhere.timer);
    assert_comes_true(atomic_load(&elsewhere.calls) >= 5);
    odi_clock_sleep(MILLISECONDS(20));
    assert_int_equal(atomic_load(&second.calls), 0);
    assert_int_equal(workers_present(late.pool), 3); /* one of them holds the call, and one delivers */
    assert_int_equal(od_timer_cancel(first.timer), OD_TIMER_RUNS);
    gate_open(&door);
    assert_comes_true(atomic_load(&second.overs) == 1);
    assert_int_equal(atomic_load(&second.calls), 1);
    assert_comes_true(atomic_load(&first.overs) == 1);
    end_timer(&elsewhere);
    od_timer_release(first.timer);
    od_timer_release(second.timer);
    assert_comes_true(workers_present(late.pool) == 1); /* without timers their threads end */
    od_queue_release(open);
}

TEST(a_stop_names_the_queue_of_a_late_call)
{
    gate door = {0};
    probe it = {.waits_at = &door};
    od_stop_report report;

    hold_the_only_worker(NULL);
    start_on(late.serial, &it, 0, 0);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    gate_open(&late.busy);
    assert_comes_true(nothing_runs(late.pool));
    assert_int_equal(od_pool_stop(late.pool, MILLISECONDS(20), &report), OD_OK);
    assert_int_equal(report.stuck, 1);
    assert_ptr_equal(report.stuck_queues[0], late.serial);
    gate_open(&door);
    assert_comes_true(atomic_load(&it.overs) == 1);
    od_timer_release(it.timer);
    assert_int_equal(let_it_go(NULL), 0);
}

static atomic_int child_status;

static void fork_in_call(void *raw, uint64_t missed)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(od_queue_of_thread(0) == late.serial && od_pool_timers_armed(late.pool) == 0 ? 0 : 1);
    (void)waitpid(child, &status, 0);
    atomic_store(&child_status, status);
    probe_call(raw, missed);
}

STARVED(a_late_call_may_fork)
{
    probe it = {0};
    od_timer_options options = options_of(&it, 0, 0);

    atomic_store(&child_status, -1);
    options.call = fork_in_call;
    it.timer = od_timer_create(late.serial, &options);
    od_timer_start(it.timer);
    assert_comes_true(atomic_load(&it.overs) == 1);
    assert_int_equal(atomic_load(&child_status), 0);
    od_timer_release(it.timer);
}

GUARDED_PROGRAM
