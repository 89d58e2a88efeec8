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
 * One pass of a queue stands in the target's line at a time, with the queue's own node; in that node lies also
 * one that the pool has no memory for. Further drainers have none. How that wait ends: the one that is out comes up.
 *
 * How long a target lives: until no queue has it as its target (`children`).
 *
 * Locks    targets, which guards the chains; order: targets, then queues, from a queue to its
 *          target.
 */
#ifndef ODI_GATE_TARGET_H
#define ODI_GATE_TARGET_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* The queue whose line the queue's drainers pass; NULL: they go to the pool. */
static inline od_queue *odi_target_gate(od_queue *queue)
{
    /* relaxed: constant once the queue is active, which whoever runs its jobs has seen */
    od_queue *target = odi_load_relaxed(&queue->target);

    return target != NULL && !target->shared ? target : NULL;
}

/* The next in the chain, shared or not. */
static inline od_queue *odi_target_next(od_queue *queue)
{
    return odi_load_relaxed(&queue->target); /* relaxed: as above */
}

/* From here on all that runs on the target passes its line. False: memory is short. */
bool odi_target_prepare(od_queue *target);

/* The queue is on `target` from here on, which is prepared. Held. */
void odi_target_adopt(od_queue *queue, od_queue *target);

/* The queue that had it as its target is over. Without locks. */
void odi_target_forget(od_queue *target);

/* Puts a pass for the queue's drainers, of this band, where it waits for one of the target's. Not held. */
void odi_target_send(od_queue *queue, uint32_t band);

/* Around the taking of a job, which is held: what is submitted after a target's suspension waits.
 * False: one of them is suspended. odi_target_unlock follows in any case. */
bool odi_target_lock(od_queue *queue);
void odi_target_unlock(od_queue *queue);

/* Whether a drainer has to go back in line, because of its targets. Not held. */
bool odi_target_wants_back(od_queue *queue);

/* Whether the calling thread runs a job of one of the queue's targets, and so holds a place that
 * the queue's jobs may need. */
bool odi_target_is_held(od_queue *queue);

/* For a sync caller: traps where its wait would be for itself; takes the places of the targets. Not held. */
void odi_target_check(od_queue *queue);
void odi_target_enter(od_scope *scope);

/* Places of a queue and of what it is on: its own, and a bit for each target, outwards, up to `beyond`. */
typedef struct {
    bool own, exclusive; /* that of a barrier */
    int64_t targets;     /* -1: all of them */
    od_queue *beyond;
} odi_places;

/* Gives them up. Not held. */
void odi_places_leave(od_queue *queue, odi_places places);

/* In a forked child. */
void odi_targets_forked(void);

#pragma GCC visibility pop

#endif
