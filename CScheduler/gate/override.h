/* override.h — in which band of the pool a line's drainers wait, and which of their passes are missing there.
 *
 * As a rule in the queue's own. A job of a higher band that comes into the line, or a sync
 * caller of one, *raises* it: everything before it in the line is served in that band too,
 * because it waits for all of it. The raise ends when as many entries have left the line as
 * stood there then (`overridden`), or when the line is empty.
 *
 * What waits in the pool for a drainer's sake is a pass: who comes up with one becomes any of
 * the drainers that wait, or finds that none is left, and goes. So a raise gives passes in the
 * higher band beside those that lie in the lower one, and no place is given twice.
 *
 * Locks    the queue's, all of it.
 * Invariant  every drainer that waits has a pass in the line's band or a higher one; what drainers had in
 *          hand of a line that is raised has come back before it was counted, and it fills no drain batch.
 */
#ifndef ODI_GATE_OVERRIDE_H
#define ODI_GATE_OVERRIDE_H

#include "gate/line.h"
#include "gate/pass.h"

#pragma GCC visibility push(hidden)

/* What follows from a change of places, width or suspension, to be done without the lock: so many passes
 * for drainers, which hold places already, are to be given to the pool. */
typedef struct {
    uint32_t passes, band;
} odi_settlement;

/* Entries of the line; the inbox's are a hint. */
static inline uint32_t odi_queue_waiting(const od_queue *queue)
{
    return queue->back + queue->line.count + queue->early.count +
           odi_load_relaxed(&queue->inbox.waiting); /* relaxed: what is pushed now is behind */
}

/* The next so many entries are served in this band, if it is higher. odi_queue_settle follows. */
void odi_queue_raise(od_queue *queue, uint32_t band, uint32_t entries);
void odi_queue_raise_waiting(od_queue *queue, uint32_t band); /* all that waits now */
/* Of a raised line: so many entries came in front, or (below 0) have left. No more than `waiting` are raised:
 * cancelled jobs leave without being taken. */
void odi_queue_pass_raised(od_queue *queue, int32_t entries, uint64_t waiting);

void odi_queue_give_passes(od_queue *queue, odi_settlement *settlement);
/* One has come up. False: nobody waits for it; or the line is not in so
 * high a band any more, and the settlement (may be NULL: then it serves) says what follows. */
bool odi_queue_begin_drainer(od_queue *queue, odi_pass pass, bool *begins, odi_settlement *settlement);
bool odi_queue_has_passes(const od_queue *queue);
void odi_queue_forget_drainers(od_queue *queue);

#pragma GCC visibility pop

#endif
