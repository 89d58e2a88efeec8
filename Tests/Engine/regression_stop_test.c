/* Stops that went wrong once: jobs that a report forgot or counted twice, ends that cut off what
 * was accepted, and stops that waited for themselves. */
#include "Support/pools.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

/* ---- at the deadline ---- */

/* A serial queue's drainer takes several jobs at once: those that it has not begun are in no
 * queue any more, and still in the account. */
SCENE(a_stop_counts_what_a_drainer_has_in_hand,
      "lone; queue q width 1; group g; suspend q; add q Door; add q 50 a in g; resume q; Door -> 1; "
      "stop in 2 ran 0 cancelled 50 stuck 1 at q; open Door; wait g; wait q; a = 0")

static void take_a_moment(void *counter)
{
    odi_clock_sleep(MILLISECONDS(1));
    atomic_fetch_add((atomic_ullong *)counter, 1);
}

/* The deadline finds drainers between two jobs, or in one, that have many left. */
TEST(a_stop_in_the_midst_of_lines_accounts_for_every_job_and_nothing_starts_after_it)
{
    enum { JOBS = 200 };
    static const int32_t widths[] = {1, 2};

    for (int round = 0; round < 10; round++) {
        od_pool *pool = pool_of(2);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, widths[round % 2], "lane");
        od_group *group = od_group_create();
        od_stop_report report;
        atomic_ullong ran = 0;

        for (int i = 0; i < JOBS; i++)
            od_queue_async(queue, group, OD_QUEUE_BAND, take_a_moment, &ran);
        od_pool_stop(pool, MILLISECONDS(round), &report);
        assert_true(od_group_wait(group, HANG_NS));
        assert_int_equal(od_queue_pending(queue), 0);
        assert_int_equal(report.ran + report.cancelled + report.stuck, JOBS);
        assert_int_equal(atomic_load(&ran), report.ran + report.stuck);
        od_group_release(group);
        end_pool(pool, queue);
    }
}

/* Queues are cancelled one after the other. Where a barrier goes, what stood behind it in the target's
 * line gets a drainer, also for a queue that is not cancelled yet: a job that waits for the stuck one
 * would keep the stop for ever. */
SCENE(a_stop_past_its_deadline_begins_no_job_itself,
      "lone; queue q width 1 inactive; queue t width 2; queue r width 1 on t; target q t; activate q; hold t Door; "
      "add t a barrier; add q a; add r a; stop in 2 ran 0 cancelled 3 stuck 1; a = 0; open Door; pool.done -> 4; "
      "wait q; wait r; wait t; a = 0")

/* A worker that waits for a queue serves that, and is in the midst of a job then. */
SCENE(a_job_on_top_of_a_waiting_one_has_no_successor_after_the_stop,
      "lone; queue q width 1; add pool {add q {Door; add q a}; await q}; Door -> 1; stop in 2 stuck 1; open Door; "
      "wait q; pool.done -> 3; a = 0")

static struct {
    od_pool *pool;
    od_stop_report report;
    atomic_int status, first, depth;
} second_stop;

static void stop_again(void *unused)
{
    atomic_store(&second_stop.status, (int)od_pool_stop(second_stop.pool, 0, NULL));
}

static void stop_from_a_worker(void *unused)
{
    atomic_store(&second_stop.first, (int)od_pool_stop(second_stop.pool, 0, &second_stop.report));
    atomic_store(&second_stop.depth, (int)odi_worker_self->blocking_depth);
}

/* What a stop discards may be the last of a group, whose notification is then called by the
 * stop itself. Here another pool's worker stops, which waits no more after either. */
