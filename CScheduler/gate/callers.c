/* callers.c — sync callers whose turn comes: each stands in its line like a job, sleeps, and gets the place of who
 * was before it, a drainer's or a sync caller's. */
#include "gate/earmark.h"
#include "gate/queue.h"

#include "os/futex.h"
#include "worker/worker.h"

void odi_wait_node_mark(void *unused)
{
    (void)unused;
}

void odi_wait_node_grant(odi_wait_node *waiting)
{
    odi_store_release(&waiting->granted, 1, Q1);
    /* `waiting` may be gone by now; the futex call uses its address alone. */
    odi_futex_wake(&waiting->granted, 1);
}

void odi_queue_line_up_caller(od_queue *queue, odi_wait_node *caller)
{
    (void)odi_inbox_add(&queue->inbox, odi_wait_node_entry(caller), &caller->node);
    if (ODI_UNLIKELY(caller->through != NULL))
        caller->through->more->callers_in_line++;
}

/* Lock held; releases it. */
static void enter(od_queue *queue, odi_wait_node *waiting)
{
    queue->gate.barriers += waiting->exclusive;
    if (ODI_UNLIKELY(waiting->through != NULL && waiting->through->more->awaited > 0))
        odi_earmark_list(waiting);
    else
        odi_queue_line_up_caller(queue, waiting);
    if (queue->band > OD_BAND_USER_INTERACTIVE)
        odi_queue_raise_waiting(queue, odi_band_of_thread());
    odi_queue_settle_and_release(queue);
    odi_queue_return_reserved(queue); /* nobody might while the caller has its permit; who keeps the queue */
}

void odi_queue_await_grant(od_queue *queue, odi_wait_node *waiting, const char *what)
{
    odi_blocking_begin(what, queue);
    /* ended by: odi_wait_node_grant */
    while (odi_load_acquire(&waiting->granted, Q1) == 0)
        (void)odi_futex_wait(&waiting->granted, 0, ODI_FOREVER);
    od_blocking_end();
}

void odi_queue_take_permit(od_queue *queue, bool exclusive, od_queue *through)
{
    odi_wait_node mine = {.exclusive = exclusive, .through = through};

    odi_store_relaxed(&mine.granted, 0); /* relaxed: not shared yet */
    odi_lock_acquire(&queue->watch.lock);
    /* The place may have come free since the caller looked. A drainer to pass it on would need
     * a worker, and all of them may wait here. */
    if (odi_gate_enter(&queue->gate, exclusive, odi_queue_is_clear(queue))) {
        odi_lock_release(&queue->watch.lock);
        return;
    }
    enter(queue, &mine);
    odi_queue_await_grant(queue, &mine, "in sync on");
}

ODI_HOT_INLINE odi_left leave(od_queue *queue, bool exclusive)
{
    odi_left left = {0};
    odi_entry next;

    odi_lock_acquire(&queue->watch.lock);
    queue->gate.exclusive &= !exclusive;
    bool holds = queue->gate.held > 0; /* in a forked child a task holds nothing that its parent gave it */
    /* A drainer would have to find a worker first, and all of them may wait here. */
    if (holds && odi_queue_take(queue, &next, true)) {
        if (exclusive)
            left.settlement = odi_queue_settle(queue); /* others may start beside it */
        odi_lock_release(&queue->watch.lock);
        odi_wait_node_grant(odi_wait_node_of(next));
        return left;
    }
    if (holds)
        odi_gate_leave(&queue->gate);
    /* Who pushes from here on sees to a drainer itself where the inbox wants it.
     * relaxed: written under the lock */
    if (!odi_load_relaxed(&queue->inbox.wants) || !odi_queue_is_clear(queue) || ODI_UNLIKELY(queue->gate.earmarks > 0))
        left.settlement = odi_queue_settle(queue);
    left.over = queue->released;
    odi_lock_release(&queue->watch.lock);
    return left;
}

odi_left odi_queue_leave(od_queue *queue, bool exclusive)
{
    return leave(queue, exclusive);
}

void odi_queue_give_permit(od_queue *queue, bool exclusive)
{
    odi_left left = leave(queue, exclusive);

    odi_queue_carry_out(queue, left.settlement);
    if (left.over)
        odi_queue_reap(queue);
}
