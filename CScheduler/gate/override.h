/* override.h — the band in which a queue's drain requests wait in the pool, and the number of missing
 * requests.
 *
 * Usually this is the queue's own band. A job or sync caller of a higher band *raises* the wait queue. All
 * earlier entries are then served in the higher band too, because the new entry waits for them. The raise
 * ends after as many entries as were waiting then (`overridden`), or when the wait queue is empty.
 *
 * A drain request waits in the pool on behalf of any waiting drainer. A worker that takes a request becomes a
 * drainer, or finds that none is needed. A raise adds requests in the higher band beside those in the lower
 * band, and no permit is given twice.
 *
 * Locks    the queue's lock, at all calls.
 * Invariant  every waiting drainer has a drain request in the current band or a higher band. In a raised
 *          queue, batches of drainers were taken back before the count, and no drainer fills a batch.
 */
#ifndef ODI_GATE_OVERRIDE_H
#define ODI_GATE_OVERRIDE_H

#include "gate/line.h"
#include "gate/pass.h"

#pragma GCC visibility push(hidden)

/* Consequences of a change of permits, width or suspension, applied without the lock: this many drain
 * requests go to the pool. Their drainers already hold permits. */
typedef struct {
    uint32_t passes, band;
} odi_settlement;

/* Returns the number of waiting entries; the inbox's part is a hint. */
static inline uint32_t odi_queue_waiting(const od_queue *queue)
{
    return queue->back + queue->line.count + queue->early.count +
           odi_load_relaxed(&queue->inbox.waiting); /* relaxed: entries pushed now come later */
}

/* Serves the next `entries` in this band if it is higher. The caller then calls odi_queue_settle. */
void odi_queue_raise(od_queue *queue, uint32_t band, uint32_t entries);
void odi_queue_raise_waiting(od_queue *queue, uint32_t band); /* raises all entries that wait now */
/* Adjusts a raise after entries came in front, or (negative) have left. At most `waiting` entries stay
 * raised, because cancelled jobs leave without being taken. */
void odi_queue_pass_raised(od_queue *queue, int32_t entries, uint64_t waiting);

void odi_queue_give_passes(od_queue *queue, odi_settlement *settlement);
/* A worker has taken a drain request. Returns false if no drainer waits, or if the raise has ended. In the
 * latter case `settlement` holds the consequences; with NULL the worker serves anyway. */
bool odi_queue_begin_drainer(od_queue *queue, odi_pass pass, bool *begins, odi_settlement *settlement);
bool odi_queue_has_passes(const od_queue *queue);
void odi_queue_forget_drainers(od_queue *queue);

#pragma GCC visibility pop

#endif
