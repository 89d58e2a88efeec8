#include "gate/target.h"

#include <stdio.h>

#include "base/invariant.h"

static odi_lock targets;

enum { SENTENCE_BYTES = 1024 };

/* ---- who is on whom ---- */

/* Under the lock of the targets. */
ODI_COLD static void refuse(od_queue *queue, od_queue *target)
{
    char path[SENTENCE_BYTES] = "";
    int length = 0;

    for (od_queue *each = target; each != queue && length < (int)sizeof path;
         each = odi_target_next(each))
        length += snprintf(path + length, sizeof path - (size_t)length, "\"%s\" -> ", each->label);
    odi_trap("TaskQueue.setTarget of \"%s\" would put it on itself: \"%s\" -> %s\"%s\"",
             queue->label, queue->label, path, queue->label);
}

static void refuse_circle(od_queue *queue, od_queue *target)
{
    for (od_queue *each = target; each != NULL; each = odi_target_next(each)) {
        if (each == queue)
            refuse(queue, target);
    }
}

/* The target has to know who runs on it from now on. */
static void count_child(od_queue *target)
{
    if (target->shared)
        return;
    odi_lock_acquire(&target->watch.lock);
    target->children++;
    odi_lock_release(&target->watch.lock);
}

void odi_target_forget(od_queue *target)
{
    odi_lock_acquire(&target->watch.lock);
    target->children--;
    odi_lock_release(&target->watch.lock);
    odi_queue_reap(target);
}

/* May call notifications: no locks. */
bool odi_target_prepare(od_queue *target)
{
    if (target->shared)
        return true;
    odi_lock_acquire(&target->watch.lock);
    bool has = odi_queue_has_more(target);
    odi_lock_release(&target->watch.lock);
    if (has)
        odi_queue_keep_line(target);
    return has;
}

/* The queue is diverted since it was made. */
void odi_target_adopt(od_queue *queue, od_queue *target)
{
    odi_invariant(odi_target_next(queue) == NULL);
    if (target->pool != queue->pool)
        odi_trap("TaskQueue \"%s\" cannot be on \"%s\", which is another scheduler's",
                 queue->label, target->label);
    count_child(target);
    queue->gate.closed = true;
    odi_store_relaxed(&queue->target, target); /* relaxed: the lock, and see odi_target_gate */
}

/* In one critical section with the look at `inactive`: a drainer that has begun without a place of
 * the target could not be called back. */
void od_queue_set_target(od_queue *queue, od_queue *target)
{
    bool has = target == NULL || odi_target_prepare(target);

    odi_lock_acquire(&targets);
    odi_lock_acquire(&queue->watch.lock);
    if (target != NULL && !(has && odi_queue_has_more(queue)))
        odi_trap("TaskQueue.setTarget of \"%s\": memory is short", queue->label);
    if (!queue->gate.inactive)
        odi_trap("TaskQueue.setTarget of \"%s\", which is active: make it with initiallyInactive, "
                 "and set its target before activate()",
                 queue->label);
    od_queue *before = odi_target_gate(queue);
    odi_store_relaxed(&queue->target, (od_queue *)NULL); /* relaxed: as below */
    refuse_circle(queue, target);
    if (target != NULL)
        odi_target_adopt(queue, target);
    odi_lock_release(&queue->watch.lock);
    odi_lock_release(&targets);
    if (before != NULL)
        odi_target_forget(before);
}

/* ---- drainers ---- */

/* Both locks held. A pass keeps its place in the target's line, also when the raise is over that it was sent for. */
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
    odi_queue_raise_waiting(target, band); /* what is before it is waited for */
}

/* The target is settled in one critical section with the push, because whoever runs the pass may
 * end the queue's life, and with it the target's. */
void odi_target_send(od_queue *queue, uint32_t band)
{
    od_queue *target = odi_target_gate(queue);

    odi_lock_acquire(&queue->watch.lock);
    odi_lock_acquire(&target->watch.lock);
    queue->sends = false;
    bool over = queue->released && queue->drainers_waiting == 0; /* another pass has brought one meanwhile */
    if (queue->drainers_waiting > 0)
        line_up(queue, target, band);
    odi_settlement settlement = odi_queue_settle(target);
    odi_lock_release(&target->watch.lock);
    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(target, settlement);
    if (ODI_UNLIKELY(over))
        odi_queue_reap(queue);
}

