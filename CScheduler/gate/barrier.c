/* barrier.c — a queue that keeps its line from here on, and jobs and sync callers that run alone: after all
 * that was submitted before, and before all that was submitted after.
 *
 * A queue opens with its first job. Whatever wants to know its order or how many run (a barrier, a
 * suspension, a width, a target) closes it, for good. What its submitters gave to the pool before is
 * outside of the line: the records that counted it are closed to further jobs, and a barrier waits until
 * they are empty (`before`). A submitter that found such a record before may still count on
 * it: it is concurrent with the barrier, and its job goes in front, to `early`, as does what a worker meets.
 *
 * A queue that has had no job yet is not open. One that guards a variable, with sync
 * calls and barriers alone, never looks outside, which takes a heavy fence.
 *
 * How the wait for `before` ends: by its records' last job (odi_queue_before_drained).
 */
#include "gate/settle.h"

#include "os/membarrier.h"

/* Whether nothing of the queue is left outside of its line. Lock held. */
static void look_outside(od_queue *queue)
{
    odi_set before = odi_queue_set(queue);

    before.first = &queue->before;
    if (!queue->gate.complete && odi_set_is_empty(&before, true)) {
        queue->before = NULL;
        queue->gate.complete = true;
    }
}

/* No new job is counted on a record from here on. */
ODI_COLD void odi_queue_close_if_open(od_queue *queue)
{
    if (odi_load_relaxed(&queue->inbox.diverted)) /* relaxed: written under the lock */
        return;
    queue->gate.closed = true;
    odi_lock_acquire(&queue->inbox.lock);
    odi_store_relaxed(&queue->inbox.diverted, true); /* relaxed: rechecked under a lock */
    odi_queue_close_current(queue);
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue)
        odi_or_relaxed(&record->flags, ODI_RECORD_STALE | ODI_RECORD_DIVERTED); /* relaxed: L2's fence follows */
    queue->before = queue->records;
    odi_lock_release(&queue->inbox.lock);
    odi_fence_heavy(L2); /* who counted a job without seeing the flags is seen from here on */
    look_outside(queue);
}

ODI_COLD void odi_queue_keep_line(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_queue_close_if_open(queue);
    queue->gate.closed = true;
    odi_lock_release(&queue->watch.lock);
}

ODI_COLD void odi_queue_before_drained(od_queue *queue)
{
    odi_settlement settlement = {0};

    odi_lock_acquire(&queue->watch.lock);
    if (queue->gate.closed && !queue->gate.complete) {
        look_outside(queue);
        if (queue->gate.complete)
            settlement = odi_queue_settle(queue);
    }
    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(queue, settlement);
}

void odi_queue_end_barrier(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.exclusive = false;
    odi_queue_settle_and_release(queue);
}
