/* Stops that went wrong once: jobs that a report forgot or counted twice, ends that cut off what
 * was accepted, and stops that waited for themselves. */
#include "Support/pools.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

/* ---- at the deadline ---- */

/* A serial queue's drainer takes several jobs at once: those that it has not begun are in no
 * queue any more, and still in the account. */
TEST(a_stop_counts_what_a_drainer_has_in_hand)
{
    enum { BEHIND = 50 }; /* some in the drain batch, some in the queue */
    od_pool *pool = lone_worker();
    od_queue *serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_group *group = od_group_create();
    od_stop_report report;
    gate door = {0};
    atomic_ullong ran = 0;

    od_queue_suspend(serial);
    od_queue_async(serial, NULL, OD_QUEUE_BAND, gate_job, &door);
    for (int i = 0; i < BEHIND; i++)
        od_queue_async(serial, group, OD_QUEUE_BAND, count_job, &ran);
    od_queue_resume(serial);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    assert_int_equal(od_pool_stop(pool, MILLISECONDS(2), &report), OD_OK);
    assert_report(&report, 0, BEHIND, 1);
    assert_ptr_equal(report.stuck_queues[0], serial);
    gate_open(&door);
    assert_true(od_group_wait(group, HANG_NS));
    assert_true(od_queue_wait(serial, HANG_NS));
    assert_int_equal(atomic_load(&ran), 0);
    od_group_release(group);
    end_pool(pool, serial);
}

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
TEST(a_stop_past_its_deadline_begins_no_job_itself)
{
    od_pool *pool = lone_worker();
    od_queue_options before = {.band = OD_BAND_DEFAULT, .width = 1, .inactive = true};
    od_queue *on_it[2], *target;
    gate door = {0};
    atomic_ullong ran = 0;

    on_it[0] = od_queue_create_with(pool, &before);
    target = od_queue_create(pool, OD_BAND_DEFAULT, 2, "target");
    on_it[1] = od_queue_create_with(
        pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .target = target});
    od_queue_set_target(on_it[0], target);
    od_queue_activate(on_it[0]);
    hold_a_job(target, &door);
    od_queue_async_with(target, NULL, OD_QUEUE_BAND, OD_BARRIER, count_job, &ran);
    for (int i = 0; i < 2; i++) /* whichever order the queues are cancelled in */
        od_queue_async(on_it[i], NULL, OD_QUEUE_BAND, count_job, &ran);
    assert_stop(pool, MILLISECONDS(2), 0, 3, 1);
    assert_int_equal(atomic_load(&ran), 0);
    gate_open(&door);
    assert_comes_true(all_done(pool) == 4); /* it has left the gate */
    for (int i = 0; i < 2; i++)
        end_queue(on_it[i]);
    end_queue(target);
    assert_int_equal(atomic_load(&ran), 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static struct {
    od_queue *serial;
    gate door;
    atomic_ullong ran;
} on_top;

static void submit_behind_the_gate(void *unused)
{
    gate_job(&on_top.door);
    od_queue_async(on_top.serial, NULL, OD_QUEUE_BAND, count_job, &on_top.ran);
}

static void wait_for_it_on_the_same_worker(void *unused)
{
    od_queue_async(on_top.serial, NULL, OD_QUEUE_BAND, submit_behind_the_gate, NULL);
    (void)od_queue_wait(on_top.serial, INT64_MAX);
}

/* A worker that waits for a queue serves that, and is in the midst of a job then. */
TEST(a_job_on_top_of_a_waiting_one_has_no_successor_after_the_stop)
{
    od_pool *pool = lone_worker();
    od_stop_report report;

    on_top.serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    atomic_store(&on_top.ran, 0);
    od_pool_submit(pool, OD_BAND_DEFAULT, wait_for_it_on_the_same_worker, NULL);
    assert_comes_true(atomic_load(&on_top.door.waiting) == 1);
    assert_int_equal(od_pool_stop(pool, MILLISECONDS(2), &report), OD_OK);
    assert_int_equal(report.stuck, 1);
    gate_open(&on_top.door);
    assert_true(od_queue_wait(on_top.serial, HANG_NS));
    assert_comes_true(all_done(pool) == 3);
    assert_int_equal(atomic_load(&on_top.ran), 0);
    end_pool(pool, on_top.serial);
}

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

static struct {
    od_queue *held;
    atomic_ullong ran;
} notified;

static void submit_when_notified(void *unused)
{
    od_queue_async(notified.held, NULL, OD_QUEUE_BAND, count_job, &notified.ran);
}

/* The queue was cancelled before the notification came: what it submitted lay behind the stuck job, and
 * was neither run nor cancelled nor stuck. */
TEST(a_report_counts_what_a_notification_submits_during_the_stop)
{
    od_pool *pool = lone_worker();
    od_queue *last = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "last");
    od_group *group = od_group_create();
    gate door = {0};

    notified.held = od_queue_create(pool, OD_BAND_DEFAULT, 1, "held");
    hold_a_job(notified.held, &door);
    od_queue_async(last, group, OD_QUEUE_BAND, no_job, NULL);
    od_group_notify(group, submit_when_notified, NULL);
    assert_stop(pool, 0, 0, 2, 1);
    gate_open(&door);
    assert_comes_true(all_done(pool) == 3); /* it has left the gate */
    assert_int_equal(atomic_load(&notified.ran), 0);
    od_group_release(group);
    end_pool(pool, last, notified.held);
}

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

