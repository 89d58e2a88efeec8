/* submit.c — the functions by which jobs enter a queue, for C and for Swift. */
#include "gate/settle.h"
#include "gate/submit.h"
#include "job/label.h"
#include "observe/trace.h"
#include "worker/run.h"
#include "worker/worker.h"

/* After this many tasks that a worker runs one after another, the next one takes a place in the pool. Jobs of
 * other queues thus get their time slice. */
enum { MOST_NEXT = 16 };

/* The record has counted the job, but no memory is available to store it. */
ODI_COLD static od_status withdraw(odi_record *record, odi_entry job)
{
    return odi_record_withdraw(record, job) ? OD_NO_MEMORY : OD_OK;
}

/* Stores a job that its record has counted. Returns false as odi_queue_push does. */
ODI_HOT_INLINE bool place(od_queue *queue, odi_record *record, uint32_t key, odi_entry labelled,
                          odi_entry_node *node)
{
    /* relaxed: L2's fence precedes it */
    if (ODI_UNLIKELY(odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED)) {
        /* Read before the push: once the job runs, the queue may be gone. */
        bool urgent = (key & ODI_KEY_BAND) < queue->band;
        bool pushed = odi_queue_push(queue, labelled, node);

        if (ODI_UNLIKELY(pushed && urgent))
            odi_queue_raise_all(queue, key & ODI_KEY_BAND);
        return pushed;
    }
    if (ODI_LIKELY(odi_pool_submit(queue->pool, key & ODI_KEY_BAND, labelled)))
        return true;
    if (node != NULL)
        odi_pool_submit_node(queue->pool, key & ODI_KEY_BAND, labelled, node);
    return node != NULL;
}

ODI_COLD static od_status submit_without_record(od_queue *queue, odi_group *group, uint32_t key, odi_entry job,
                                                odi_entry_node *node, bool *reserve);

/* `node`, `reserve`: NULL, or as in odi_queue_submit_node. */
ODI_HOT_INLINE od_status submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job, odi_entry_node *node,
                                bool *reserve)
{
    odi_worker *worker = odi_worker_self;
    odi_record *record;
    odi_entry labelled;

    for (;;) {
        record = odi_queue_find_record(queue, group, key, reserve);
        if (ODI_UNLIKELY(record == NULL))
            return submit_without_record(queue, group, key, job, node, reserve);
        if (worker != NULL && odi_worker_use_reserved(worker, record))
            break;
        if (ODI_LIKELY(odi_queue_count(record, queue, group, key, 1)))
            break;
    }
    if (odi_traces())
        odi_trace(ODI_TRACE_SUBMIT, key & ODI_KEY_BAND, queue, odi_job_identity(job));
    if (ODI_UNLIKELY(!odi_record_label(record, job, &labelled)))
        return withdraw(record, job);
    if (ODI_LIKELY(place(queue, record, key, labelled, node)))
        return OD_OK;
    (void)odi_record_unlabel(&labelled);
    return withdraw(record, labelled);
}

static od_status submit_without_record(od_queue *queue, odi_group *group, uint32_t key, odi_entry job,
                                       odi_entry_node *node, bool *reserve)
{
    od_status status;

    if (odi_queue_admit(queue, group, key, reserve, &status) != NULL)
        return submit(queue, group, key, job, node, reserve);
    return odi_pool_refuse(queue->pool, status == OD_OK ? OD_NO_MEMORY : status, job);
}

/* Called by a worker of the pool, or after its stop. */
void odi_queue_submit_node(od_queue *queue, uint32_t key, odi_entry job, odi_entry_node *node, bool *reserve)
{
    od_status status = submit(queue, NULL, key, job, node, reserve);

    if (ODI_UNLIKELY(status != OD_OK && status != OD_STOPPED)) /* otherwise a stop has discarded it */
        odi_run_discard(&queue->pool->team, job);
}

/* The entry for users: a queue with a limit checks the limit first. */
ODI_HOT_INLINE od_status enter(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    if (ODI_UNLIKELY(queue->pending_limit > 0))
        return odi_limit_submit(queue, group, key, job);
    return submit(queue, group, key, job, NULL, NULL);
}

od_status odi_queue_enter(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    return enter(queue, group, key, job);
}

/* ---- entries for users ---- */

static uint32_t band_of(const od_queue *queue, int32_t band)
{
    uint32_t own = queue->band;

    return band >= 0 && (uint32_t)band < own ? (uint32_t)band : own;
}

/* Returns the key for band and flags. Closes the queue for a barrier. */
ODI_COLD uint32_t odi_queue_key(od_queue *queue, int32_t band, uint32_t flags)
{
    uint32_t key = band_of(queue, band);

    if (flags & OD_ENFORCE_BAND && (uint32_t)band < ODI_BANDS)
        key = (uint32_t)band;
    if (flags & OD_BARRIER) {
        odi_queue_keep_line(queue);
        key |= ODI_KEY_BARRIER;
    }
    return key;
}

