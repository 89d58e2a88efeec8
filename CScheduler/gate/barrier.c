/* barrier.c — closing a queue, and its barriers. A barrier runs alone: after all jobs submitted before it,
 * and before all submitted after it.
 *
 * A queue opens with its first job. A barrier, a suspension, a width or a target needs the jobs' order or
 * number, and closes the queue permanently. Jobs that went to the pool before are outside the wait queue.
 * Their records are closed to further jobs, and a barrier waits until these records are empty (`before`). A
 * submitter that found one of these records earlier may still count on it. It is concurrent with the barrier,
 * and its job goes in front, into `early`, as do diverted jobs that workers find.
 *
 * A queue without a job is not open. A queue that only protects a variable, by sync calls and barriers,
 * therefore never checks the pool, which would take a heavy fence.
 *
 * The wait for `before` ends with the last job of these records (odi_queue_before_drained).
 */
#include "gate/settle.h"

#include "os/membarrier.h"

/* Checks whether all jobs of the queue are in its wait queue. Lock held. */
static void look_outside(od_queue *queue)
{
    odi_set before = odi_queue_set(queue);

    before.first = &queue->before;
    if (!queue->gate.complete && odi_set_is_empty(&before, true)) {
        queue->before = NULL;
        queue->gate.complete = true;
    }
}

/* Closes the queue: no new job is counted on its records from here on. */
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
    odi_fence_heavy(L2); /* counts by submitters that missed the flags are visible from here on */
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

void odi_queue_end_alone(od_queue *queue)
{
    if (ODI_UNLIKELY(queue->alone_beyond > 0))
        queue->alone_beyond--;
    else
        queue->gate.exclusive = false;
}

void odi_queue_end_barrier(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_queue_end_alone(queue);
    odi_queue_settle_and_release(queue);
}
