/* callers.h — threads that take a permit of a queue, and give it up.
 *
 * Not held, all of them.
 */
#ifndef ODI_GATE_CALLERS_H
#define ODI_GATE_CALLERS_H

#include "gate/settle.h"

#pragma GCC visibility push(hidden)

/* Takes a permit without waiting, if nobody is before the caller. */
bool odi_queue_enter_at_once(od_queue *queue, bool exclusive);

/* Waits in the line for a permit; after 100 ms it looks for a circle of waits. `through`: the queue
 * on this one whose place the caller holds, or NULL. */
void odi_queue_wait_for_permit(od_queue *queue, bool exclusive, od_queue *through);

void odi_queue_give_permit(od_queue *queue, bool exclusive);

/* The same in two steps, for who gives up several: where there are no workers, what follows runs on
 * the calling thread, and may wait for any of them. `over`: the queue was released. */
odi_settlement odi_queue_leave(od_queue *queue, bool exclusive, bool *over);

/* In a forked child: what the parent's jobs hold beyond their end is not the child's to give up. */
void odi_holds_forked(void);

#pragma GCC visibility pop

#endif
