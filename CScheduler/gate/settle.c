/* settle.c — computes the consequences of a change to a queue under its lock, and applies them without the
 * lock by submitting drain requests. Every change of permits, width or suspension ends here. */
#include "gate/settle.h"

#include "base/invariant.h"
#include "gate/earmark.h"
#include "gate/limit.h"
#include "gate/pass.h"

/* ---- state: lock held ---- */

odi_settlement odi_queue_settle(od_queue *queue)
{
    odi_settlement settlement = {0};

    if (ODI_UNLIKELY(queue->gate.earmarks > 0))
        odi_earmark_settle(queue);
    if (ODI_UNLIKELY(odi_limit_is_awaited(queue)))
        odi_limit_admit(queue);
    odi_front front = odi_queue_front(queue, 0); /* first, because it may take over the inbox */
    uint64_t inside = queue->line.count + queue->early.count + queue->back;
    uint64_t waiting = inside + odi_inbox_waiting(&queue->inbox);
    bool seems_clear = waiting == 0;

    if (seems_clear) {
        odi_lock_acquire(&queue->inbox.lock);
        waiting = inside + queue->inbox.fifo.count;
    }
    if (waiting == 0)
        waiting = (uint64_t)odi_queue_offered(queue);
    bool lets_through = front != ODI_FRONT_HELD || odi_queue_offered(queue) > 0;
    queue->drainers_waiting += odi_gate_call_drainer(&queue->gate, waiting > 0 && lets_through,
                                                     queue->gate.earmarks > 0 && odi_earmark_has_pass(queue));
    bool wants = odi_gate_wants_drainer(&queue->gate, front);
    odi_invariant(!wants || seems_clear); /* the inbox's lock is held when it becomes true */
    odi_store_relaxed(&queue->inbox.wants, wants); /* relaxed: locked */
    if (waiting == 0 && queue->gate.held == 0) {
        odi_fifo_rest(&queue->inbox.fifo);
        odi_fifo_rest(&queue->line);
        odi_fifo_rest(&queue->early);
        odi_queue_free((void **)&queue->batches);
    }
    if (seems_clear)
        odi_lock_release(&queue->inbox.lock);
    if (ODI_UNLIKELY(queue->raised != 0))
        odi_queue_pass_raised(queue, 0, waiting);
    if (queue->drainers_waiting > 0)
        odi_queue_give_passes(queue, &settlement);
    return settlement;
}

/* ---- consequences ---- */

/* The pool has no memory for a drain request: it uses the queue's node, or waits until the node is free. */
ODI_COLD static void submit_by_node(od_queue *queue, uint32_t band)
{
    odi_lock_acquire(&queue->watch.lock);
    bool goes = !queue->pass_is_out;

    queue->passes[band]--;
    if (goes)
        queue->pass_band = (uint8_t)band;
    queue->pass_is_out = true;
    odi_lock_release(&queue->watch.lock);
    if (goes)
        odi_pool_submit_node(queue->pool, band, odi_queue_pass(queue, (odi_pass){band, true}), &queue->pass);
}

/* Adds a drain request to the target's wait queue. It keeps its place there even if its raise has ended. Both
 * locks are held. */
static void line_up(od_queue *queue, od_queue *target, uint32_t band)
{
    if (ODI_UNLIKELY(queue->more->awaited > 0)) {
        if (!queue->more->pass_ahead_is_out)
            queue->more->pass_ahead_is_out = queue->more->pass_is_ahead = true;
        return;
    }
    if (!queue->pass_is_out) {
        (void)odi_inbox_add(&target->inbox, odi_queue_pass(queue, (odi_pass){queue->band, true}), &queue->pass);
        target->child_passes++;
    }
    queue->pass_is_out = true;
    queue->pass_band = (uint8_t)band;
    odi_queue_raise_waiting(target, band); /* earlier entries there are waited for */
}

/* Settles the target in the critical section of the push. A thread that runs the request may free the queue
 * and the target. */
static void send(od_queue *queue, uint32_t band)
{
    od_queue *target = odi_target_gate(queue);

    odi_lock_acquire(&queue->watch.lock);
    odi_lock_acquire(&target->watch.lock);
    queue->sends = false;
    bool over = queue->released && queue->drainers_waiting == 0; /* another request brought one */
    if (queue->drainers_waiting > 0)
        line_up(queue, target, band);
    odi_settlement settlement = odi_queue_settle(target);
    odi_lock_release(&target->watch.lock);
    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(target, settlement);
    if (ODI_UNLIKELY(over))
        odi_queue_reap(queue);
}

void odi_queue_carry_out(od_queue *queue, odi_settlement settlement)
{
    uint32_t band = settlement.band;

    for (; settlement.passes > 0; settlement.passes--) {
        if (ODI_UNLIKELY(odi_target_gate(queue) != NULL))
            send(queue, band);
        else if (!odi_pool_submit(queue->pool, band, odi_queue_pass(queue, (odi_pass){band, false})))
            submit_by_node(queue, band);
    }
}

void odi_queue_settle_and_release(od_queue *queue)
{
    odi_settlement settlement = odi_queue_settle(queue);

    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(queue, settlement);
}

void odi_queue_requeue_drainer(od_queue *queue, odi_taken *taken)
{
    odi_settlement settlement = {0};

    odi_lock_acquire(&queue->watch.lock);
    odi_queue_put_down(queue, taken);
    queue->drainers_waiting++;
    if (ODI_UNLIKELY(queue->gate.returning > 0))
        odi_earmark_settle(queue); /* a holder that waits for its permit takes this one */
    if (queue->drainers_waiting > 0)
        odi_queue_give_passes(queue, &settlement); /* including requests that waited for the node */
    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(queue, settlement);
}

/* Calls a drainer if one is missing. No lock is held. */
void odi_queue_see_to_drainers(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_queue_settle_and_release(queue);
}

ODI_COLD void odi_queue_raise_all(od_queue *queue, uint32_t band)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_queue_raise_waiting(queue, band);
    odi_queue_settle_and_release(queue);
}
