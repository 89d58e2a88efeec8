/* target.h — target queues: queues whose order and limits also apply to the queues that target them.
 *
 * A queue with a target keeps its wait queue, and its drain requests go through the target's wait queue
 * instead of the pool. There a request is an entry like a job, but it is not counted and never cancelled.
 * While a drainer runs, it holds a permit of the target. The target's order, width, barriers and suspension
 * therefore apply. After each job a drainer checks whether a target needs its permit, and if so requeues at
 * the target.
 *
 * A sync caller takes a permit of the queue, then of each target outwards. A holder of a target's permit that
 * waits for a permit of a child queue earmarks its permit: see earmark.h.
 *
 * A target lives until no queue has it as its target (`children`).
 *
 * The pool's targets lock protects the chains. Lock order: that lock, then queues, from a queue to its
 * target.
 */
#ifndef ODI_GATE_TARGET_H
#define ODI_GATE_TARGET_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* Makes all jobs on the target pass its wait queue from here on. Returns false if an allocation fails. */
bool odi_target_prepare(od_queue *target);

/* Sets the queue's target, which is prepared. Lock held. */
void odi_target_adopt(od_queue *queue, od_queue *target);

/* Locks the targets while a drainer takes a job, so that jobs submitted after a target's suspension wait.
 * Returns false if a target is suspended. The caller always calls odi_target_unlock. The queue's lock is
 * held. */
bool odi_target_lock(od_queue *queue);
void odi_target_unlock(od_queue *queue);

/* Whether a drainer must requeue because of a target. No lock is held. */
bool odi_target_wants_back(od_queue *queue);

#pragma GCC visibility pop

#endif
