/* limit.h — a limit of what waits in a queue to begin, and who waits for room there.
 *
 * Locks    the queue's, all of it.
 */
#ifndef ODI_GATE_LIMIT_H
#define ODI_GATE_LIMIT_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* What waits to begin, without the passes of queues on this one: these have limits of their own. Under the lock
 * none adds whom the limit holds for. */
uint64_t odi_limit_waiting(const od_queue *queue);

/* Submitters wait for room. Nobody does on a queue that is over, whose last job's submitter may still ask. */
static inline bool odi_limit_is_awaited(const od_queue *queue)
{
    return queue->pending_limit > 0 && queue->more != NULL && queue->more->submitters.first != NULL;
}

/* Lets submitters go on who have room, if without their jobs no more than half of the limit wait. */
void odi_limit_admit(od_queue *queue);

#pragma GCC visibility pop

#endif
