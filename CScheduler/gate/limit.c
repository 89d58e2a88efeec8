/* limit.c — the limit of a queue's pending jobs, and the treatment of jobs beyond it.
 *
 * A queue with a limit keeps its wait queue, so the number of waiting jobs is known under the queue's lock.
 * The job of a waiting submitter is in the wait queue already, beyond the limit, so it does not depend on the
 * submitter's wake-up. The submitter continues when half of the wait queue has run, so that one wake-up
 * serves many jobs.
 *
 * A submitter's wait ends by a thread that takes or cancels jobs (odi_limit_admit), or as room.h states.
 */
#include "gate/limit.h"

#include "gate/line.h"
#include "gate/room.h"
#include "gate/settle.h"
#include "gate/submit.h"
#include "job/label.h"
#include "observe/trace.h"
#include "worker/run.h"

static bool is_full(const od_queue *queue)
{
    return odi_limit_is_awaited(queue) || odi_limit_waiting(queue) >= queue->pending_limit;
}

typedef enum {
    FITS,   /* goes into the wait queue */
    WAITS,  /* goes into the wait queue; the submitter waits for room */
    RUNS,   /* run by its submitter, in the queue's order */
    NESTED, /* run immediately by its submitter, a job of the queue that asked for this */
    REFUSED
} verdict;

static bool holds_target(od_queue *queue)
{
    od_queue *each = odi_target_gate(queue);

    while (each != NULL && !od_queue_is_current(each))
        each = odi_target_gate(each);
    return each != NULL;
}

/* Whether the submitter runs a job of the queue, or holds a permit of a target that the queue's jobs may
 * need. */
typedef enum { OUTSIDE, ON_TARGET, INSIDE } where;

static where place_of_submitter(od_queue *queue)
{
    if (od_queue_is_current(queue))
        return INSIDE;
    return holds_target(queue) ? ON_TARGET : OUTSIDE;
}

/* Limit of nesting. Without it, jobs that each submit the next job to a full queue would need an unbounded
 * stack. */
enum { DEEPEST = 32 };

static _Thread_local int nested;

/* Lock held. */
static verdict judge(const od_queue *queue, od_overflow overflow, where submitter, bool barrier)
{
    if (!is_full(queue))
        return FITS;
    if (overflow == OD_OVERFLOW_REFUSED)
        return REFUSED;
    if (submitter == OUTSIDE)
        return overflow == OD_OVERFLOW_RUNS ? RUNS : WAITS;
    /* A submitter that waited here might wait for itself. A barrier cannot run alone inside another job.
     * Suspensions stop jobs in the wait queue of a queue on a target, but would not stop a job that runs
     * here. */
    return submitter == ON_TARGET || overflow == OD_OVERFLOW_WAITS || barrier || nested == DEEPEST ? FITS : NESTED;
}

static void run_in_order(od_queue *queue, bool barrier, odi_entry labelled)
{
    od_scope scope;

    if (barrier)
        od_queue_sync_barrier_begin(queue, &scope);
    else
        od_queue_sync_begin(queue, &scope);
    (void)odi_run_outside(&queue->pool->team, labelled); /* or discards it */
    od_queue_sync_end(&scope);
}

/* Removes the count and the tag of a refused job. Returns false if a cancel has counted the job; it is then
 * discarded. */
static bool take_back(odi_record *record, odi_entry labelled)
{
    (void)odi_record_unlabel(&labelled);
    return odi_record_withdraw(record, labelled);
}

/* Decides about a job that the record has counted. *status is set if an allocation fails. */
static void decide(od_queue *queue, odi_record *record, odi_entry labelled, od_overflow overflow, verdict *decided,
                   od_status *status)
{
    bool barrier = (odi_record_key(record) & ODI_KEY_BARRIER) != 0;
    uint32_t band = odi_record_band(record);
    bool urgent = band < queue->band; /* read before the push, after which record and queue may be gone */
    where submitter = place_of_submitter(queue);
    odi_settlement settlement;
    odi_wait_node mine;

    odi_lock_acquire(&queue->watch.lock);
    *decided = judge(queue, overflow, submitter, barrier);
    if (*decided == REFUSED || odi_entry_is_cancelled(labelled)) {
        odi_lock_release(&queue->watch.lock);
        if (*decided != REFUSED)
            (void)odi_run_outside(&queue->pool->team, labelled); /* a cancel has counted it */
        else if (!take_back(record, labelled))
            *decided = FITS;
        return;
    }
    bool pushes = *decided == FITS || *decided == WAITS;
    if (pushes && !odi_inbox_add(&queue->inbox, labelled, NULL)) {
        odi_lock_release(&queue->watch.lock);
        if (take_back(record, labelled)) {
            *decided = REFUSED;
            *status = OD_NO_MEMORY;
        }
        return;
    }
    if (*decided == WAITS) {
        mine = (odi_wait_node){0};
        odi_wait_list_append(&queue->more->submitters, &mine);
        queue->more->submitting++;
    }
    queue->gate.barriers += barrier && pushes;
    settlement = odi_queue_settle(queue);
    odi_lock_release(&queue->watch.lock);

    odi_queue_carry_out(queue, settlement);
    if (ODI_UNLIKELY(pushes && urgent))
        odi_queue_raise_all(queue, band);
    if (*decided == WAITS)
        odi_room_await(queue, &mine);
    else if (*decided == RUNS)
        run_in_order(queue, barrier, labelled);
    else if (*decided == NESTED) {
        nested++;
        (void)odi_run_outside(&queue->pool->team, labelled);
        nested--;
    }
}

bool odi_limit_try(od_queue *queue, odi_group *group, uint32_t key, odi_entry job, od_overflow overflow,
                   od_status *status)
{
    verdict decided = REFUSED;
    odi_entry labelled;
    bool done = false;

    while (!done) {
        odi_record *record = odi_queue_find_record(queue, group, key, NULL);

        if (record == NULL) /* the limit also applies to the job that starts the pool */
            record = odi_queue_admit(queue, group, key, NULL, status);
        if (*status == OD_OK && (record == NULL || !odi_record_label(record, job, &labelled)))
            *status = OD_NO_MEMORY;
        if (*status != OD_OK)
            return odi_pool_refuse(queue->pool, *status, job) == OD_STOPPED;
        done = odi_queue_count(record, queue, group, key, 1);
        if (done && odi_traces())
            odi_trace(ODI_TRACE_SUBMIT, key & ODI_KEY_BAND, queue, odi_job_identity(job));
        if (done)
            decide(queue, record, labelled, overflow, &decided, status);
        else
            (void)odi_record_unlabel(&labelled);
    }
    return decided != REFUSED;
}

od_status odi_limit_submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job)
{
    od_status status = OD_OK;

    if (odi_limit_try(queue, group, key, job, (od_overflow)queue->overflow, &status) || status != OD_OK)
        return status;
    odi_lock_acquire(&queue->watch.lock);
    queue->more->refused++;
    odi_lock_release(&queue->watch.lock);
    odi_job_discard(job);
    return OD_OK;
}
