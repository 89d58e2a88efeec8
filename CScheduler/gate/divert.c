#include "gate/earmark.h"
#include "gate/limit.h"
#include "gate/queue.h"
#include "gate/target.h"

/* Submissions that the inbox draws of its record's job count at once. */
enum { RESERVED = 64 };

/* ---- state: lock held ---- */

void odi_queue_set_diverted(od_queue *queue, bool diverted)
{
    odi_lock_acquire(&queue->inbox.lock);
    odi_store_relaxed(&queue->inbox.diverted, diverted); /* relaxed: rechecked under a lock */
    odi_lock_release(&queue->inbox.lock);
    /* relaxed: set under the lock. What a cancel has closed is discarded, wherever it is. */
    for (odi_record *record = queue->records;
         record != NULL && !(odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED);
         record = record->next_of_queue) {
        if (diverted)
            odi_or_seqcst(&record->flags, ODI_RECORD_DIVERTED, L2);
        else
            odi_and_seqcst(&record->flags, ~(uint32_t)ODI_RECORD_DIVERTED, L2);
    }
}

void odi_queue_open_if_clear(od_queue *queue)
{
    /* relaxed: written under the lock */
    if (!odi_load_relaxed(&queue->inbox.diverted) || !odi_gate_may_open(&queue->gate) ||
        !odi_queue_is_clear(queue))
        return;
    odi_lock_acquire(&queue->inbox.lock);
    bool clear = queue->inbox.fifo.count == 0;
    if (clear) {
        odi_store_relaxed(&queue->inbox.diverted, false); /* relaxed: both locks are held */
        queue->gate.complete = false;
    }
    odi_lock_release(&queue->inbox.lock);
    if (clear)
        odi_queue_set_diverted(queue, false);
}

odi_settlement odi_queue_settle(od_queue *queue)
{
    odi_settlement settlement = {0};

    if (ODI_UNLIKELY(queue->gate.earmarks > 0))
        odi_earmark_settle(queue);
    odi_front front = odi_queue_front(queue, 0); /* first: it may take over the inbox */
    uint64_t waiting = queue->line.count + queue->early.count + queue->back +
                       (queue->first_node != NULL);

    odi_lock_acquire(&queue->inbox.lock);
    waiting += queue->inbox.fifo.count;
    if (waiting == 0)
        waiting = (uint64_t)odi_queue_offered(queue);
    bool lets_through = front != ODI_FRONT_HELD || odi_queue_offered(queue) > 0;
    queue->drainers_waiting += odi_gate_call_drainer(&queue->gate, waiting > 0 && lets_through,
                                                     queue->awaited_passes > 0);
    queue->inbox.wants = odi_gate_wants_drainer(&queue->gate, front);
    if (waiting <= queue->child_passes) /* passes of queues on this one are not the queue's own jobs */
        settlement.reserved = odi_inbox_take_reserved(&queue->inbox);
    if (waiting == 0 && queue->gate.held == 0) {
        odi_fifo_trim(&queue->inbox.fifo);
        odi_fifo_trim(&queue->line);
        odi_queue_free_batches(queue);
    }
    odi_lock_release(&queue->inbox.lock);
    if (ODI_UNLIKELY(queue->raised != 0))
        odi_queue_limit_raised(queue, waiting);
    if (queue->drainers_waiting > 0)
        odi_queue_give_passes(queue, &settlement);
    return settlement;
}

void odi_queue_carry_out(od_queue *queue, odi_settlement settlement)
{
    odi_queue_start_drainers(queue, settlement.passes, settlement.band);
    odi_reserved_give_back(settlement.reserved); /* last: the queue may be over by this */
}

void odi_queue_settle_and_release(od_queue *queue)
{
    odi_settlement settlement = odi_queue_settle(queue);

    odi_lock_release(&queue->watch.lock);
    odi_queue_carry_out(queue, settlement);
}

void odi_queue_return_reserved(od_queue *queue)
{
    odi_lock_acquire(&queue->inbox.lock);
    odi_reserved reserved = odi_inbox_take_reserved(&queue->inbox);
    odi_lock_release(&queue->inbox.lock);
    odi_reserved_give_back(reserved);
}

