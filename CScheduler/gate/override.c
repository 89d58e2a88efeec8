/* override.c — raises of a queue's wait queue, and the number of its drain requests in the pool. All callers
 * hold the queue's lock. The file never submits a request: settle.c does. */
#include "gate/override.h"

#include <string.h>

static uint32_t line_band(const od_queue *queue)
{
    return queue->raised != 0 ? (uint32_t)__builtin_ctz(queue->raised) : queue->band;
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

/* Raises all waiting entries. The jobs in drain batches are the oldest, so they are taken back first. */
ODI_COLD void odi_queue_raise_waiting(od_queue *queue, uint32_t band)
{
    if (band >= queue->band)
        return;
    odi_queue_take_back(queue);
    odi_queue_raise(queue, band, odi_queue_waiting(queue));
}

ODI_COLD void odi_queue_pass_raised(od_queue *queue, int32_t entries, uint64_t waiting)
{
    for (uint32_t bands = queue->raised; bands != 0; bands &= bands - 1) {
        uint32_t *overridden = &queue->overridden[__builtin_ctz(bands)];

        *overridden += (uint32_t)entries;
        if (*overridden > waiting)
            *overridden = (uint32_t)waiting;
        if (*overridden == 0)
            queue->raised = (uint8_t)(queue->raised & ~(bands & -bands));
    }
}

/* ---- drain requests ---- */

odi_function *odi_drain;

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
    queue->drainers_waiting--;
    *begins = queue->gate.coming > 0;
    queue->gate.coming -= *begins;
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
    memset(queue->passes, 0, sizeof queue->passes);
    memset(queue->overridden, 0, sizeof queue->overridden);
    queue->drainers_waiting = queue->raised = 0;
    queue->pass_is_out = queue->sends = false;
}
