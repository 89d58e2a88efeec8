/* pool/stop: what others do beside a stop; they submit, take a drainer or a ticket and lose their CPU, run, leave, or stop the
 * pool too.
 */
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/watchdog.h"
#include "gate/settle.h"
#include "gate/submit.h"
#include "include/od_semaphore.h"
#include "job/label.h"
#include "worker/recruit.h"
#include "worker/run.h"

/* ---- submitters and workers ---- */

typedef struct {
    odi_owned owned; /* first */
    gate *door;      /* it is given up there; NULL: at once */
} witness;

static pthread_t stopper;
static atomic_ullong given_up_elsewhere;

static void never_called(odi_owned *owned) { abort(); }

static void say_where(odi_owned *owned)
{
    const witness *it = (const witness *)owned;

    if (!pthread_equal(pthread_self(), stopper))
        atomic_fetch_add(&given_up_elsewhere, 1);
    if (it->door != NULL)
        gate_pass(it->door);
}

static const odi_owned_kind witness_kind = {never_called, say_where};

typedef struct {
    od_pool *pool;
    int64_t deadline;
    od_stop_report report;
    atomic_bool over;
} stopping;

static void *stop_and_report(void *raw)
{
    stopping *it = raw;

    stopper = pthread_self();
    od_pool_stop(it->pool, it->deadline, &it->report);
    atomic_store(&it->over, true);
    return NULL;
}

/* More than are claimed at once: the others lie in the pool while the first is given up. */
TEST(who_submits_beside_a_stop_discards_nobody_elses_jobs)
{
    enum { WITNESSES = 4 * ODI_STEAL_BATCH };
    static witness witnesses[WITNESSES];
    stopping it = {.pool = lone_worker()};
    gate stuck = {0}, door = {0};
    pthread_t thread;

    hold_a_worker(it.pool, &stuck);
    for (int i = 0; i < WITNESSES; i++) {
        witnesses[i] = (witness){{&witness_kind}, i == 0 ? &door : NULL};
        od_pool_submit(it.pool, OD_BAND_DEFAULT, odi_job_call_owned, &witnesses[i]);
    }
    pthread_create(&thread, NULL, stop_and_report, &it);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    assert_int_equal(od_pool_submit(it.pool, OD_BAND_DEFAULT, no_job, NULL), OD_STOPPED);
    assert_false(od_pool_is_stopped(it.pool));
    gate_open(&door);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&given_up_elsewhere), 0);
    assert_report(&it.report, 0, WITNESSES + 1, 1);
    gate_open(&stuck);
    assert_comes_true(all_have_gone(it.pool));
    od_pool_free(it.pool);
}

static int64_t processor_time_of(pthread_t thread)
{
    struct timespec spent = {0};
    clockid_t its;

    assert_int_equal(pthread_getcpuclockid(thread, &its), 0);
    assert_int_equal(clock_gettime(its, &spent), 0);
    return spent.tv_sec * ODI_SECOND + spent.tv_nsec;
}

/* A submitter has called a drainer, and loses its CPU before it gives that to the pool: what lies there was
 * accepted. */
TEST(a_stop_waits_for_a_drainer_that_its_caller_has_in_hand)
{
    stopping it = {.pool = pool_of(1), .deadline = INT64_MAX};
    od_queue *queue = od_queue_create(it.pool, OD_BAND_DEFAULT, 1, "called for");
    atomic_ullong ran = 0;
    pthread_t thread;

    od_queue_suspend(queue);
    add_many(queue, 3, count_job, &ran);
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions = 0;
    odi_settlement called = odi_queue_settle(queue);
    odi_lock_release(&queue->watch.lock);
    assert_int_equal(called.passes, 1);
    pthread_create(&thread, NULL, stop_and_report, &it);
    assert_comes_true(all_have_gone(it.pool));
    odi_clock_sleep(60 * ODI_MILLISECOND); /* a stop that does not wait is over */
    assert_false(atomic_load(&it.over));
    assert_true(processor_time_of(thread) < 30 * ODI_MILLISECOND); /* and one that waits is asleep */
    odi_queue_carry_out(queue, called);
    pthread_join(thread, NULL);
    assert_report(&it.report, 3, 0, 0);
    assert_int_equal(atomic_load(&ran), 3);
    end_pool(it.pool, queue);
}