static struct {
    od_pool *pool;
    od_queue *queue;
    od_group *group;
    atomic_ullong inner;
    atomic_bool begun, waited;
} waits;

/* Begins while the pool runs, and submits what it waits for while it stops. */
static void submit_and_wait_for_it(void *unused)
{
    atomic_store(&waits.begun, true);
    if (!COMES_TRUE(odi_load_relaxed(&waits.pool->team.attention) & ODI_STOPPING))
        return;
    od_queue_async(waits.queue, waits.group, OD_QUEUE_BAND, count_job, &waits.inner);
    atomic_store(&waits.waited, od_group_wait(waits.group, HANG_NS));
}

TEST(a_stop_without_a_deadline_runs_what_a_job_waits_for)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1};

    for (int i = 0; i < 2; i++) {
        memset(&waits, 0, sizeof waits);
        waits.pool = pool_of(1);
        waits.queue = od_queue_create(waits.pool, OD_BAND_DEFAULT, widths[i], "waited for");
        waits.group = od_group_create();
        od_pool_submit(waits.pool, OD_BAND_DEFAULT, submit_and_wait_for_it, NULL);
        assert_comes_true(atomic_load(&waits.begun));
        assert_stop(waits.pool, INT64_MAX, 2, 0, 0);
        assert_true(atomic_load(&waits.waited));
        assert_int_equal(atomic_load(&waits.inner), 1);
        od_group_release(waits.group);
        end_pool(waits.pool, waits.queue);
    }
}

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

TEST(what_a_cancel_discarded_before_a_stop_is_in_its_report)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    for (int i = 0; i < 3; i++) {
        od_pool *pool = pool_of(1);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, widths[i], "cancelled");
        atomic_ullong ran = 0;

        od_queue_suspend(queue);
        add_many(queue, 10, count_job, &ran);
        assert_int_equal(od_queue_cancel_all(queue), 10);
        assert_stop(pool, INT64_MAX, 0, 10, 0);
        assert_int_equal(atomic_load(&ran), 0);
        end_pool(pool, queue);
    }
}

/* `had_jobs`: it has records, which the pool is not asked for again. */
TEST(what_a_suspended_queue_is_given_after_a_stop_is_discarded_and_counted)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    for (int i = 0; i < 6; i++) {
        od_pool *pool = pool_of(1);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, widths[i % 3], "resumed");
        od_group *group = od_group_create();
        uint64_t had_jobs = i >= 3;
        atomic_ullong ran = 0;

        if (had_jobs)
            od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        assert_true(od_group_wait(group, HANG_NS));
        assert_int_equal(od_pool_stop(pool, INT64_MAX, NULL), OD_OK);
        od_queue_suspend(queue);
        for (int job = 0; job < 10; job++)
            assert_int_equal(od_queue_async(queue, job % 2 == 0 ? group : NULL, OD_QUEUE_BAND, count_job, &ran),
                             OD_STOPPED);
        assert_true(od_group_wait(group, HANG_NS)); /* in time: nobody resumes it */
        assert_int_equal(od_queue_pending(queue), 0);
        od_queue_resume(queue);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), had_jobs);
        assert_int_equal(metrics_of(pool).cancelled, 10);
        assert_int_equal(metrics_of(pool).executed, had_jobs);
        od_group_release(group);
        end_pool(pool, queue);
    }
}

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
