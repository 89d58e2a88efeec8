/* gate/batch.c: jobs that are submitted together. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

#define add add_to /* queues.h has one of its own */
#include "gate/batch.c"
#undef add

typedef struct {
    _Alignas(16) char bytes[OD_BATCH_BYTES];
} storage;

SCENE(a_batch_of_any_length_runs_every_job_once,
      "W in 0 1 2: queue q width W; group g; batch q 0 a; wait q; a = 0; batch q 1 a in g; wait g; a = 1; batch q 2 a; "
      "wait q; a = 3; batch q 255 a in g; wait g; a = 258; batch q 256 a; wait q; a = 514; batch q 257 a in g; wait g; "
      "a = 771; batch q 512 a; wait q; a = 1283; batch q 1000 a in g; wait g; a = 2283")

static struct {
    int next, disorder;
} order;

static void in_order(void *raw)
{
    order.disorder += order.next != (int)(intptr_t)raw;
    order.next++;
}

QUEUE_TEST(batches_and_single_jobs_of_one_thread_keep_their_order)
{
    od_queue *queue = queue_of(1);
    storage room;
    od_batch *batch = od_batch_begin(&room, queue, NULL, OD_QUEUE_BAND);
    int job = 0;

    order.next = order.disorder = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 7 * round; i++)
            od_batch_add(batch, in_order, (void *)(intptr_t)job++);
        od_batch_submit(batch);
        add(queue, in_order, (void *)(intptr_t)job++);
    }
    end_queue(queue);
    assert_int_equal(order.disorder, 0);
    assert_int_equal(order.next, job);
}

QUEUE_TEST(with_one_worker_a_batch_on_an_open_queue_starts_in_order)
{
    od_pool *lone = lone_worker();
    od_queue *queue = od_queue_create(lone, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
    storage room;
    od_batch *batch = od_batch_begin(&room, queue, NULL, OD_QUEUE_BAND);

    order.next = order.disorder = 0;
    for (int job = 0; job < 2000; job++)
        od_batch_add(batch, in_order, (void *)(intptr_t)job);
    od_batch_submit(batch);
    end_queue(queue);
    assert_int_equal(order.disorder, 0);
    assert_int_equal(order.next, 2000);
    assert_int_equal(od_pool_free(lone), OD_OK);
}

QUEUE_TEST(a_cancel_counts_a_batch_that_waits)
{
    storage room;

    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *queue = queue_of(widths[i]);
        od_batch *batch = od_batch_begin(&room, queue, NULL, OD_QUEUE_BAND);
        atomic_ullong ran = 0;

        od_queue_suspend(queue);
        for (int job = 0; job < 300; job++)
            od_batch_add(batch, count_job, &ran);
        assert_int_equal(od_queue_pending(queue), 256); /* a full one is submitted */
        od_batch_submit(batch);
        assert_int_equal(od_queue_pending(queue), 300);
        assert_int_equal(od_queue_cancel_all(queue), 300);
        od_queue_resume(queue);
        od_batch_add(batch, count_job, &ran);
        od_batch_submit(batch);
        end_queue(queue);
        assert_int_equal(atomic_load(&ran), 1);
    }
}

SCENE(a_job_submits_a_batch_to_its_own_queue,
      "W in 0 1 2: queue q width W; add q 5 {batch q 1000 a}; wait q; a = 5000")

/* It looked at the record without a lock: what that has become meanwhile is asked again. */
QUEUE_TEST(a_batch_goes_into_no_line_by_a_record_that_was_closed_or_cancelled_meanwhile)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    odi_entry job = odi_job_plain(no_job, NULL, 0);

    run_in(queue, no_job, NULL);
    odi_record *record = odi_queue_find_record(queue, NULL, OD_BAND_DEFAULT, NULL);
    od_queue_suspend(queue);
    assert_int_equal(push(queue, record, &job, 1), 0); /* it belongs in front */
    record = odi_queue_find_record(queue, NULL, OD_BAND_DEFAULT, NULL);
    odi_or_seqcst(&record->flags, ODI_RECORD_CANCELLED, L2);
    assert_int_equal(push(queue, record, &job, 1), 0);
    odi_and_seqcst(&record->flags, ~(uint32_t)ODI_RECORD_CANCELLED, L2);
    od_queue_resume(queue);
    od_queue_release(queue);
}

#ifdef ODI_SWIFT_CLOSURES
static atomic_int closures_ran;

static __attribute__((swiftcall)) void closure(__attribute__((swift_context)) void *captures)
{
    atomic_fetch_add(&closures_ran, captures == NULL);
}

QUEUE_TEST(a_batch_takes_closures)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    storage room;
    odi_closure *code = closure;
    void *word;

    memcpy(&word, &code, sizeof word);
    od_batch *batch = od_batch_begin(&room, queue, NULL, OD_QUEUE_BAND);
    for (int job = 0; job < 3; job++)
        od_batch_add_closure(word, NULL, batch);
    od_batch_submit(batch);
    end_queue(queue);
    assert_int_equal(atomic_load(&closures_ran), 3);
}
#endif

/* One locked addition to the ledger counts all of a batch. */
QUEUE_TEST(a_batch_is_counted_at_once)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    storage room;
    od_batch *batch = od_batch_begin(&room, queue, NULL, OD_QUEUE_BAND);

    for (int job = 0; job < 200; job++)
        od_batch_add(batch, no_job, NULL);
    assert_int_equal(od_queue_pending(queue), 0); /* before it is submitted */
    od_batch_submit(batch);
    end_queue(queue);
    assert_int_equal(metrics_of(pool).executed, 200);
}

static struct {
    od_batch *batch;
    atomic_int ran[9];
} refilled;

/* The submitter runs it, because the queue is full. */
static void refill(void *raw)
{
    intptr_t job = (intptr_t)raw;

    atomic_fetch_add(&refilled.ran[job], 1);
    for (intptr_t more = 5; job == 1 && more < 9; more++)
        od_batch_add(refilled.batch, refill, (void *)more);
}

QUEUE_TEST(a_job_that_its_submitter_runs_may_fill_the_batch_again)
{
    od_queue *queue = queue_with((od_queue_options){.width = 1, .label = "full", .pending_limit = 1,
                                                    .overflow = OD_OVERFLOW_RUNS});
    storage room;

    memset(&refilled, 0, sizeof refilled);
    refilled.batch = od_batch_begin(&room, queue, NULL, OD_QUEUE_BAND);
    od_queue_suspend(queue);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, refill, (void *)0);
    for (intptr_t job = 1; job < 5; job++)
        od_batch_add(refilled.batch, refill, (void *)job);
    od_queue_resume(queue);
    od_batch_submit(refilled.batch);
    od_batch_submit(refilled.batch);
    end_queue(queue);
    for (int job = 0; job < 9; job++)
        assert_true(atomic_load(&refilled.ran[job]) == 1 || (job >= 5 && atomic_load(&refilled.ran[1]) == 1));
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
