/* callers.c — sync callers: each waits in the wait queue like a job. It sleeps, and receives the permit of a
 * drainer or sync caller before it. While it waits, it earmarks its thread's permits (earmark.h). */
#include "gate/callers.h"

#include "gate/current.h"
#include "gate/cycle.h"
#include "gate/earmark.h"
#include "os/clock.h"

/* An open queue has permits too, because a barrier would not wait for a caller without one. */
bool odi_queue_enter_at_once(od_queue *queue, bool exclusive)
{
    odi_lock_acquire(&queue->watch.lock);
    bool at_once = odi_gate_enter(&queue->gate, exclusive, odi_queue_is_clear(queue));
    odi_lock_release(&queue->watch.lock);
    return at_once;
}

/* Adds the caller to the wait queue. Lock held; releases it. */
static void enter(od_queue *queue, odi_wait_node *waiting)
{
    queue->gate.barriers += waiting->exclusive;
    odi_earmark_line_up(queue, waiting);
    if (queue->band > OD_BAND_USER_INTERACTIVE)
        odi_queue_raise_waiting(queue, odi_band_of_thread());
    odi_queue_settle_and_release(queue);
}

/* Waits for the permit. A sync that waits this long checks for a cycle once; the last thread of a cycle finds
 * it. A thread without work is in no cycle. */
static void await_place(od_queue *queue, odi_wait_node *mine)
{
    odi_cycle_wait wait;

    if (!odi_cycle_may_hold()) {
        odi_queue_await_grant(queue, mine, "in sync on");
        return;
    }
    odi_blocking_begin("in sync on", queue); /* for reports both waits are one */
    if (!odi_queue_await_grant_until(queue, mine, "in sync on", odi_clock_after(ODI_CYCLE_LOOK_AFTER_NS))) {
        odi_cycle_enter_sync(&wait, queue, mine->exclusive);
        odi_queue_await_grant(queue, mine, "in sync on");
        odi_cycle_leave(&wait);
    }
    od_blocking_end();
}

static void take_permit(od_queue *queue, bool exclusive, od_queue *through)
{
    odi_wait_node mine = {.exclusive = exclusive, .through = through};

    odi_store_relaxed(&mine.granted, 0); /* relaxed: not shared yet */
    odi_lock_acquire(&queue->watch.lock);
    /* A permit may have become free since the caller checked. A drainer would need a worker to pass it on,
     * and all workers may wait here. */
    if (odi_gate_enter(&queue->gate, exclusive, odi_queue_is_clear(queue))) {
        odi_lock_release(&queue->watch.lock);
        return;
    }
    enter(queue, &mine);
    await_place(queue, &mine);
}

/* ---- returning a permit ---- */

ODI_HOT_INLINE odi_settlement leave(od_queue *queue, bool exclusive, bool *over)
{
    odi_settlement settlement = {0};
    odi_entry next;

    odi_lock_acquire(&queue->watch.lock);
    if (exclusive)
        odi_queue_end_alone(queue);
    bool holds = queue->gate.held > 0; /* in a child forked inside, the permit may be the parent's */
    /* Grants a sync caller directly. A drainer would need a worker, and all workers may wait here. */
    if (holds && odi_queue_take(queue, &next, true)) {
        if (exclusive)
            settlement = odi_queue_settle(queue); /* other entries may start beside it */
        odi_lock_release(&queue->watch.lock);
        odi_wait_node_grant(odi_wait_node_of(next));
        *over = false;
        return settlement;
    }
    if (holds)
        odi_gate_leave(&queue->gate);
    /* A thread that pushes from here on calls a drainer if the inbox wants one. relaxed: written under the
     * lock */
    if (!odi_load_relaxed(&queue->inbox.wants) || !odi_queue_is_clear(queue))
        settlement = odi_queue_settle(queue);
    *over = queue->released;
    odi_lock_release(&queue->watch.lock);
    return settlement;
}

odi_settlement odi_queue_leave(od_queue *queue, bool exclusive, bool *over)
{
    return leave(queue, exclusive, over);
}

void odi_queue_give_permit(od_queue *queue, bool exclusive)
{
    bool over;
    odi_settlement settlement = leave(queue, exclusive, &over);

    odi_queue_carry_out(queue, settlement);
    if (over)
        odi_queue_reap(queue);
}

/* ---- earmarking permits and getting them back ---- */

/* Both locks held; releases them. */
static void settle_both(od_queue *awaited, od_queue *queue)
{
    odi_settlement settlement = odi_queue_settle(queue);
    odi_lock_release(&queue->watch.lock);
    odi_settlement passes = odi_queue_settle(awaited);
    odi_lock_release(&awaited->watch.lock);
    odi_queue_carry_out(queue, settlement);
    odi_queue_carry_out(awaited, passes);
}

/* Earmarks a permit. The queue's drain request in the target's wait queue is ignored from here on. The queue
 * gets another request, and the late one finds no waiting drainer. */
static void give(od_queue *awaited, od_queue *queue)
{
    odi_lock_acquire(&awaited->watch.lock);
    odi_lock_acquire(&queue->watch.lock);
    odi_earmark_begin(queue, awaited);
    queue->gate.earmarks++;
    odi_queue_take_back(queue); /* the current drainer must not continue */
    settle_both(awaited, queue);
}

static void take_back(od_queue *awaited, od_queue *queue)
{
    odi_wait_node mine = {0};

    odi_lock_acquire(&awaited->watch.lock);
    odi_lock_acquire(&queue->watch.lock);
    odi_earmark_end(queue, awaited);
    bool at_once = odi_earmark_return(queue, &mine);
    settle_both(awaited, queue);
    if (at_once)
        return;
    odi_queue_await_grant(queue, &mine, "for its place of"); /* ended by odi_earmark_settle */
}

/* Earmarks the thread's permits of the targets. Returns a bit per queue of the chain. */
static uint64_t earmark(od_queue *awaited)
{
    uint64_t place = 1, given = 0;

    for (od_queue *below = awaited, *each; od_queue_is_active(below); below = each, place <<= 1) {
        each = odi_target_gate(below);
        if (each == NULL)
            break;
        if (!odi_scopes_hold(odi_scopes, each))
            continue;
        if (place == 0)
            odi_trap("TaskQueue.sync: the caller would wait for itself, through more than 64 targets (\"%s\" inside \"%s\"). "
                     "Use fewer targets.",
                     awaited->label, each->label);
        give(below, each);
        given |= place;
    }
    return given;
}

/* Gets the permits back outwards, the order in which all callers take several permits. */
static void take_all_back(od_queue *awaited, uint64_t given)
{
    for (od_queue *below = awaited, *each; given != 0; below = each, given >>= 1) {
        each = odi_target_gate(below);
        if (given & 1)
            take_back(below, each);
    }
}

ODI_COLD void odi_queue_wait_for_permit(od_queue *queue, bool exclusive, od_queue *through)
{
    uint64_t earmarked = odi_scopes != NULL ? earmark(queue) : 0;

    take_permit(queue, exclusive, through);
    if (ODI_UNLIKELY(earmarked != 0))
        take_all_back(queue, earmarked);
}
