/* override.c — in which band of the pool a line's drainers wait.
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
#include "gate/earmark.h"
#include "gate/queue.h"
#include "gate/target.h"

static uint32_t line_band(const od_queue *queue)
{
    return queue->raised != 0 ? (uint32_t)__builtin_ctz(queue->raised) : queue->band;
}

uint32_t odi_queue_waiting(od_queue *queue)
{
    return queue->back + queue->line.count + queue->early.count +
           odi_load_relaxed(&queue->inbox.waiting); /* relaxed: what is pushed now is behind */
}

/* ---- raising ---- */

void odi_queue_raise(od_queue *queue, uint32_t band, uint32_t entries)
{
    if (band >= queue->band || entries == 0)
        return;
    if (entries > queue->overridden[band])
        queue->overridden[band] = entries;
    queue->raised = (uint8_t)(queue->raised | 1u << band);
}

/* What drainers have in hand is the oldest of it. */
ODI_COLD void odi_queue_raise_waiting(od_queue *queue, uint32_t band)
{
    if (band >= queue->band)
        return;
    odi_queue_take_back(queue);
    odi_queue_raise(queue, band, odi_queue_waiting(queue));
}

ODI_COLD void odi_queue_raise_all(od_queue *queue, uint32_t band)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_queue_raise_waiting(queue, band);
    odi_queue_settle_and_release(queue);
}

ODI_COLD void odi_queue_pass_raised(od_queue *queue, int32_t entries)
{
    for (uint32_t bands = queue->raised; bands != 0; bands &= bands - 1) {
        uint32_t *overridden = &queue->overridden[__builtin_ctz(bands)];

        *overridden += (uint32_t)entries;
        if (*overridden == 0)
            queue->raised = (uint8_t)(queue->raised & ~(bands & -bands));
    }
}

/* Cancelled jobs leave without being taken. */
ODI_COLD void odi_queue_limit_raised(od_queue *queue, uint64_t waiting)
{
    for (uint32_t bands = queue->raised; bands != 0; bands &= bands - 1) {
        uint32_t *overridden = &queue->overridden[__builtin_ctz(bands)];

        if (*overridden > waiting)
            *overridden = (uint32_t)waiting;
        if (*overridden == 0)
            queue->raised = (uint8_t)(queue->raised & ~(bands & -bands));
    }
}

/* ---- the line ---- */

void odi_queue_give_passes(od_queue *queue, odi_settlement *settlement)
{
    uint32_t band = line_band(queue), passes = queue->pass_is_out && queue->pass_band <= band;

    settlement->band = band;
    if (ODI_UNLIKELY(odi_target_gate(queue) != NULL)) {
        if (queue->more->awaited > 0)
            passes = queue->more->pass_ahead_is_out;
        settlement->passes = passes == 0 && !queue->sends;
        queue->sends |= settlement->passes > 0;
        return;
    }
    for (uint32_t each = 0; each <= band; each++)
        passes += queue->passes[each];
    if (passes < queue->drainers_waiting) {
        settlement->passes = queue->drainers_waiting - passes;
        queue->passes[band] += settlement->passes;
    }
}

uint32_t odi_queue_requeue_drainer(od_queue *queue, uint32_t *band, odi_taken *taken)
{
    odi_settlement settlement = {0};

    odi_lock_acquire(&queue->watch.lock);
    odi_queue_put_down(taken);
    queue->drainers_waiting++;
    if (ODI_UNLIKELY(queue->gate.returning > 0))
        odi_earmark_settle(queue); /* whoever wants its place back takes this one */
    if (queue->drainers_waiting > 0)
        odi_queue_give_passes(queue, &settlement); /* and those that one before it wants, whose node was out */
    odi_lock_release(&queue->watch.lock);
    *band = settlement.band;
    return settlement.passes;
}

static void take_up(od_queue *queue, bool *begins)
{
    queue->drainers_waiting--;
    *begins = queue->gate.coming > 0;
    queue->gate.coming -= *begins;
}

bool odi_queue_begin_drainer(od_queue *queue, odi_pass pass, bool *begins, odi_settlement *settlement)
{
    if (ODI_UNLIKELY(pass.of_node))
        queue->pass_is_out = false;
    else if (ODI_UNLIKELY(odi_target_gate(queue) != NULL))
        queue->more->pass_ahead_is_out = false;
    else
        queue->passes[pass.band]--;
    if (queue->drainers_waiting == 0)
        return false;
    if (settlement != NULL && pass.band < line_band(queue)) {
        odi_queue_give_passes(queue, settlement);
        return false;
    }
    take_up(queue, begins);
    return true;
}

bool odi_queue_keep_drainer(od_queue *queue, odi_settlement *settlement)
{
    bool in_line = odi_target_gate(queue) != NULL, begins;

    if (settlement->passes != 1 || (in_line && queue->drainers_waiting > 1))
        return false;
    settlement->passes = 0;
    if (in_line)
        queue->sends = false;
    else
        queue->passes[settlement->band]--;
    take_up(queue, &begins);
    return true;
}

bool odi_queue_has_passes(const od_queue *queue)
{
    uint32_t passes = queue->pass_is_out || queue->sends || (queue->more != NULL && queue->more->pass_ahead_is_out);

    for (uint32_t band = 0; band < ODI_BANDS; band++)
        passes |= queue->passes[band];
    return passes != 0;
}

void odi_queue_forget_drainers(od_queue *queue)
{
    for (uint32_t band = 0; band < ODI_BANDS; band++)
        queue->passes[band] = 0;
    for (uint32_t band = 0; band < ODI_BANDS - 1; band++)
        queue->overridden[band] = 0;
    queue->drainers_waiting = queue->raised = 0;
    queue->pass_is_out = queue->sends = false;
}

/* ---- who waits ---- */

/* A hint may do with so many records. */
enum { RECORDS_LOOKED_AT = 64 };

/* Under the set's lock the records are their queues', and with that their pools are there. */
void odi_queue_override(odi_override *override, odi_watch *watch, odi_record **first, odi_record_walk *next)
{
    int looked = 0;

    odi_lock_acquire(&watch->lock);
    for (odi_record *record = *first; record != NULL && looked++ < RECORDS_LOOKED_AT;
         record = next(record)) {
        /* relaxed, all: hints */
        od_queue *queue = odi_load_relaxed(&record->queue);

        if (queue == NULL || odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0)
            continue;
        bool diverted = odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED;
        odi_override_name(override, odi_load_relaxed(&record->team),
                          diverted ? queue->band : odi_record_band(record));
    }
    odi_override_begin(override);
    odi_lock_release(&watch->lock);
}

uint32_t odi_band_of_thread(void)
{
    int band = od_queue_current_band();

    if (band >= 0)
        return (uint32_t)band;
    return od_thread_is_main() ? OD_BAND_USER_INTERACTIVE : OD_BAND_DEFAULT;
}
