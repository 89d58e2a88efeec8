/* limit.h — how many jobs may wait in a queue, and what becomes of those beyond.
 *
 * A queue with a limit keeps its line, so what waits is what the line holds, known under the
 * queue's lock. A submitter who has to wait keeps its job in its own frame, behind the line:
 * nothing hangs on the submitter's waking up. When half of the line has run, such jobs move into it.
 *
 * How a submitter's wait ends: by who takes from the line, and moves the job into it; where memory is short
 * the frame goes in, and its wait ends when the job is taken; or by a cancel.
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

/* Moves submitters' jobs from their frames into the line, if it has become short. Held. */
void odi_limit_admit(od_queue *queue);

/* Takes out the cancelled ones among them. Held. */
void odi_limit_sift(od_queue *queue, odi_fifo_sieve *sieve);

#pragma GCC visibility pop

#endif