/* Its deadline holds all the same. */
TEST(a_stop_does_not_wait_for_such_a_drainer_beyond_its_deadline)
{
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "called for");
    atomic_ullong ran = 0;

    od_queue_suspend(queue);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran);
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions = 0;
    odi_settlement called = odi_queue_settle(queue);
    odi_lock_release(&queue->watch.lock);
    assert_stop(pool, 5 * ODI_MILLISECOND, 0, 1, 0);
    odi_queue_carry_out(queue, called);
    assert_int_equal(atomic_load(&ran), 0);
    end_pool(pool, queue);
}

/* odi_injector_push up to the ticket; returns where the entry is to be written. The first of a job that ran lies before
 * it, in the same block. */
static odi_slot *take_a_ticket(odi_injector *injector)
{
    uint64_t ticket = odi_add_seqcst(&injector->tail, 1, S2);
    uintptr_t occupant = odi_load_acquire(&injector->directory[ticket / ODI_INJECTOR_BLOCK].occupant, J2);
    odi_slot *slots = (odi_slot *)((occupant & ~(uintptr_t)(ODI_INJECTOR_ROUNDS - 1)) + ODI_CACHE_LINE);

    assert_true(ticket > 0 && ticket < ODI_INJECTOR_BLOCK);
    assert_true(odi_load_relaxed(&slots[ticket - 1].code) != 0 && odi_load_relaxed(&slots[ticket].code) == 0);
    return &slots[ticket];
}

/* A submitter has a place in the pool, and loses its CPU before it writes the job there: what came after it was
 * accepted, and nobody finds it. */
TEST(a_stop_waits_for_who_has_taken_a_ticket_and_not_written_the_job)
{
    stopping it = {.pool = pool_of(1), .deadline = INT64_MAX};
    odi_site *site = &it.pool->team.sites[0];
    atomic_ullong ran = 0;
    pthread_t thread;

    od_pool_submit(it.pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    odi_slot *slot = take_a_ticket(&site->injectors[OD_BAND_DEFAULT]);
    od_pool_submit(it.pool, OD_BAND_DEFAULT, count_job, &ran);
    pthread_create(&thread, NULL, stop_and_report, &it);
    assert_comes_true(all_have_gone(it.pool));
    odi_clock_sleep(20 * ODI_MILLISECOND); /* a stop that does not wait is over */
    assert_false(atomic_load(&it.over));
    odi_entry job = odi_job_plain(count_job, &ran, 0);
    odi_store_relaxed(&slot->context, job.context); /* relaxed, J1 carries it */
    odi_store_release(&slot->code, job.code, J1);
    odi_team_publish_push(&it.pool->team, site);
    pthread_join(thread, NULL);
    assert_report(&it.report, 3, 0, 0);
    assert_int_equal(atomic_load(&ran), 3);
    od_pool_free(it.pool);
}

static struct {
    bool (*owed)(od_pool *pool);
    od_queue *queue;
    odi_settlement called;
    atomic_ullong ran;
    int looks;
} come_and_gone;

/* Behind the stop's look a worker comes and goes, and calls a drainer that somebody else has in hand. */
static bool look_and_let_one_come(od_pool *pool)
{
    bool owed = come_and_gone.owed(pool);

    if (++come_and_gone.looks > 1) {
        odi_queue_carry_out(come_and_gone.queue, come_and_gone.called);
        come_and_gone.called.passes = 0;
        return owed;
    }
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &come_and_gone.ran);
    assert_comes_true(atomic_load(&come_and_gone.ran) == 1);
    assert_comes_true(all_have_gone(pool));
    odi_lock_acquire(&come_and_gone.queue->watch.lock);
    come_and_gone.queue->gate.suspensions = 0;
    come_and_gone.called = odi_queue_settle(come_and_gone.queue);
    odi_lock_release(&come_and_gone.queue->watch.lock);
    return owed;
}