TEST(a_notification_that_stops_the_pool_during_its_stop_does_not_hang)
{
    od_pool *others = lone_worker();
    gate door = {0};

    second_stop.pool = lone_worker();
    atomic_store(&second_stop.status, -1);
    od_queue *queue = od_queue_create(second_stop.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "last");
    od_group *group = od_group_create();
    hold_a_worker(second_stop.pool, &door);
    od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    od_group_notify(group, stop_again, NULL);
    od_pool_submit(others, OD_BAND_DEFAULT, stop_from_a_worker, NULL);
    assert_int_equal(od_pool_free(others), OD_OK); /* when it has run */
    assert_int_equal(atomic_load(&second_stop.first), OD_OK);
    assert_int_equal(atomic_load(&second_stop.status), OD_INSIDE);
    assert_int_equal(atomic_load(&second_stop.depth), 0);
    assert_report(&second_stop.report, 0, 1, 1);
    gate_open(&door);
    assert_comes_true(all_done(second_stop.pool) == 2); /* it has left the gate */
    od_group_release(group);
    end_pool(second_stop.pool, queue);
}

/* The queue was cancelled before the notification came: what it submitted lay behind the stuck job, and
 * was neither run nor cancelled nor stuck. */
SCENE(a_report_counts_what_a_notification_submits_during_the_stop,
      "lone; queue q; queue held width 1; group g; hold held Door; add q x in g; notify g {add held a}; "
      "stop in 0 ran 0 cancelled 2 stuck 1; open Door; pool.done -> 3; a = 0")

static void *stop_without_a_deadline(void *report)
{
    assert_int_equal(od_pool_stop(second_stop.pool, INT64_MAX, report), OD_OK);
    return NULL;
}

/* Who asks for an end now is not kept waiting by who has asked for one some time: a job that does
 * not end would keep both for ever. */