/* ---- entering ---- */

/* A drainer may be missing. Not held. */
void odi_queue_see_to_drainers(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_queue_settle_and_release(queue);
}

/* Sees to it that the inbox has a reserved count of `record`. *before are another record's, to be
 * given back. Under the inbox's lock, under which cancels close records. */
static bool have_reserved(odi_inbox *inbox, odi_record *record, odi_reserved *before)
{
    if (ODI_LIKELY(inbox->reserved_for == record && inbox->reserved > 0))
        return true;
    /* relaxed: a cancel sets it under this lock */
    if (odi_load_relaxed(&record->flags) & (ODI_RECORD_CANCELLED | ODI_RECORD_STALE))
        return false;
    *before = odi_inbox_take_reserved(inbox);
    inbox->reserved_for = record;
    inbox->reserved = RESERVED;
    /* relaxed: the lock. A record that its queue does not know is counted on in the ordinary way,
     * without this lock. */
    return (odi_add_relaxed(&record->counts, RESERVED * ODI_COUNTS_ONE) &
            ODI_COUNTS_KNOWN_TO_QUEUE) != 0;
}

bool odi_queue_submit_to_line(od_queue *queue, odi_record *record, odi_entry job)
{
    odi_inbox *inbox = &queue->inbox;
    odi_reserved before = {0}, unused = {0};
    bool pushed = false, wants = false;

    if (ODI_UNLIKELY(!odi_job_takes_tag(job, record->tag)))
        return false;
    odi_lock_acquire(&inbox->lock);
    /* relaxed: written under this lock */
    if (ODI_LIKELY(odi_load_relaxed(&queue->inbox.diverted) && have_reserved(inbox, record, &before))) {
        pushed = odi_inbox_push(inbox, odi_job_with_tag(job, record->tag));
        if (ODI_LIKELY(pushed)) {
            inbox->reserved--;
            wants = inbox->wants;
        }
    }
    if (ODI_UNLIKELY(!pushed))
        unused = odi_inbox_take_reserved(inbox); /* perhaps nobody else would */
    odi_lock_release(&inbox->lock);

    odi_reserved_give_back(before);
    odi_reserved_give_back(unused);
    if (wants)
        odi_queue_see_to_drainers(queue);
    return pushed;
}

/* Puts a job in front of the line. Not held. */
static odi_pushed push_early(od_queue *queue, odi_entry labelled)
{
    odi_lock_acquire(&queue->watch.lock);
    bool diverted = odi_load_relaxed(&queue->inbox.diverted); /* relaxed: written under the lock */
    bool kept = diverted && !odi_entry_is_cancelled(labelled) &&
                odi_fifo_push(&queue->early, labelled);
    if (ODI_UNLIKELY(kept && queue->raised != 0))
        odi_queue_pass_raised(queue, 1);
    if (kept)
        odi_queue_raise(queue, odi_record_band(odi_record_of_job(labelled)), queue->early.count);
    odi_queue_settle_and_release(queue);
    if (!diverted)
        return ODI_NO_LINE;
    return kept ? ODI_PUSHED : ODI_NO_ROOM;
}

ODI_HOT_INLINE odi_pushed push(od_queue *queue, odi_entry labelled)
{
    odi_record *record = odi_record_of_job(labelled);

    if (ODI_UNLIKELY(odi_record_key(record) & ODI_KEY_BARRIER))
        return odi_queue_push_barrier(queue, labelled) ? ODI_PUSHED : ODI_NO_ROOM;
    odi_lock_acquire(&queue->inbox.lock);
    /* relaxed, both: written under the lock */
    bool diverted = odi_load_relaxed(&queue->inbox.diverted);
    bool stale = (odi_load_relaxed(&record->flags) & ODI_RECORD_STALE) != 0;
    if (ODI_UNLIKELY(!diverted || stale)) {
        odi_lock_release(&queue->inbox.lock);
        return diverted ? push_early(queue, labelled) : ODI_NO_LINE; /* a barrier may wait for it */
    }
    /* A cancel that has counted the job has turned the line over already. */
    bool kept = !odi_entry_is_cancelled(labelled) && odi_inbox_push(&queue->inbox, labelled);
    bool wants = queue->inbox.wants;
    odi_lock_release(&queue->inbox.lock);

    if (ODI_UNLIKELY(!kept))
        return ODI_NO_ROOM;
    if (wants)
        odi_queue_see_to_drainers(queue);
    return ODI_PUSHED;
}

