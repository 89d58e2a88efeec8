/* limit.h — how many jobs may wait in a queue, and what becomes of those beyond.
 *
 * A queue with a limit keeps its line, so what waits is what the line holds, known under the
 * queue's lock. The job of a submitter who has to wait is in the line already, beyond the limit: nothing hangs on the
 * submitter's waking up. It goes on when half of the line has run, so that many jobs cost one wake-up.
 *
 * How a submitter's wait ends: by who takes from the line, or by a cancel.
 */
#ifndef ODI_GATE_LIMIT_H
#define ODI_GATE_LIMIT_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* Submits to a queue that has a limit. Not held. */
od_status odi_limit_submit(od_queue *queue, struct odi_group *group, uint32_t key, odi_entry job);

/* Submitters wait for room. Nobody does on a queue that is over, whose last job's submitter may still ask. Held. */
static inline bool odi_limit_is_awaited(const od_queue *queue)
{
    return queue->pending_limit > 0 && queue->more != NULL && queue->more->submitters.first != NULL;
}

/* Lets submitters go on who have room, if without their jobs no more than `most` wait. Held. */
void odi_limit_admit(od_queue *queue, uint32_t most);

#pragma GCC visibility pop

#endif
