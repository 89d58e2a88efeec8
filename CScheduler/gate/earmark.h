/* earmark.h — places that their holders earmark while they wait.
 *
 * A closure of a target may sync onto a queue on it, and keeps its place of the target. What it
 * waits for there needs such a place too, and where all of them are held by callers like it,
 * nobody would go on. So who waits for a permit earmarks the places that its thread holds of the
 * queue's targets: for the drainers of the queue that it waits for and for the sync callers that
 * hold a place of that queue already, and for nobody else: an earmarked permit of the target's gate
 * (job/gate.h), so that of a target of width n no more than n run at any moment, and none that is new
 * takes a holder's place. How the holder's wait to go on ends: by a drainer or sync caller that gives a
 * permit up, whoever it is; a drainer looks after each of its jobs.
 *
 * Passes and callers of a queue that is waited for do not stand in the target's line, where a
 * barrier might be before them that waits for the holder.
 *
 * A queue that is not active yet has nothing earmarked for it: its target may change. Who waits for its
 * activation inside of its target waits for whoever activates it, and from then on without earmarks: for ever
 * where the target's other places are held too, or a barrier is next (od_queue_set_target).
 *
 * Locks    the target's, all of it; where that changes which passes are wanted the queue's too.
 */
#ifndef ODI_GATE_EARMARK_H
#define ODI_GATE_EARMARK_H

#include "gate/line.h"

#pragma GCC visibility push(hidden)

/* The target's lock held, all of it. Lets holders and callers go on that can. */
void odi_earmark_settle(od_queue *queue);

/* The next pass of what they wait for, for a drainer that holds a place; whether there is one. */
bool odi_earmark_pop(od_queue *queue, odi_entry *pass);
bool odi_earmark_has_pass(od_queue *queue);

/* A sync caller lines up at the target; one through a queue that is waited for is listed with that. */
void odi_earmark_line_up(od_queue *queue, odi_wait_node *caller);

/* A holder begins to wait for a permit of a queue on this one; its turn has come there, and callers through
 * that queue go into the line. Both locks held, both. */
void odi_earmark_begin(od_queue *queue, od_queue *awaited);
void odi_earmark_end(od_queue *queue, od_queue *awaited);

/* It goes on, with its place. False: it has to wait for that; odi_earmark_settle grants it. */
bool odi_earmark_return(od_queue *queue, odi_wait_node *holder);

#pragma GCC visibility pop

#endif