od_status od_queue_async(od_queue *queue, od_group *group, int32_t band, void (*function)(void *),
                         void *context)
{
    return enter(queue, group, band_of(queue, band), odi_job_plain(function, context, 0));
}

od_status od_queue_async_with(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                              void (*function)(void *), void *context)
{
    return enter(queue, group, odi_queue_key(queue, band, flags), odi_job_plain(function, context, 0));
}

void od_queue_async_task(od_queue *queue, int32_t band, void *task)
{
    od_pool *pool = queue->pool; /* here and below: read before the push, because the queue may be gone
                                    afterwards */

    odi_pool_expect(pool, od_queue_async(queue, NULL, band, od_task_run, task));
}

/* Submits a job that bypasses the pending limit. */
static void submit_due(od_queue *queue, int32_t band, odi_entry job)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, submit(queue, NULL, band_of(queue, band), job, NULL, NULL));
}

void od_queue_async_due_task(od_queue *queue, int32_t band, void *task)
{
    submit_due(queue, band, odi_job_plain(od_task_run, task, 0));
}

/* Whether the calling worker could run a job of the band next, without a look at other sources. */
static bool may_run_next(odi_worker *worker, uint32_t band)
{
    /* relaxed, all: hints, as in odi_worker_find_local */
    uint32_t bands = odi_load_relaxed(&worker->bands) | odi_load_relaxed(&worker->site->bands);

    if (odi_outsides != NULL || odi_scopes != NULL || (bands & ~(1u << band)) != 0 || odi_traces() ||
        odi_load_relaxed(&worker->team->timers.overdue) || odi_load_relaxed(&worker->moves) ||
        (odi_load_relaxed(&worker->team->attention) & (ODI_SURPLUS | ODI_STOPPING | ODI_CANCELLING)) != 0)
        return false;
    return worker->nexts < MOST_NEXT;
}

void od_queue_async_next_task(od_queue *queue, int32_t band, void *task)
{
    odi_worker *worker = odi_worker_self;
    uint32_t key = band_of(queue, band);

    if (worker != NULL && may_run_next(worker, key)) {
        odi_record *record = odi_queue_find_record(queue, NULL, key, NULL);

        if (record != NULL && odi_worker_put_next(worker, record, task)) {
            worker->nexts++;
            return;
        }
    }
    if (worker != NULL)
        worker->nexts = 0;
    od_queue_async_due_task(queue, band, task);
}

void od_queue_async_executor_job(od_queue *queue, int32_t band, void *job)
{
    submit_due(queue, band, odi_job_plain(od_executor_run, job, 0));
}

static bool try(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    od_pool *pool = queue->pool; /* read before the push, because the queue may be gone afterwards */
    od_status status = OD_OK;

    bool taken = true;

    if (queue->pending_limit > 0)
        taken = odi_limit_try(queue, group, key, job, OD_OVERFLOW_REFUSED, &status);
    else
        status = submit(queue, group, key, job, NULL, NULL);
    odi_pool_expect(pool, status);
    return taken;
}

bool od_queue_try_async(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                        void (*function)(void *), void *context)
{
    return try(queue, group, odi_queue_key(queue, band, flags),
               odi_job_plain(function, context, 0));
}

bool od_queue_try_async_executor_job(od_queue *queue, int32_t band, void *job)
{
    return od_queue_try_async(queue, NULL, band, 0, od_executor_run, job);
}

#ifdef ODI_SWIFT_CLOSURES

/* Entry points for Swift closures. A closure parameter is two words, and `__owned` transfers the reference of
 * its context. The Swift side is Sources/OverdriveCore/Queue/ClosureDoor.swift. */
__attribute__((swiftcall)) void od_queue_async_closure(void *code, void *captures,
                                                       od_queue *queue, od_group *group,
                                                       int32_t band)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, enter(queue, group, band_of(queue, band), odi_job_closure(code, captures, 0)));
}

__attribute__((swiftcall)) void od_queue_async_closure_with(void *code, void *captures,
                                                            od_queue *queue, od_group *group,
                                                            int32_t band, uint32_t flags)
{
    od_pool *pool = queue->pool;

    odi_pool_expect(pool, enter(queue, group, odi_queue_key(queue, band, flags),
                                odi_job_closure(code, captures, 0)));
}

/* Releases a closure that is refused. */
__attribute__((swiftcall)) uint32_t od_queue_try_async_closure(void *code, void *captures,
                                                               od_queue *queue, od_group *group,
                                                               int32_t band, uint32_t flags)
{
    odi_entry job = odi_job_closure(code, captures, 0);
    bool taken = try(queue, group, odi_queue_key(queue, band, flags), job);

    if (!taken)
        odi_job_discard(job);
    return taken;
}

#endif
