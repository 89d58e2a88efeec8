/* within.c — queue jobs that begin immediately, inside the Swift task that awaits them.
 *
 * A task usually goes to the queue's job by way of the pool, and its own job ends. If its worker could run
 * the queue's job next, the task stays instead. Its own job then continues as the queue's job: counted, and
 * with a permit like a sync caller. Queries, cancels and waits therefore see an ordinary job. It overtakes
 * only work that this worker itself would have run in between.
 */
#include "gate/callers.h"
#include "gate/current.h"
#include "gate/submit.h"

#include "sleep/idle.h"
#include "worker/run.h"
#include "worker/worker.h"

/* After this many jobs the worker runs other work, as a drainer does after its time slice. */
enum { MOST_WITHIN = 64 };

/* At most one per thread. It outlives the worker in a forked child. */
static _Thread_local od_scope here __attribute__((tls_model("initial-exec")));

#ifdef ODI_SWIFT_CLOSURES
/* The Swift runtime's function, if the program has Swift. */
extern __attribute__((swiftcall)) void *swift_task_getCurrent(void)
    __attribute__((weak, visibility("default")));

/* Returns the task that the calling thread runs, if it is the worker's job itself. Otherwise a job below it
 * would have to wait for the queue's job: returns NULL. */
static void *task_of(odi_worker *worker)
{
    /* relaxed: owner-only word */
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

/* Whether other bands have local work. A band's bit stays set for a while after its last job. Hints only. */
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

/* Whether the worker could run a job of the queue next, if no entry is before it. */
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
        odi_queue_give_permit(queue, false); /* the caller keeps the queue alive */
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
    odi_queue_give_permit(here.queue, false); /* the job's count keeps the queue alive */
    if (odi_worker_self != NULL) /* otherwise this is a forked child, and the job belongs to the parent */
        odi_worker_end_within(odi_worker_self);
}
