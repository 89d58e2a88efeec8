/* line.c — what stands in a queue's line, in which order, and what of it the queue's gate lets through.
 *
 * First what comes in front (`early`), then what drainers have given back, then the line and the inbox, then
 * what is listed in its submitters' frames.
 *
 * Locks    the queue's, all of it.
 */
#include "gate/queue.h"

#include "os/futex.h"

bool odi_queue_is_clear(const od_queue *queue)
{
    /* relaxed: what is pushed at this moment is not before the caller in anybody's order */
    return queue->line.count == 0 && queue->early.count == 0 && queue->first_node == NULL &&
           queue->back == 0 && odi_queue_offered(queue) == 0 && odi_load_relaxed(&queue->inbox.waiting) == 0;
}

bool odi_entry_is_cancelled(odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    /* relaxed: set under the lock that the caller holds */
    return record != NULL && odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED;
}

ODI_COLD void odi_queue_list(od_queue *queue, odi_wait_node *listed, odi_entry entry)
{
    odi_store_relaxed(&listed->granted, 0); /* relaxed: the lock carries it */
    listed->entry = entry;
    listed->next = NULL;
    if (queue->first_node == NULL)
        queue->first_node = listed;
    else
        queue->last_node->next = listed;
    queue->last_node = listed;
}

/* Lock held. A job is in the drainer's hands from here on: its submitter need not wait. */
bool odi_queue_take_listed(od_queue *queue, odi_entry *entry)
{
    odi_wait_node *listed = queue->first_node;

    if (listed == NULL)
        return false;
    queue->first_node = listed->next;
    *entry = listed->entry;
    if (!odi_is_wait_node(*entry)) {
        odi_store_release(&listed->granted, 1, Q1);
        odi_futex_wake(&listed->granted, 1); /* `listed` may be gone; see odi_wait_node_grant */
    }
    return true;
}

/* ---- the front ---- */

/* Whether the barrier in front is one that the line had no room for. What has come into the inbox
 * since that was seen is not it. */
static bool is_listed(const od_queue *queue, odi_front front)
{
    return front == ODI_FRONT_BARRIER && queue->line.count == 0;
}

static bool barrier_is_next(od_queue *queue)
{
    odi_entry next;

    if (queue->early.count > 0 || queue->back > 0)
        return false;
    if (!odi_queue_peek(queue, &next)) {
        if (queue->first_node == NULL)
            return false;
        next = queue->first_node->entry;
    }
    return odi_entry_is_barrier(next);
}

odi_front odi_queue_front(od_queue *queue, int32_t own)
{
    bool looks = queue->gate.barriers > 0 && !queue->gate.exclusive;

    return odi_gate_front(&queue->gate, looks && barrier_is_next(queue), own);
}

static bool caller_is_next(od_queue *queue, odi_front front)
{
    odi_entry next;

    return queue->early.count == 0 && queue->back == 0 && !is_listed(queue, front) &&
           odi_queue_peek(queue, &next) && odi_is_wait_node(next);
}

/* False: the line is empty. */
static bool pop(od_queue *queue, odi_entry *entry, odi_front front)
{
    return odi_fifo_pop(&queue->early, entry) || odi_queue_pop_batch(queue, entry) ||
           (!is_listed(queue, front) && odi_queue_peek(queue, entry) &&
            odi_fifo_pop(&queue->line, entry)) ||
           (ODI_UNLIKELY(queue->first_node != NULL) && odi_queue_take_listed(queue, entry));
}

bool odi_queue_take(od_queue *queue, odi_entry *entry, bool callers)
{
    if (!odi_gate_may_take(&queue->gate))
        return false;
    odi_queue_call_in(queue);
    odi_front front = odi_queue_front(queue, 1);

    if (front == ODI_FRONT_HELD || (callers && !caller_is_next(queue, front)) ||
        !pop(queue, entry, front))
        return false;
    odi_gate_take(&queue->gate, front);
    if (ODI_UNLIKELY(queue->raised != 0))
        odi_queue_pass_raised(queue, -1);
    queue->child_passes -= ODI_UNLIKELY(queue->child_passes > 0) && odi_is_pass(*entry);
    if (odi_is_wait_node(*entry) && ODI_UNLIKELY(odi_wait_node_of(*entry)->through != NULL))
        odi_wait_node_of(*entry)->through->callers_in_line--;
    return true;
}
