/* within.c — queue jobs that begin immediately, inside the Swift task that awaits them.
 *
 * A task usually goes to the queue's job by way of the pool, and its own job ends. If its worker could run
 * the queue's job next, the task stays instead. Its own job then continues as the queue's job: counted, and
 * in a wait queue with a permit like a sync caller. Queries, cancels and waits therefore see an ordinary job.
 * It overtakes only work that this worker itself would have run in between. On an open queue it overtakes no
 * job of its band that waits here.
 */
#include "gate/callers.h"
#include "gate/current.h"
#include "gate/submit.h"

#include "os/clock.h"
#include "sleep/idle.h"
#include "worker/run.h"
#include "worker/worker.h"

/* After this many jobs, or at the first clock tick after LONGEST_WITHIN_NS, the worker runs other work, as a
 * drainer does after its time slice. */
enum { MOST_WITHIN = 64, LONGEST_WITHIN_NS = 1000000 };

/* At most one per thread, without a queue if none is in use. It outlives the worker in a forked child. */
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

/* Whether bands other than those of `left_out` have local work. A band's bit stays set for a while after its
 * last job. Hints only. */
static bool bands_wait(odi_worker *worker, uint32_t left_out)
{
    /* relaxed, both: hints */
    uint32_t bands = (odi_load_relaxed(&worker->bands) | odi_load_relaxed(&worker->site->bands)) & ~left_out;

    for (; ODI_UNLIKELY(bands != 0); bands &= bands - 1) {
        int each = __builtin_ctz(bands);

        if (odi_deque_size(&worker->deques[each]) > 0 || odi_injector_size(&worker->site->injectors[each]) > 0)
            return true;
    }
    return false;
}

static bool has_time(odi_worker *worker)
{
    int64_t now = odi_clock_coarse();

    if (worker->within == 0)
        worker->within_ns = now;
    return worker->within < MOST_WITHIN && now - worker->within_ns < LONGEST_WITHIN_NS;
}

/* Whether the worker could run a job of the queue next, if no entry of its wait queue is before it. */
static bool may_come_next(odi_worker *worker, od_queue *queue, bool open)
{
    return odi_target_next(queue) == NULL && has_time(worker) &&
           !bands_wait(worker, open ? 0 : 1u << queue->band) &&
           /* relaxed, both: hints; a stop closes the records */
           !odi_load_relaxed(&worker->team->timers.overdue) &&
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

    if (worker == NULL || worker->team != &queue->pool->team ||
        (record = odi_queue_find_record(queue, NULL, queue->band, NULL)) == NULL)
        return OD_NOT_WITHIN;
    /* relaxed: rechecked at the start; never cleared in a generation */
    bool open = !(odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED);

    if (!may_come_next(worker, queue, open) || (*task = task_of(worker)) == NULL || (!open && !take_place(queue)))
        return OD_NOT_WITHIN;
    odi_start start = ODI_DIVERTED;

    if (odi_record_count(record, queue, NULL, 1))
        start = odi_worker_begin_within(worker, record, ODI_RECORD_CANCELLED | (open ? ODI_RECORD_DIVERTED : 0));
    if (start != ODI_STARTS) {
        if (!open)
            odi_queue_give_permit(queue, false); /* the caller keeps the queue alive */
        return start == ODI_CANCELLED ? OD_CANCELLED_WITHIN : OD_NOT_WITHIN;
    }
    worker->within++;
    if (!open) { /* otherwise the run's record is the job's place */
        here = (od_scope){.queue = queue, .holds_place = true, .drains = true};
        odi_scopes = &here;
    }
    return OD_BEGUN_WITHIN;
}

void od_queue_end_within(void)
{
    od_queue *queue = here.queue;

    if (queue != NULL) {
        here.queue = NULL;
        odi_scopes = NULL;
        odi_queue_give_permit(queue, false); /* the job's count keeps the queue alive */
    }
    if (odi_worker_self != NULL) /* otherwise this is a forked child, and the job belongs to the parent */
        odi_worker_end_within(odi_worker_self);
}