bool odi_target_wants_back(od_queue *queue)
{
    bool wants = false;

    for (od_queue *each = odi_target_gate(queue); each != NULL && !wants;
         each = odi_target_gate(each)) {
        odi_lock_acquire(&each->watch.lock);
        wants = !odi_gate_may_take(&each->gate) || !odi_queue_is_clear(each);
        odi_lock_release(&each->watch.lock);
    }
    return wants;
}

bool odi_target_lock(od_queue *queue)
{
    bool may = true;

    for (od_queue *each = odi_target_gate(queue); each != NULL; each = odi_target_gate(each)) {
        odi_lock_acquire(&each->watch.lock);
        may = may && each->gate.suspensions == 0;
    }
    return may;
}

void odi_target_unlock(od_queue *queue)
{
    od_queue *each = odi_target_gate(queue);

    while (each != NULL) {
        od_queue *next = odi_target_gate(each); /* its lock is what keeps that */

        odi_lock_release(&each->watch.lock);
        each = next;
    }
}

bool odi_target_is_held(od_queue *queue)
{
    od_queue *each = odi_target_gate(queue);

    while (each != NULL && !od_queue_is_current(each))
        each = odi_target_gate(each);
    return each != NULL;
}

/* ---- sync callers ---- */

od_queue *od_queue_blocked_target(od_queue *queue)
{
    od_queue *each = odi_target_gate(queue);

    while (each != NULL && !od_queue_is_alone(each))
        each = odi_target_gate(each);
    return each;
}

void odi_target_check(od_queue *queue)
{
    od_queue *blocked = od_queue_blocked_target(queue);

    if (blocked != NULL && !od_queue_is_current(queue))
        odi_trap("TaskQueue.sync on \"%s\" from a %s of \"%s\", the queue that it is on, would wait "
                 "for itself: call the function directly instead",
                 queue->label, od_queue_width(blocked) == 1 ? "closure" : "barrier", blocked->label);
}

void odi_target_enter(od_scope *scope)
{
    od_queue *each = odi_target_gate(scope->queue);

    scope->beyond = each;
    odi_scopes = scope; /* from here on the caller is on what it holds places of */
    od_queue *through = scope->queue;
    while (each != NULL && !od_queue_is_current(each)) {
        odi_queue_wait_for_permit(each, false, through);
        through = each;
        each = odi_target_gate(each);
        scope->beyond = each;
    }
}

/* A place that was given up, and those that were before it. */
typedef struct odi_left_place {
    od_queue *queue;
    odi_left left;
    const struct odi_left_place *before;
} odi_left_place;

/* First the drainers of all: a notification that stops the pool waits for each that has been called.
 * A queue that is over by now, or in another generation, has nothing to be done for it. */
static void follow_up(const odi_left_place *last)
{
    for (const odi_left_place *each = last; each != NULL; each = each->before)
        odi_queue_start_drainers(each->queue, each->left.settlement.passes, each->left.settlement.band);
    for (const odi_left_place *each = last; each != NULL; each = each->before) {
        odi_settlement settlement = each->left.settlement;

        settlement.passes = 0;
        odi_queue_carry_out(each->queue, settlement);
        if (each->left.over)
            odi_queue_reap(each->queue);
    }
}

/* All of them before anything follows from it. The queue's own place last: it is what keeps its
 * target. */
static void leave(od_queue *queue, od_queue *each, odi_places places, const odi_left_place *before)
{
    bool last = each == places.beyond || places.targets == 0;
    odi_left_place here = {.queue = last ? queue : each, .before = before};
    od_queue *next = last ? NULL : odi_target_gate(each);

    if (last ? places.own : places.targets & 1) {
        here.left = odi_queue_leave(here.queue, last && places.exclusive);
        before = &here;
    }
    places.targets >>= 1;
    if (last)
        follow_up(before);
    else
        leave(queue, next, places, before);
}

void odi_places_leave(od_queue *queue, odi_places places)
{
    leave(queue, odi_target_gate(queue), places, NULL);
}

void odi_targets_forked(void)
{
    targets = (odi_lock){0};
}
