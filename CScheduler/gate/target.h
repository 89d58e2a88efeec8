/* target.h — queues on queues.
 *
 * A queue with a target keeps its line, and its drainers' passes go through the target's line
 * instead of to the pool: there they are entries like jobs, counted nowhere and never cancelled,
 * and while a drainer runs it holds a place of the target. So the target's order, width, barriers and
 * suspension hold for what runs on it. After each job a drainer looks whether a target wants
 * its place back, and if so goes to the end of the target's line.
 *
 * A sync caller takes a place of the queue, then one of each target, outwards. Who holds a
 * target's place and waits for one of a queue on it earmarks it meanwhile: see earmark.h.
 *
 * How long a target lives: until no queue has it as its target (`children`).
 *
 * Locks    the pool's, which guards the chains; order: that lock, then queues, from a queue to its
 *          target.
 */
#ifndef ODI_GATE_TARGET_H
#define ODI_GATE_TARGET_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* From here on all that runs on the target passes its line. False: memory is short. */
bool odi_target_prepare(od_queue *target);

/* The queue is on `target` from here on, which is prepared. Held. */
void odi_target_adopt(od_queue *queue, od_queue *target);

/* Around the taking of a job, which is held: what is submitted after a target's suspension waits.
 * False: one of them is suspended. odi_target_unlock follows in any case. */
bool odi_target_lock(od_queue *queue);
void odi_target_unlock(od_queue *queue);

/* Whether a drainer has to go back in line, because of its targets. Not held. */
bool odi_target_wants_back(od_queue *queue);

#pragma GCC visibility pop

#endif