TEST(a_stop_looks_again_where_a_worker_has_come_and_gone_behind_its_look)
{
    od_pool *pool = lone_worker();
    od_stop_report report;

    come_and_gone.queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "called for");
    od_queue_suspend(come_and_gone.queue);
    od_queue_async(come_and_gone.queue, NULL, OD_QUEUE_BAND, count_job, &come_and_gone.ran);
    come_and_gone.owed = odi_owed_above;
    odi_owed_above = look_and_let_one_come;
    od_pool_stop(pool, INT64_MAX, &report);
    odi_owed_above = come_and_gone.owed;
    assert_report(&report, 2, 0, 0);
    assert_true(come_and_gone.looks > 1);
    end_pool(pool, come_and_gone.queue);
}

/* A submitter has counted a job of an open queue, and loses its CPU over the whole stop, which counts the job. */
TEST(who_comes_to_the_pool_after_the_stop_has_counted_his_job_discards_it_uncounted)
{
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create_with(pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .shared = true});
    odi_entry labelled;
    atomic_ullong ran = 0;

    od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    odi_record *record = odi_queue_find_record(queue, NULL, OD_BAND_DEFAULT, NULL);
    assert_true(odi_record_count(record, queue, NULL, 1));
    assert_true(odi_record_label(record, odi_job_plain(count_job, &ran, 0), &labelled));
    assert_stop(pool, INT64_MAX, 1, 1, 0);
    assert_false(od_queue_wait(queue, 0));
    assert_true(odi_pool_submit(pool, OD_BAND_DEFAULT, labelled));
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 1);
    assert_int_equal(metrics_of(pool).cancelled, 1);
    od_pool_free(pool);
}

static struct {
    od_pool *pool;
    gate door;
    atomic_ullong ran;
    uint64_t jobs;
    atomic_bool run;
} late_start;

static void run_what_was_taken(void *unused)
{
    gate_pass(&late_start.door);
    uint64_t between = odi_load_relaxed(&odi_worker_self->jobs) - 1;

    odi_store_relaxed(&odi_worker_self->jobs, between);
    odi_worker_run(odi_worker_self, odi_job_plain(count_job, &late_start.ran, 0), ODI_RECORD_CANCELLED);
    late_start.jobs = odi_load_relaxed(&odi_worker_self->jobs) - between;
    odi_store_relaxed(&odi_worker_self->jobs, between + 1);
    atomic_store(&late_start.run, true);
}

/* Once it ran after the stop had returned, beside what came down then. */
TEST(a_worker_that_comes_late_to_what_it_has_taken_begins_it_no_more)
{
    late_start.pool = lone_worker();
    od_pool_submit(late_start.pool, OD_BAND_DEFAULT, run_what_was_taken, NULL);
    assert_comes_true(atomic_load(&late_start.door.waiting) == 1);
    od_pool_stop(late_start.pool, 0, NULL);
    gate_open(&late_start.door);
    assert_comes_true(atomic_load(&late_start.run));
    assert_int_equal(atomic_load(&late_start.ran), 0);
    assert_int_equal(late_start.jobs, 0); /* or a stop takes it for stuck in what it never began */
    assert_int_equal(metrics_of(late_start.pool).cancelled, 1);
    assert_int_equal(od_pool_free(late_start.pool), OD_OK);
}

static bool discards_still;

static void discard_another(void *pool)
{
    odi_run_discard(&((od_pool *)pool)->team, odi_job_plain(no_job, NULL, ODI_TAG_INTERNAL));
    discards_still = odi_discarding;
}

