/* settle.h — what follows from a change of a line, its places, width or suspension: under the lock whom it lets go
 * on, and without it the drainers that are called.
 *
 * One pass of a queue on another stands in the target's line at a time, with the queue's own node; in that node lies
 * also one that the pool has no memory for. Further drainers have none. How that wait ends: the one that is out comes up.
 */
#ifndef ODI_GATE_SETTLE_H
#define ODI_GATE_SETTLE_H

#include "gate/override.h"

#pragma GCC visibility push(hidden)

odi_settlement odi_queue_settle(od_queue *queue);   /* held: carry_out follows */
void odi_queue_settle_and_release(od_queue *queue); /* held; releases it, and does what follows */

/* Not held, all of them. */
void odi_queue_carry_out(od_queue *queue, odi_settlement settlement);
/* Sees to a drainer after a push, where the inbox wants one. */
void odi_queue_see_to_drainers(od_queue *queue);
/* All that waits now is served in this band. */
void odi_queue_raise_all(od_queue *queue, uint32_t band);

/* The drainer's slice of its worker is over: it waits for a pass again. */
void odi_queue_requeue_drainer(od_queue *queue, odi_taken *taken);

/* ---- barrier.c ---- */

/* From here on the queue keeps its line, so that a barrier can be pushed: it waits for what is outside. Not held. */
void odi_queue_keep_line(od_queue *queue);
void odi_queue_close_if_open(od_queue *queue); /* held: a new one may still open */
void odi_queue_end_barrier(od_queue *queue);   /* not held: the place is kept */
void odi_queue_before_drained(od_queue *queue);

#pragma GCC visibility pop

#endif
