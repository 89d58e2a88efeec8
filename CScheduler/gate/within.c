/* within.c — jobs that begin at once, inside of the Swift task that awaits them.
 *
 * A task goes to a queue's job by way of the pool, and its own job is over then. Where its worker could come to the
 * queue's job next, it stays, and its own goes on as the queue's: one that is counted, and holds a place as a sync
 * caller does. So it is for who asks the queue, cancels or waits; it passes by nothing but what the worker itself would
 * run in between.
 */
#include "gate/callers.h"
#include "gate/current.h"
#include "gate/submit.h"

#include "sleep/idle.h"
#include "worker/run.h"
#include "worker/worker.h"

/* Then others have their turn of the worker, as they have after so many jobs of a line. */
enum { MOST_WITHIN = 64 };

/* There is one on a thread, which outlives the worker in a forked child. */
static _Thread_local od_scope here __attribute__((tls_model("initial-exec")));

#ifdef ODI_SWIFT_CLOSURES
/* The Swift runtime's, where there is one. */
extern __attribute__((swiftcall)) void *swift_task_getCurrent(void)
    __attribute__((weak, visibility("default")));

/* The task that the calling thread runs, if that is the worker's job itself: below it is nobody's who would have to wait
 * for it. NULL: it is not. */
static void *task_of(odi_worker *worker)
{
    /* relaxed: the worker's own word */
    if (!(odi_load_relaxed(&worker->jobs) & 1) || worker->run_record != NULL || odi_scopes != NULL ||
        odi_outsides != NULL || odi_apart != NULL || swift_task_getCurrent == NULL)
        return NULL;
    void *task = swift_task_getCurrent();

    return (uint64_t)(uintptr_t)task == worker->context ? task : NULL;
}
#else
static void *task_of(odi_worker *worker)
{
    (void)worker;
    return NULL;
}
#endif

/* Whether other bands have work at hand. A band's bit stays for a while after its last job. Hints, all. */
static bool other_bands_wait(odi_worker *worker, uint32_t band)
{
    /* relaxed, both: hints */
    uint32_t bands = (odi_load_relaxed(&worker->bands) | odi_load_relaxed(&worker->site->bands)) & ~(1u << band);

    for (; ODI_UNLIKELY(bands != 0); bands &= bands - 1) {
        int each = __builtin_ctz(bands);

        if (odi_deque_size(&worker->deques[each]) > 0 || odi_injector_size(&worker->site->injectors[each]) > 0)
            return true;
    }
    return false;
}

/* Whether the worker could come to a job of the queue next, if nothing is before that. */
static bool may_come_next(odi_worker *worker, od_queue *queue)
{
    return worker->team == &queue->pool->team && odi_target_next(queue) == NULL &&
           worker->within < MOST_WITHIN && !other_bands_wait(worker, queue->band) &&
           /* relaxed, all: hints; the lock decides, and a stop closes the records */
           odi_load_relaxed(&queue->inbox.diverted) && !odi_load_relaxed(&worker->team->timers.overdue) &&
           !(odi_load_relaxed(&worker->team->attention) & (ODI_SURPLUS | ODI_STOPPING));
}

static bool take_place(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool takes = odi_queue_is_clear(queue) && odi_gate_enter(&queue->gate, false, true);
    odi_lock_release(&queue->watch.lock);
    return takes;
}

od_within od_queue_begin_within(od_queue *queue, void **task)
{
    odi_worker *worker = odi_worker_self;
    odi_record *record;

    if (worker == NULL || !may_come_next(worker, queue) || (*task = task_of(worker)) == NULL ||
        (record = odi_queue_find_record(queue, NULL, queue->band, NULL)) == NULL || !take_place(queue))
        return OD_NOT_WITHIN;
    bool counted = odi_record_count(record, queue, NULL, 1);

    if (!counted || !odi_worker_begin_within(worker, record)) {
        odi_queue_give_permit(queue, false); /* the caller keeps the queue */
        return counted ? OD_CANCELLED_WITHIN : OD_NOT_WITHIN;
    }
    worker->within++;
    here = (od_scope){.queue = queue, .holds_place = true, .drains = true};
    odi_scopes = &here;
    return OD_BEGUN_WITHIN;
}

void od_queue_end_within(void)
{
    odi_scopes = NULL;
    odi_queue_give_permit(here.queue, false); /* the job's count keeps the queue */
    if (odi_worker_self != NULL) /* else it is a forked child's, and the job was the parent's */
        odi_worker_end_within(odi_worker_self);
}
