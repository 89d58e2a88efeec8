#include "lane/queue.h"

#include "worker/run.h"

/* ---- state: lock held ---- */

bool odi_lane_is_clear(const od_queue *queue)
{
    return queue->lane.count == 0 && queue->early.count == 0 && queue->first_turn == NULL;
}

void odi_lane_set_diverted(od_queue *queue, bool diverted)
{
    odi_store_relaxed(&queue->diverted, diverted); /* relaxed: rechecked under the lock */
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue) {
        if (diverted)
            odi_or_seqcst(&record->flags, ODI_RECORD_DIVERTED, L2);
        else
            odi_and_seqcst(&record->flags, ~(uint32_t)ODI_RECORD_DIVERTED, L2);
    }
}

void odi_lane_open_if_clear(od_queue *queue)
{
    /* relaxed: written under the lock */
    if (odi_load_relaxed(&queue->diverted) && queue->width == OD_UNLIMITED &&
        queue->suspensions == 0 && odi_lane_is_clear(queue))
        odi_lane_set_diverted(queue, false);
}

int32_t odi_lane_width(const od_queue *queue)
{
    return queue->width != OD_UNLIMITED ? queue->width : (int32_t)queue->pool->crew.capacity;
}

int odi_lane_places(od_queue *queue)
{
    uint64_t waiting = queue->lane.count + queue->early.count + (queue->first_turn != NULL);
    int32_t free_places = odi_lane_width(queue) - queue->running;

    if (queue->suspensions > 0 || free_places <= 0 || waiting == 0)
        return 0;
    int drainers = waiting < (uint64_t)free_places ? (int)waiting : free_places;
    queue->running += drainers;
    return drainers;
}

bool odi_lane_is_cancelled(odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    /* relaxed: set under the lock that the caller holds */
    return record != NULL && odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED;
}

/* ---- entering ---- */

bool odi_lane_push(od_queue *queue, odi_entry labelled)
{
    odi_lock_acquire(&queue->watch.lock);
    if (!odi_load_relaxed(&queue->diverted)) { /* relaxed: written under the lock */
        odi_lock_release(&queue->watch.lock);
        return false;
    }
    /* A cancel that has counted the job has turned the lane over already. */
    bool cancelled = odi_lane_is_cancelled(labelled);
    bool kept = !cancelled && odi_fifo_push(&queue->lane, labelled);
    /* Without memory the submitter waits until a drainer takes the job from its frame; where
     * that would be waiting for itself, it runs the job at once. */
    odi_turn mine;
    bool listed = !kept && !cancelled && queue->suspensions == 0 && !od_queue_is_current(queue);
    if (ODI_UNLIKELY(listed))
        odi_lane_list(queue, &mine, labelled);
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);

    odi_lane_start(queue, drainers);
    if (ODI_UNLIKELY(listed))
        odi_lane_await(queue, &mine, ODI_SHORT_SLICE_NS);
    else if (!kept)
        (void)odi_run_outside(&queue->pool->crew, labelled); /* or discards it */
    return true;
}

void odi_lane_divert(odi_record *record, odi_entry job)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: outstanding keeps it */
    odi_entry labelled;

    if (!odi_record_label(record, job, &labelled)) {
        (void)odi_run_outside_of(record, job);
        return;
    }
    odi_lock_acquire(&queue->watch.lock);
    bool diverted = odi_load_relaxed(&queue->diverted); /* relaxed: written under the lock */
    bool kept = diverted && !odi_lane_is_cancelled(labelled) &&
                odi_fifo_push(&queue->early, labelled);
    int drainers = odi_lane_places(queue);
    odi_lock_release(&queue->watch.lock);

    odi_lane_start(queue, drainers);
    if (!diverted)
        odi_pool_submit(queue->pool, odi_record_band(record), labelled);
    else if (!kept)
        (void)odi_run_outside(&queue->pool->crew, labelled); /* or discards it */
}

/* ---- cancelling ---- */

/* Turns `fifo` round once and moves what is cancelled to `dropped`. Lock held. Where memory
 * is short everything stays: it is discarded when its turn comes. */
static void sift(odi_fifo *fifo, odi_fifo *dropped)
{
    odi_entry entry;

    if (!odi_fifo_reserve(fifo))
        return;
    for (uint64_t left = fifo->count; left > 0; left--) {
        (void)odi_fifo_pop(fifo, &entry);
        if (!odi_lane_is_cancelled(entry) || !odi_fifo_push(dropped, entry))
            (void)odi_fifo_push(fifo, entry); /* into the reserve, or what popping freed */
    }
}

void odi_lane_purge(od_queue *queue)
{
    odi_fifo dropped = {0};
    odi_entry entry;

    odi_lock_acquire(&queue->watch.lock);
    sift(&queue->early, &dropped);
    sift(&queue->lane, &dropped);
    odi_store_relaxed(&queue->interrupt, true); /* relaxed: Q2, a hint */
    odi_lane_open_if_clear(queue);
    odi_lock_release(&queue->watch.lock);

    while (odi_fifo_pop(&dropped, &entry)) /* discards them, which may run deinits */
        (void)odi_run_outside(&queue->pool->crew, entry);
    odi_fifo_free(&dropped);
}