bool odi_queue_push(od_queue *queue, odi_entry labelled)
{
    odi_pushed pushed = push(queue, labelled);

    if (ODI_UNLIKELY(pushed == ODI_NO_ROOM))
        odi_queue_push_without_memory(queue, labelled);
    return pushed != ODI_NO_LINE;
}

odi_pushed odi_queue_push_if_room(od_queue *queue, odi_entry labelled)
{
    return push(queue, labelled);
}

void odi_queue_divert(odi_record *record, odi_entry job)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: outstanding keeps it */
    odi_entry labelled;

    if (!odi_record_label(record, job, &labelled)) {
        (void)odi_run_outside_of(record, job);
        return;
    }
    switch (push_early(queue, labelled)) {
    case ODI_PUSHED:
        break;
    case ODI_NO_LINE:
        odi_pool_submit(queue->pool, odi_record_band(record), labelled);
        break;
    case ODI_NO_ROOM: /* it had been given to the pool before the queue was diverted */
        (void)odi_run_outside(&queue->pool->team, labelled); /* or discards it */
    }
}

/* ---- cancelling ---- */

/* Turns `fifo` round once and moves what is cancelled to `dropped`. Lock held. Where memory
 * is short everything stays: it is discarded when its turn comes. */
static void sift(od_queue *queue, odi_fifo *fifo, odi_fifo *dropped)
{
    odi_entry entry;

    if (!odi_fifo_reserve(fifo))
        return;
    for (uint64_t left = fifo->count; left > 0; left--) {
        (void)odi_fifo_pop(fifo, &entry);
        if (!odi_entry_is_cancelled(entry) || !odi_fifo_push(dropped, entry))
            (void)odi_fifo_push(fifo, entry); /* into the reserve, or what popping freed */
        else
            queue->gate.barriers -= odi_entry_is_barrier(entry);
    }
}

/* The same for what was taken back of a drain batch. */
static void sift_batch(od_queue *queue, odi_drain_batch *batch, odi_fifo *dropped)
{
    int32_t kept = batch->end;

    for (int32_t i = batch->end - 1; i >= batch->next; i--) {
        if (!odi_entry_is_cancelled(batch->entries[i]) ||
            !odi_fifo_push(dropped, batch->entries[i]))
            batch->entries[--kept] = batch->entries[i];
        else
            queue->back--;
    }
    batch->next = kept;
}

void odi_queue_purge(od_queue *queue)
{
    odi_fifo dropped = {0};
    odi_entry entry;

    odi_lock_acquire(&queue->watch.lock);
    sift(queue, &queue->early, &dropped);
    odi_queue_take_back(queue);
    for (int each = 0; each < odi_queue_drain_batches(queue); each++)
        sift_batch(queue, &queue->batches[each], &dropped);
    sift(queue, &queue->line, &dropped);
    odi_lock_acquire(&queue->inbox.lock);
    sift(queue, &queue->inbox.fifo, &dropped);
    /* relaxed: locked */
    odi_store_relaxed(&queue->inbox.waiting, (uint32_t)queue->inbox.fifo.count);
    odi_lock_release(&queue->inbox.lock);
    odi_limit_sift(queue, &dropped);
    odi_queue_open_if_clear(queue);
    odi_settlement settlement = odi_queue_settle(queue); /* what a drain batch held back may run */
    odi_lock_release(&queue->watch.lock);

    odi_queue_carry_out(queue, settlement);
    while (odi_fifo_pop(&dropped, &entry)) /* discards them, which may run deinits */
        (void)odi_run_outside(&queue->pool->team, entry);
    odi_fifo_free(&dropped);
}
