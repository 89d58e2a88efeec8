/* limit.h — how many jobs may wait in a queue, and what becomes of those beyond.
 *
 * A queue with a limit keeps its lane, so what waits is what the lane holds, known under the
 * queue's lock. A submitter who has to wait lists its job in its own frame, behind the lane,
 * where a drainer finds it like one that the lane has no memory for: nothing hangs on the
 * submitter's waking up. When half of the lane has run, the listed jobs move into it.
 *
 * How a submitter's wait ends: by a drainer that takes the job or moves it into the lane, or by
 * a cancel.
 */
#ifndef ODI_LANE_LIMIT_H
#define ODI_LANE_LIMIT_H

#include "lane/queue.h"

#pragma GCC visibility push(hidden)

/* Submits to a queue that has a limit. Not held. */
od_status odi_limit_submit(od_queue *queue, struct odi_group *group, uint32_t key, odi_entry job);

/* Moves submitters' jobs from their frames into the lane, if it has become short. Held. */
void odi_limit_admit(od_queue *queue);

/* Moves the cancelled ones among them to `dropped`. Held. */
void odi_limit_sift(od_queue *queue, odi_fifo *dropped);

#pragma GCC visibility pop

#endif
