/* batch.c — batches: jobs submitted together with one count on their record, one critical section of their
 * wait queue, and one wake-up. The filling thread owns the batch. */
#include "gate/settle.h"
#include "gate/submit.h"
#include "job/label.h"
#include "observe/trace.h"
#include "worker/run.h"
#include "os/membarrier.h"

#include <string.h>

enum { JOBS = 256 };

struct od_batch {
    od_queue *queue;
    od_group *group;
    uint32_t key, count;
    _Alignas(16) odi_entry jobs[JOBS];
};

_Static_assert(sizeof(od_batch) <= OD_BATCH_BYTES, "a batch fits its storage");

od_batch *od_batch_begin(void *storage, od_queue *queue, od_group *group, int32_t band)
{
    od_batch *batch = storage;

    batch->queue = queue;
    batch->group = group;
    batch->key = odi_queue_key(queue, band, 0);
    batch->count = 0;
    return batch;
}

static void add(od_batch *batch, odi_entry job)
{
    while (ODI_UNLIKELY(batch->count == JOBS)) /* a job that runs here may fill it again */
        od_batch_submit(batch);
    batch->jobs[batch->count++] = job;
}

void od_batch_add(od_batch *batch, void (*function)(void *), void *context)
{
    add(batch, odi_job_plain(function, context, 0));
}

#ifdef ODI_SWIFT_CLOSURES
__attribute__((swiftcall)) void od_batch_add_closure(void *code, void *captures, od_batch *batch)
{
    add(batch, odi_job_closure(code, captures, 0));
}
#endif

/* Counts `jobs` jobs on their record. Returns NULL, and counts nothing, if an allocation fails. */
static odi_record *count_on_record(od_queue *queue, od_group *group, uint32_t key,
                                   uint32_t jobs)
{
    for (;;) {
        odi_record *record = odi_queue_find_record(queue, group, key, NULL);

        if (record == NULL)
            return NULL;
        if (ODI_LIKELY(odi_queue_count(record, queue, group, key, jobs)))
            return record;
    }
}

/* Pushes jobs into the wait queue until an allocation fails. Returns their number. */
static uint32_t push(od_queue *queue, odi_record *record, const odi_entry *jobs, uint32_t many)
{
    uint32_t pushed = 0;

    odi_lock_acquire(&queue->inbox.lock);
    /* relaxed: written under the lock, or rechecked for jobs that were not pushed */
    if (!(odi_load_relaxed(&record->flags) & (ODI_RECORD_CANCELLED | ODI_RECORD_STALE))) {
        while (pushed < many && odi_inbox_push(&queue->inbox, jobs[pushed], NULL))
            pushed++;
    }
    bool wants = odi_load_relaxed(&queue->inbox.wants); /* relaxed: becomes true only under the lock */
    odi_lock_release(&queue->inbox.lock);
    if (pushed > 0 && wants)
        odi_queue_see_to_drainers(queue);
    return pushed;
}

ODI_COLD static void trace_submissions(const od_batch *batch, uint32_t jobs)
{
    for (uint32_t i = 0; i < jobs; i++)
        odi_trace(ODI_TRACE_SUBMIT, batch->key & ODI_KEY_BAND, batch->queue, odi_job_identity(batch->jobs[i]));
}

/* Ends the process if the job was not kept, because other jobs of the batch may run already. */
static void expect(od_pool *pool, bool kept)
{
    odi_pool_expect(pool, kept ? OD_OK : OD_NO_MEMORY);
}

/* Submits each job separately, because a limit decides about each job or memory is scarce. A job that runs
 * here may fill the batch again, so the jobs are copied first. */
static void submit_each(od_batch *batch, uint32_t jobs)
{
    od_queue *queue = batch->queue;
    od_group *group = batch->group;
    od_pool *pool = queue->pool;
    uint32_t key = batch->key;
    odi_entry rest[JOBS];

    memcpy(rest, batch->jobs, jobs * sizeof *rest);
    for (uint32_t i = 0; i < jobs; i++)
        odi_pool_expect(pool, odi_queue_enter(queue, group, key, rest[i]));
}

void od_batch_submit(od_batch *batch)
{
    od_queue *queue = batch->queue;
    uint32_t jobs = batch->count, pushed;
    bool together = queue->pending_limit == 0 && jobs > 0;
    bool urgent = batch->key < queue->band; /* read before the push, both: once the jobs run, the queue may be
                                               gone */
    od_pool *pool = queue->pool;
    odi_record *record =
        together ? count_on_record(queue, batch->group, batch->key, jobs) : NULL;

    batch->count = 0;
    if (record == NULL) {
        submit_each(batch, jobs);
        return;
    }
    if (odi_traces())
        trace_submissions(batch, jobs);
    for (uint32_t i = 0; i < jobs; i++)
        expect(pool, odi_record_label(record, batch->jobs[i], &batch->jobs[i]));
    /* relaxed: L2's fence precedes it */
    if (odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED) {
        for (pushed = push(queue, record, batch->jobs, jobs); pushed < jobs; pushed++) {
            if (ODI_UNLIKELY(!odi_queue_push(queue, batch->jobs[pushed], NULL))) {
                record = odi_record_unlabel(&batch->jobs[pushed]);
                expect(pool, !odi_record_withdraw(record, batch->jobs[pushed]));
            }
        }
        if (urgent)
            odi_queue_raise_all(queue, batch->key);
    } else
        expect(pool, odi_pool_submit_several(pool, odi_record_band(record), batch->jobs, jobs));
}