TEST(a_stop_with_a_deadline_does_not_wait_for_one_without)
{
    od_stop_report first, second;
    gate door = {0};
    pthread_t thread;

    second_stop.pool = lone_worker();
    hold_a_worker(second_stop.pool, &door);
    od_pool_submit(second_stop.pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_int_equal(pthread_create(&thread, NULL, stop_without_a_deadline, &first), 0);
    assert_comes_true(odi_load_relaxed(&second_stop.pool->team.attention) & ODI_STOPPING);
    assert_int_equal(od_pool_stop(second_stop.pool, MILLISECONDS(2), &second), OD_STOPPED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_report(&first, 0, 1, 1);
    assert_report(&second, 0, 1, 1);
    gate_open(&door);
    assert_comes_true(all_done(second_stop.pool) == 2); /* it has left the gate */
    assert_int_equal(od_pool_free(second_stop.pool), OD_OK);
}

/* ---- without a deadline ---- */

SCENE(a_stop_without_a_deadline_runs_what_a_job_waits_for,
      "W in 0 1: pool 1; queue q width W; group g; "
      "add pool {begun; pool.stopping -> 1; add q inner in g; wait g; waited}; begun -> 1; "
      "stop ran 2 cancelled 0 stuck 0; waited = 1; inner = 1")

static void spin(uint32_t pauses)
{
    while (pauses-- > 0)
        odi_spin_pause();
}

typedef struct {
    od_pool *pool;
    atomic_ullong *ran;
    uint32_t pauses;
    atomic_bool begun;
} late;

static void *submit_late(void *raw)
{
    late *it = raw;

    atomic_store(&it->begun, true);
    spin(it->pauses);
    od_pool_submit(it->pool, OD_BAND_DEFAULT, count_job, it->ran);
    return NULL;
}

TEST(no_accepted_job_is_lost_by_a_stop_without_a_deadline)
{
    prng random = prng_for(10, 10);

    for (int round = 0; round < UNLESS_SANITIZED(600, 100); round++) {
        atomic_ullong ran = 0;
        od_pool *pool = pool_of(1);
        late it = {.pool = pool, .ran = &ran, .pauses = prng_below(&random, 4000)};
        od_stop_report report;
        pthread_t thread;

        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        assert_comes_true(atomic_load(&ran) == 1);
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        pthread_create(&thread, NULL, submit_late, &it);
        while (!atomic_load(&it.begun))
            sched_yield();
        spin(prng_below(&random, 4000));
        od_pool_stop(pool, INT64_MAX, &report);
        pthread_join(thread, NULL);
        assert_in_range(atomic_load(&ran), 2, 3);
        assert_int_equal(atomic_load(&ran) + metrics_of(pool).cancelled, 3); /* the last one may have come too late */
        od_pool_free(pool);
    }
}

/* ---- accounts ---- */

SCENE(what_a_cancel_discarded_before_a_stop_is_in_its_report,
      "W in 0 1 2: pool 1; queue q width W; suspend q; add q 10 a; cancel q 10; stop ran 0 cancelled 10 stuck 0; a = 0")

/* `had_jobs`: it has records, which the pool is not asked for again. */
SCENE(what_a_suspended_queue_is_given_after_a_stop_is_discarded_and_counted,
      "W in 0 1 2: pool 1; queue q width W; queue had_jobs width W; group g; add had_jobs a in g; wait g; stop; "
      "suspend q; suspend had_jobs; discard q 5 b in g; discard q 5 b; discard had_jobs 5 b in g; discard had_jobs 5 b; "
      "wait g; q.pending = 0; had_jobs.pending = 0; resume q; resume had_jobs; wait q; wait had_jobs; a = 1; b = 0; "
      "pool.cancelled = 20; pool.executed = 1")

/* ---- a worker that comes late ---- */

static gate late_start;
static _Thread_local od_pool *first_pool;

/* A worker's, which the submitter starts: the reclaimer is started under the team's lock. */
static int thread_comes_late(void)
{
    if (first_pool != NULL && odi_load_relaxed(&first_pool->team.lock.word) == 0)
        gate_job(&late_start);
    return 0;
}

static void *submit_first(void *raw)
{
    static atomic_ullong ignored;

    first_pool = raw;
    od_pool_submit(raw, OD_BAND_DEFAULT, count_job, &ignored);
    return NULL;
}

/* Its thread gets no CPU before the stop has given everything up: what is submitted then is not left to it,
 * for it leaves without a look. */
TEST_WITH(what_is_submitted_after_a_stop_is_not_left_to_a_worker_that_comes_late, NULL, threads_again)
{
    od_pool *pool = pool_of(1);
    od_queue *serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    atomic_ullong ran = 0;
    pthread_t submitter;

    late_start = (gate){0};
    atomic_store(&before_thread, thread_comes_late);
    assert_int_equal(pthread_create(&submitter, NULL, submit_first, pool), 0);
    assert_comes_true(atomic_load(&late_start.waiting) == 1);
    assert_stop(pool, 0, 0, 0, 0); /* what it was started for is not accepted yet */
    od_queue_async(serial, NULL, OD_QUEUE_BAND, count_job, &ran);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_int_equal(all_done(pool), 2);
    assert_int_equal(atomic_load(&ran), 0);
    gate_open(&late_start);
    pthread_join(submitter, NULL);
    assert_comes_true(all_done(pool) == 3);
    end_pool(pool, serial);
}

/* ---- what comes while the last worker leaves ---- */

static struct {
    od_pool *pool;
    atomic_bool on;
    atomic_int on_stopper;
} feed;

static _Thread_local bool is_stopper;

static void last_a_while(void *unused)
{
    atomic_fetch_add(&feed.on_stopper, is_stopper);
    odi_clock_sleep(MILLISECONDS(2));
}

static void *keep_feeding(void *unused)
{
    while (atomic_load(&feed.on)) {
        od_pool_submit(feed.pool, OD_BAND_DEFAULT, last_a_while, NULL);
        odi_clock_sleep(20 * ODI_MICROSECOND);
    }
    return NULL;
}

/* Once a stop began itself what came while its last worker left, and lasted as long as that did. */
TEST(a_stop_runs_nothing_itself_while_a_worker_is_to_be_had)
{
    pthread_t feeder;

    is_stopper = true;
    for (int round = 0; round < 100; round++) {
        feed.pool = pool_of(2);
        atomic_store(&feed.on, true);
        assert_int_equal(pthread_create(&feeder, NULL, keep_feeding, NULL), 0);
        odi_clock_sleep(MILLISECONDS(1));
        assert_int_equal(od_pool_stop(feed.pool, MILLISECONDS(20), NULL), OD_OK);
        atomic_store(&feed.on, false);
        pthread_join(feeder, NULL);
        assert_comes_true(od_pool_free(feed.pool) == OD_OK);
    }
    is_stopper = false;
    assert_int_equal(atomic_load(&feed.on_stopper), 0);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
