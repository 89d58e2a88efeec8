/* barrier.c — jobs and sync callers that run alone: after all that was submitted before, and
 * before all that was submitted after.
 *
 * A queue that has seen a barrier keeps its line for good (`never_reopens`), so that order and
 * permits are known. What an open queue's submitters gave to the pool before is outside of the
 * line: the records that counted it are closed to further jobs, and a barrier waits until
 * they are empty (`before`). A submitter that found such a record before may still count on
 * it: it is concurrent with the barrier, and its job goes in front, to `early`.
 *
 * A queue that has had no job yet is not open either. One that guards a variable, with sync
 * calls and barriers alone, never looks outside, which takes a heavy fence.
 *
 * How the wait for `before` ends: by its records' last job (odi_queue_before_drained), or by
 * the last visitor, a sync caller that entered while the queue was open.
 */
#include "gate/queue.h"

#include "os/membarrier.h"

/* Whether nothing of the queue is left outside of its line. Lock held. */
static bool all_is_here(od_queue *queue)
{
    return odi_records_empty_or_watched(queue->before, odi_record_next_of_queue) &&
           odi_load_acquire(&queue->visitors, L1) == 0;
}

/* Lock held. */
static void look_outside(od_queue *queue)
{
    if (!queue->gate.complete && all_is_here(queue)) {
        queue->before = NULL;
        queue->gate.complete = true;
    }
}

/* No new job is counted on a record from here on. Lock held, and the inbox's. */
static void close_records(od_queue *queue)
{
    odi_queue_close_current(queue);
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue)
        odi_or_seqcst(&record->flags, ODI_RECORD_STALE, L2);
    queue->before = queue->records;
}

ODI_COLD void odi_queue_keep_line(od_queue *queue)
{
    odi_reserved reserved = {0};

    odi_lock_acquire(&queue->watch.lock);
    if (!queue->gate.never_reopens) {
        queue->gate.never_reopens = true;
        if (!odi_load_relaxed(&queue->inbox.diverted)) /* relaxed: written under the lock */
            odi_queue_set_diverted(queue, true);
        if (!queue->gate.complete) {
            odi_lock_acquire(&queue->inbox.lock);
            reserved = odi_inbox_take_reserved(&queue->inbox);
            close_records(queue);
            odi_lock_release(&queue->inbox.lock);
            /* Who counted a job or a visit without seeing the flags is seen from here on. */
            odi_fence_heavy(L2);
            look_outside(queue);
        }
    }
    odi_lock_release(&queue->watch.lock);
    odi_reserved_give_back(reserved);
}

ODI_COLD void odi_queue_before_drained(od_queue *queue)
{
    odi_settlement settlement = {0};

    odi_lock_acquire(&queue->watch.lock);
    if (queue->gate.never_reopens && !queue->gate.complete) {
        look_outside(queue);
        if (queue->gate.complete)
            settlement = odi_queue_settle(queue);
    }
    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(queue, settlement);
}

/* ---- visits ---- */

bool odi_queue_visit(od_queue *queue)
{
    odi_add_acquire(&queue->visitors, 1, L2);
    odi_fence_light(L2);
    /* relaxed: the fence stands before it */
    if (ODI_LIKELY(!odi_load_relaxed(&queue->inbox.diverted)))
        return true;
    odi_queue_end_visit(queue);
    return false;
}

void odi_queue_end_visit(od_queue *queue)
{
    uint32_t before = odi_add_acqrel(&queue->visitors, (uint32_t)-1, L1);

    odi_fence_light(L2);
    /* relaxed: the fence stands before it */
    if (ODI_UNLIKELY(before == 1 && odi_load_relaxed(&queue->inbox.diverted)))
        odi_queue_before_drained(queue);
}

/* ---- submitting and running ---- */

bool odi_queue_push_barrier(od_queue *queue, odi_entry labelled, odi_entry_node *node)
{
    odi_lock_acquire(&queue->watch.lock);
    bool kept = !odi_entry_is_cancelled(labelled) && odi_inbox_add(&queue->inbox, labelled, node);
    queue->gate.barriers += kept;
    odi_queue_settle_and_release(queue);
    return kept;
}

void odi_queue_end_barrier(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.exclusive = false;
    odi_queue_settle_and_release(queue);
}
