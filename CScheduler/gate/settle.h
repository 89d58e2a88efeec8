/* settle.h — consequences of a change of a queue's entries, permits, width or suspension. Under the lock it
 * finds the waiters to admit; without the lock it submits drain requests.
 *
 * At most one drain request of a child queue is in the target's wait queue, in the child's node. A request
 * for which the pool has no memory uses this node too. Further drainers have no request. Their wait ends when
 * a worker takes the request that is out.
 */
#ifndef ODI_GATE_SETTLE_H
#define ODI_GATE_SETTLE_H

#include "gate/override.h"

#pragma GCC visibility push(hidden)

odi_settlement odi_queue_settle(od_queue *queue);   /* lock held; the caller then calls carry_out */
void odi_queue_settle_and_release(od_queue *queue); /* lock held; releases it and applies the consequences */

/* No lock is held at the following calls. */
void odi_queue_carry_out(od_queue *queue, odi_settlement settlement);
/* Calls a drainer after a push, if the inbox wants one. */
void odi_queue_see_to_drainers(od_queue *queue);
/* Serves all entries that wait now in this band. */
void odi_queue_raise_all(od_queue *queue, uint32_t band);

/* Ends the drainer's time slice on its worker: the drainer waits for a drain request again. */
void odi_queue_requeue_drainer(od_queue *queue, odi_taken *taken);

/* ---- records.c ---- */

extern const odi_record_owner odi_queue_record_owner;

/* ---- barrier.c ---- */

/* Closes the queue, so that a barrier can be pushed; the barrier waits for earlier jobs in the pool. No lock
 * is held. */
void odi_queue_keep_line(od_queue *queue);
void odi_queue_close_if_open(od_queue *queue); /* lock held: a new queue may still open */
void odi_queue_end_alone(od_queue *queue);     /* lock held: a barrier, or its held permit, ends */
void odi_queue_end_barrier(od_queue *queue);   /* no lock is held; the permit is kept */
void odi_queue_before_drained(od_queue *queue);

#pragma GCC visibility pop

#endif
