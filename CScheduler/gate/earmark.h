/* earmark.h — earmarked permits: permits that a waiting holder makes available to the work it waits for.
 *
 * A closure of a target may sync into a queue that targets it, and keeps its own permit of the target. The
 * jobs it waits for need a permit of the target too. If callers like it held all permits, no thread could
 * continue. A thread that waits for a permit therefore earmarks the permits that it holds of the queue's
 * targets.
 *
 * Only drainers of the awaited queue, and sync callers that already hold a permit of that queue, may use an
 * earmarked permit (job/gate.h). At most n holders of a target of width n run at any time, and no new entrant
 * takes a holder's permit. The holder's wait to continue ends when any drainer or sync caller returns a
 * permit; a drainer checks after each job.
 *
 * Drain requests and sync callers of an awaited queue bypass the target's wait queue. A barrier there might
 * wait for the holder.
 *
 * An inactive queue has no earmarked permits, because its target may change. A closure of the target that
 * waits for the queue's activation waits for the activating thread. Afterwards it waits without earmarks.
 * That wait never ends if the target's other permits are held or a barrier is next (od_queue_set_target).
 *
 * The target's lock is held at all calls; the queue's lock too if the needed drain requests change.
 */
#ifndef ODI_GATE_EARMARK_H
#define ODI_GATE_EARMARK_H

#include "gate/line.h"

#pragma GCC visibility push(hidden)

/* Grants the available permits, first to waiting holders, then to sync callers of awaited queues. The target's
 * lock is held. */
void odi_earmark_settle(od_queue *queue);

/* Returns the next earmarked drain request, for a drainer that holds a permit; and whether there is one. */
bool odi_earmark_pop(od_queue *queue, odi_entry *pass);
bool odi_earmark_has_pass(od_queue *queue);

/* Adds a sync caller to the target's wait queue. A caller through an awaited queue is listed at that queue
 * instead. */
void odi_earmark_line_up(od_queue *queue, odi_wait_node *caller);

/* Called when a holder begins to wait for a permit of `awaited`, or has got it. In between, callers through
 * that queue bypass the wait queue. Both locks are held. */
void odi_earmark_begin(od_queue *queue, od_queue *awaited);
void odi_earmark_end(od_queue *queue, od_queue *awaited);

/* Lets the holder continue with its permit. Returns false if it must wait for it; odi_earmark_settle then
 * grants it. */
bool odi_earmark_return(od_queue *queue, odi_wait_node *holder);

#pragma GCC visibility pop

#endif