/* What came after such a one in the outer one's line would have run. */
TEST(a_discarded_drainer_that_meets_another_discards_on)
{
    od_pool *pool = pool_of(1);

    odi_run_discard(&pool->team, odi_job_plain(discard_another, pool, ODI_TAG_INTERNAL));
    assert_true(discards_still);
    assert_false(odi_discarding);
    assert_int_equal(all_done(pool), 0); /* neither is counted */
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- several at once ---- */

static struct {
    od_pool *pool;
    atomic_int ids[4], over;
} stops;

static void *stop_it(void *number)
{
    atomic_store(&stops.ids[(intptr_t)number], odi_thread_id());
    od_status status = od_pool_stop(stops.pool, INT64_MAX, NULL);
    atomic_fetch_add(&stops.over, 1);
    return (void *)(uintptr_t)status;
}

TEST(of_several_stops_one_does_it_and_all_wait)
{
    od_pool *pool = pool_of(2);
    pthread_t threads[4];
    atomic_ullong ran = 0;
    int ok = 0;

    gate door = {0};

    memset(&stops, 0, sizeof stops);
    stops.pool = pool;
    hold_a_worker(pool, &door);
    submit_many(pool, 1000, count_job, &ran);
    start_threads(threads, 4, stop_it);
    for (int i = 0; i < 4; i++)
        assert_comes_true(atomic_load(&stops.ids[i]) != 0 && odi_thread_sleeps(atomic_load(&stops.ids[i])) != 0);
    gate_open(&door);
    assert_comes_true(atomic_load(&stops.over) == 4);
    for (int i = 0; i < 4; i++) {
        void *status;

        pthread_join(threads[i], &status);
        assert_true((od_status)(uintptr_t)status == OD_OK || (od_status)(uintptr_t)status == OD_STOPPED);
        ok += (od_status)(uintptr_t)status == OD_OK;
        assert_int_equal(atomic_load(&ran), 1000);
    }
    assert_int_equal(ok, 1);
    od_pool_free(pool);
}

static struct {
    od_pool *pool;
    od_semaphore *semaphore;
    atomic_bool both, goes_on;
    int moment;
} leaving;

static void signal_it(void *unused) { od_semaphore_signal(leaving.semaphore); }

static void end_with_the_other(void *unused)
{
    atomic_store(&leaving.both, true);
    while (!atomic_load(&leaving.goes_on))
        odi_thread_yield();
}

static void wait_for_another(void *unused)
{
    od_blocking_begin();
    while (!atomic_load(&leaving.both))
        odi_clock_sleep(50 * ODI_MICROSECOND);
    atomic_store(&leaving.goes_on, true);
    for (volatile int i = 0; i < leaving.moment; i++) {
    }
    od_blocking_end();
    od_pool_submit(leaving.pool, OD_BAND_DEFAULT, signal_it, NULL);
    (void)od_semaphore_wait(leaving.semaphore, INT64_MAX);
}

/* A worker more was there while the job blocked. It leaves, as the pool stops, when the job submits and waits:
 * it had looked already, and the team was full for as long as it had not left. */
TEST(what_a_job_waits_for_runs_although_the_other_worker_leaves_a_stopping_pool)
{
    for (int round = 0; round < UNLESS_SANITIZED(400, 100); round++) {
        leaving.pool = pool_of(1);
        leaving.semaphore = od_semaphore_create(0);
        leaving.moment = round % 50 * (round < 200 ? 100 : 2000);
        atomic_store(&leaving.both, false);
        atomic_store(&leaving.goes_on, false);
        od_pool_submit(leaving.pool, OD_BAND_DEFAULT, wait_for_another, NULL);
        od_pool_submit(leaving.pool, OD_BAND_DEFAULT, end_with_the_other, NULL);
        assert_stop(leaving.pool, HANG_NS, 3, 0, 0);
        od_pool_free(leaving.pool);
        od_semaphore_release(leaving.semaphore);
    }
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
