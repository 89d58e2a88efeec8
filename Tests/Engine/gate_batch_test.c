/* gate/batch.c: jobs that are submitted together. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

#include "job/group.h"

#define add add_to /* queues.h has one of its own */
#include "gate/batch.c"
#undef add

typedef struct {
    _Alignas(16) char bytes[OD_BATCH_BYTES];
} storage;

QUEUE_TEST(a_batch_of_any_length_runs_every_job_once)
{
    static const int lengths[] = {0, 1, 2, 255, 256, 257, 512, 1000};
    storage room;

    for (size_t i = 0; i < WIDTHS; i++) {
        for (size_t each = 0; each < sizeof lengths / sizeof lengths[0]; each++) {
            od_queue *queue = queue_of(widths[i]);
            od_group *group = each % 2 ? od_group_create() : NULL;
            od_batch *batch = od_batch_begin(&room, queue, group, OD_QUEUE_BAND);
            atomic_ullong ran = 0;

            for (int job = 0; job < lengths[each]; job++)
                od_batch_add(batch, count_job, &ran);
            od_batch_submit(batch);
            od_batch_submit(batch); /* it is empty */
            assert_true(group != NULL ? od_group_wait(group, HANG_NS) : od_queue_wait(queue, HANG_NS));
            assert_int_equal(atomic_load(&ran), lengths[each]);
            od_queue_release(queue);
            if (group != NULL)
                od_group_release(group);
        }
    }
}

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

static od_queue *its_own;

static void submit_a_batch_inside(void *counter)
{
    storage room;
    od_batch *batch = od_batch_begin(&room, its_own, NULL, OD_QUEUE_BAND);

    for (int job = 0; job < 1000; job++)
        od_batch_add(batch, count_job, counter);
    od_batch_submit(batch);
}

QUEUE_TEST(a_job_submits_a_batch_to_its_own_queue)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        atomic_ullong ran = 0;

        its_own = queue_of(widths[i]);
        add_many(its_own, 5, submit_a_batch_inside, &ran);
        end_queue(its_own);
        assert_int_equal(atomic_load(&ran), 5000);
    }
}

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

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
