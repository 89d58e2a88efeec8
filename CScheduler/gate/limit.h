/* limit.h — the limit of a queue's pending jobs, and submitters that wait for room. The queue's lock is held
 * at all calls. */
#ifndef ODI_GATE_LIMIT_H
#define ODI_GATE_LIMIT_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* Returns the number of entries that wait to begin, without drain requests of child queues, which have their
 * own limits. Under the lock no limited submitter adds one. */
uint64_t odi_limit_waiting(const od_queue *queue);

/* Whether submitters wait for room. False for a finished queue, which the submitter of its last job may still
 * ask. */
static inline bool odi_limit_is_awaited(const od_queue *queue)
{
    return queue->pending_limit > 0 && queue->more != NULL && queue->more->submitters.first != NULL;
}

/* Lets submitters with room continue, if at most half of the limit waits without their jobs. */
void odi_limit_admit(od_queue *queue);

#pragma GCC visibility pop

#endif
