/* target.c — sets the targets of queues, refuses cycles, and locks a chain of targets. lifecycle.c and
 * drain.c call it. The file never runs jobs. */
#include "gate/target.h"

#include <stdio.h>

#include "base/invariant.h"
#include "gate/settle.h"

enum { SENTENCE_BYTES = 1024 };

/* ---- the chain of targets ---- */

/* Reports a cycle of targets. The pool's targets lock is held. */
ODI_COLD static void refuse(od_queue *queue, od_queue *target)
{
    char path[SENTENCE_BYTES] = "";
    int length = 0;

    for (od_queue *each = target; each != queue && length < (int)sizeof path;
         each = odi_target_next(each))
        length += snprintf(path + length, sizeof path - (size_t)length, "\"%s\" -> ", each->label);
    odi_trap("TaskQueue.setTarget: a circle of targets (\"%s\" -> %s\"%s\"). Choose another target.",
             queue->label, path, queue->label);
}

static void refuse_circle(od_queue *queue, od_queue *target)
{
    for (od_queue *each = target; each != NULL; each = odi_target_next(each)) {
        if (each == queue)
            refuse(queue, target);
    }
}

/* Counts the queue as a child of the target. */
static void count_child(od_queue *target)
{
    if (target->shared)
        return;
    odi_lock_acquire(&target->watch.lock);
    target->children++;
    odi_lock_release(&target->watch.lock);
}

/* No locks are held. */
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

/* The queue has been diverted since its creation. */
void odi_target_adopt(od_queue *queue, od_queue *target)
{
    odi_invariant(odi_target_next(queue) == NULL);
    if (target->pool != queue->pool)
        odi_trap("TaskQueue.setTarget: a target of another scheduler (\"%s\" on \"%s\"). Use one scheduler for both.",
                 queue->label, target->label);
    count_child(target);
    queue->gate.closed = true;
    odi_store_relaxed(&queue->target, target); /* relaxed: the lock; see odi_target_gate */
}

/* Sets the target in the critical section that checks `inactive`. A drainer that began without the target's
 * permit could not be called back. */
void od_queue_set_target(od_queue *queue, od_queue *target)
{
    bool has = target == NULL || odi_target_prepare(target);

    odi_lock_acquire(&queue->pool->targets_lock);
    odi_lock_acquire(&queue->watch.lock);
    if (target != NULL && !(has && odi_queue_has_more(queue)))
        odi_trap("TaskQueue.setTarget: out of memory (\"%s\"). Raise the memory limit.", queue->label);
    if (!queue->gate.inactive)
        odi_trap("TaskQueue.setTarget: the queue is active (\"%s\"). Make it with initiallyInactive, "
                 "and set its target before activate().",
                 queue->label);
    od_queue *before = odi_target_gate(queue);
    odi_store_relaxed(&queue->target, (od_queue *)NULL); /* relaxed: locked, as below */
    refuse_circle(queue, target);
    if (target != NULL)
        odi_target_adopt(queue, target);
    odi_lock_release(&queue->watch.lock);
    odi_lock_release(&queue->pool->targets_lock);
    if (before != NULL)
        odi_queue_forget_child(before);
}

/* ---- around a drainer's jobs ---- */

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
        od_queue *next = odi_target_gate(each); /* read first: the lock keeps it valid */

        odi_lock_release(&each->watch.lock);
        each = next;
    }
}
