/* line.c — takes the next entry of a queue's wait queue, if the queue's gate admits it, and admits submitters
 * that wait for room. All callers hold the queue's lock. */
#include "gate/line.h"

#include "gate/limit.h"
#include "gate/override.h"
#include "gate/pass.h"

bool odi_queue_is_clear(const od_queue *queue)
{
    /* relaxed: an entry pushed at this moment has no order relative to the caller */
    return queue->line.count == 0 && queue->early.count == 0 && queue->back == 0 && odi_queue_offered(queue) == 0 && odi_load_relaxed(&queue->inbox.waiting) == 0;
}

/* ---- the front of the wait queue ---- */

/* Returns the next entry of the wait queue, unless earlier entries wait in `early` or drain batches. */
static bool peek(od_queue *queue, odi_entry *next)
{
    return queue->early.count == 0 && queue->back == 0 && odi_queue_peek(queue, next);
}

odi_front odi_queue_front(od_queue *queue, int32_t own)
{
    bool looks = queue->gate.barriers > 0 && !queue->gate.exclusive;
    odi_entry next;

    return odi_gate_front(&queue->gate, looks && peek(queue, &next) && odi_entry_is_barrier(next), own);
}

static bool caller_is_next(od_queue *queue)
{
    odi_entry next;

    return peek(queue, &next) && odi_is_wait_node(next);
}

/* Removes the next entry. Returns false if there is none. */
static bool pop(od_queue *queue, odi_entry *entry)
{
    return odi_fifo_pop(&queue->early, entry) || odi_queue_pop_batch(queue, entry) ||
           (odi_queue_peek(queue, entry) && odi_fifo_pop(&queue->line, entry));
}

bool odi_queue_take(od_queue *queue, odi_entry *entry, bool callers)
{
    if (!odi_gate_may_take(&queue->gate))
        return false;
    odi_queue_call_in(queue);
    odi_front front = odi_queue_front(queue, 1);

    if (front == ODI_FRONT_HELD || (callers && !caller_is_next(queue)) || !pop(queue, entry))
        return false;
    odi_gate_take(&queue->gate, front);
    if (ODI_UNLIKELY(queue->raised != 0))
        odi_queue_pass_raised(queue, -1, UINT64_MAX);
    queue->child_passes -= ODI_UNLIKELY(queue->child_passes > 0) && odi_is_pass(*entry);
    if (odi_is_wait_node(*entry) && ODI_UNLIKELY(odi_wait_node_of(*entry)->through != NULL))
        odi_wait_node_of(*entry)->through->more->callers_in_line--;
    if (ODI_UNLIKELY(odi_limit_is_awaited(queue)))
        odi_limit_admit(queue);
    return true;
}

/* ---- the pending limit ---- */

uint64_t odi_limit_waiting(const od_queue *queue)
{
    uint32_t entries = odi_queue_waiting(queue);

    return entries > queue->child_passes ? entries - queue->child_passes : 0;
}

ODI_COLD void odi_limit_admit(od_queue *queue)
{
    /* Negative if a cancel has taken jobs whose submitters wait. */
    int64_t others = (int64_t)odi_limit_waiting(queue) - queue->more->submitting;

    if (others > (int64_t)queue->pending_limit / 2)
        return;
    for (; odi_limit_is_awaited(queue) && others < (int64_t)queue->pending_limit; others++) {
        queue->more->submitting--;
        odi_wait_node_grant(odi_wait_list_take(&queue->more->submitters));
    }
}
