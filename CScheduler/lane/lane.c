#include "lane/borrow.h"
#include "lane/limit.h"
#include "lane/queue.h"
#include "lane/target.h"

/* Submissions that the inbox draws of its record's ledger at once. */
enum { CREDITS = 64 };

/* ---- state: lock held ---- */

void odi_lane_set_diverted(od_queue *queue, bool diverted)
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

void odi_lane_open_if_clear(od_queue *queue)
{
    /* relaxed: written under the lock */
    if (!odi_load_relaxed(&queue->inbox.diverted) || !odi_gate_may_open(&queue->gate) ||
        !odi_lane_is_clear(queue))
        return;
    odi_lock_acquire(&queue->inbox.lock);
    bool clear = queue->inbox.fifo.count == 0;
    if (clear) {
        odi_store_relaxed(&queue->inbox.diverted, false); /* relaxed: both locks are held */
        queue->gate.complete = false;
    }
    odi_lock_release(&queue->inbox.lock);
    if (clear)
        odi_lane_set_diverted(queue, false);
}

odi_settlement odi_lane_settle(od_queue *queue)
{
    odi_settlement settlement = {0};

    if (ODI_UNLIKELY(queue->gate.earmarks > 0))
        odi_borrow_settle(queue);
    odi_front front = odi_lane_front(queue, 0); /* first: it may take over the inbox */
    uint64_t waiting = queue->lane.count + queue->early.count + queue->back +
                       (queue->first_turn != NULL);

    odi_lock_acquire(&queue->inbox.lock);
    waiting += queue->inbox.fifo.count;
    if (waiting == 0)
        waiting = (uint64_t)odi_lane_offered(queue);
    bool lets_through = front != ODI_FRONT_HELD || odi_lane_offered(queue) > 0;
    queue->in_line += odi_gate_call_drainer(&queue->gate, waiting > 0 && lets_through,
                                            queue->awaited_passes > 0);
    queue->inbox.wants = odi_gate_wants_drainer(&queue->gate, front);
    if (waiting <= queue->guests) /* passes of queues on this one are not the queue's own jobs */
        settlement.credits = odi_inbox_take_credits(&queue->inbox);
    if (waiting == 0 && queue->gate.held == 0) {
        odi_fifo_trim(&queue->inbox.fifo);
        odi_fifo_trim(&queue->lane);
        odi_lane_free_hands(queue);
    }
    odi_lock_release(&queue->inbox.lock);
    if (ODI_UNLIKELY(queue->raised != 0))
        odi_lane_limit_raised(queue, waiting);
    if (queue->in_line > 0)
        odi_lane_give_passes(queue, &settlement);
    return settlement;
}

void odi_lane_carry_out(od_queue *queue, odi_settlement settlement)
{
    odi_lane_start(queue, settlement.passes, settlement.band);
    odi_credits_give_back(settlement.credits); /* last: the queue may be over by this */
}

void odi_lane_settle_and_release(od_queue *queue)
{
    odi_settlement settlement = odi_lane_settle(queue);

    odi_lock_release(&queue->watch.lock);
    odi_lane_carry_out(queue, settlement);
}

void odi_lane_end_credits(od_queue *queue)
{
    odi_lock_acquire(&queue->inbox.lock);
    odi_credits credits = odi_inbox_take_credits(&queue->inbox);
    odi_lock_release(&queue->inbox.lock);
    odi_credits_give_back(credits);
}

/* ---- entering ---- */

/* A drainer may be missing. Not held. */
void odi_lane_see_to_drainers(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_lane_settle_and_release(queue);
}

/* Sees to it that the inbox has a credit of `record`. *before are another record's, to be
 * given back. Under the inbox's lock, under which cancels close records. */
static bool have_credit(odi_inbox *inbox, odi_record *record, odi_credits *before)
{
    if (ODI_LIKELY(inbox->credited == record && inbox->credits > 0))
        return true;
    /* relaxed: a cancel sets it under this lock */
    if (odi_load_relaxed(&record->flags) & (ODI_RECORD_CANCELLED | ODI_RECORD_STALE))
        return false;
    *before = odi_inbox_take_credits(inbox);
    inbox->credited = record;
    inbox->credits = CREDITS;
    /* relaxed: the lock. A record that its queue does not know is counted on in the ordinary way,
     * without this lock. */
    return (odi_add_relaxed(&record->ledger, CREDITS * ODI_LEDGER_ONE) &
            ODI_LEDGER_KNOWN_TO_QUEUE) != 0;
}

bool odi_lane_submit(od_queue *queue, odi_record *record, odi_entry job)
{
    odi_inbox *inbox = &queue->inbox;
    odi_credits before = {0}, unused = {0};
    bool pushed = false, wants = false;

    if (ODI_UNLIKELY(!odi_job_takes_tag(job, record->tag)))
        return false;
    odi_lock_acquire(&inbox->lock);
    /* relaxed: written under this lock */
    if (ODI_LIKELY(odi_load_relaxed(&queue->inbox.diverted) && have_credit(inbox, record, &before))) {
        pushed = odi_inbox_push(inbox, odi_job_with_tag(job, record->tag));
        if (ODI_LIKELY(pushed)) {
            inbox->credits--;
            wants = inbox->wants;
        }
    }
    if (ODI_UNLIKELY(!pushed))
        unused = odi_inbox_take_credits(inbox); /* perhaps nobody else would */
    odi_lock_release(&inbox->lock);

    odi_credits_give_back(before);
    odi_credits_give_back(unused);
    if (wants)
        odi_lane_see_to_drainers(queue);
    return pushed;
}

/* Puts a job in front of the lane. Not held. */
static odi_pushed push_early(od_queue *queue, odi_entry labelled)
{
    odi_lock_acquire(&queue->watch.lock);
    bool diverted = odi_load_relaxed(&queue->inbox.diverted); /* relaxed: written under the lock */
    bool kept = diverted && !odi_lane_is_cancelled(labelled) &&
                odi_fifo_push(&queue->early, labelled);
    if (ODI_UNLIKELY(kept && queue->raised != 0))
        odi_lane_pass_raised(queue, 1);
    if (kept)
        odi_lane_raise(queue, odi_record_band(odi_record_of_job(labelled)), queue->early.count);
    odi_lane_settle_and_release(queue);
    if (!diverted)
        return ODI_NO_LANE;
    return kept ? ODI_PUSHED : ODI_NO_ROOM;
}

ODI_HOT_INLINE odi_pushed push(od_queue *queue, odi_entry labelled)
{
    odi_record *record = odi_record_of_job(labelled);

    if (ODI_UNLIKELY(odi_record_key(record) & ODI_KEY_BARRIER))
        return odi_lane_push_barrier(queue, labelled) ? ODI_PUSHED : ODI_NO_ROOM;
    odi_lock_acquire(&queue->inbox.lock);
    /* relaxed, both: written under the lock */
    bool diverted = odi_load_relaxed(&queue->inbox.diverted);
    bool stale = (odi_load_relaxed(&record->flags) & ODI_RECORD_STALE) != 0;
    if (ODI_UNLIKELY(!diverted || stale)) {
        odi_lock_release(&queue->inbox.lock);
        return diverted ? push_early(queue, labelled) : ODI_NO_LANE; /* a barrier may wait for it */
    }
    /* A cancel that has counted the job has turned the lane over already. */
    bool kept = !odi_lane_is_cancelled(labelled) && odi_inbox_push(&queue->inbox, labelled);
    bool wants = queue->inbox.wants;
    odi_lock_release(&queue->inbox.lock);

    if (ODI_UNLIKELY(!kept))
        return ODI_NO_ROOM;
    if (wants)
        odi_lane_see_to_drainers(queue);
    return ODI_PUSHED;
}

bool odi_lane_push(od_queue *queue, odi_entry labelled)
{
    odi_pushed pushed = push(queue, labelled);

    if (ODI_UNLIKELY(pushed == ODI_NO_ROOM))
        odi_lane_push_without_memory(queue, labelled);
    return pushed != ODI_NO_LANE;
}

odi_pushed odi_lane_push_if_room(od_queue *queue, odi_entry labelled)
{
    return push(queue, labelled);
}

void odi_lane_divert(odi_record *record, odi_entry job)
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
    case ODI_NO_LANE:
        odi_pool_submit(queue->pool, odi_record_band(record), labelled);
        break;
    case ODI_NO_ROOM: /* it had been given to the pool before the queue was diverted */
        (void)odi_run_outside(&queue->pool->crew, labelled); /* or discards it */
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
        if (!odi_lane_is_cancelled(entry) || !odi_fifo_push(dropped, entry))
            (void)odi_fifo_push(fifo, entry); /* into the reserve, or what popping freed */
        else
            queue->gate.barriers -= odi_lane_is_barrier(entry);
    }
}

/* The same for what was taken back of a drainer's hand. */
static void sift_hand(od_queue *queue, odi_hand *hand, odi_fifo *dropped)
{
    int32_t kept = hand->end;

    for (int32_t i = hand->end - 1; i >= hand->next; i--) {
        if (!odi_lane_is_cancelled(hand->entries[i]) ||
            !odi_fifo_push(dropped, hand->entries[i]))
            hand->entries[--kept] = hand->entries[i];
        else
            queue->back--;
    }
    hand->next = kept;
}

void odi_lane_purge(od_queue *queue)
{
    odi_fifo dropped = {0};
    odi_entry entry;

    odi_lock_acquire(&queue->watch.lock);
    sift(queue, &queue->early, &dropped);
    odi_lane_take_back(queue);
    for (int each = 0; each < odi_lane_hands(queue); each++)
        sift_hand(queue, &queue->hands[each], &dropped);
    sift(queue, &queue->lane, &dropped);
    odi_lock_acquire(&queue->inbox.lock);
    sift(queue, &queue->inbox.fifo, &dropped);
    /* relaxed: locked */
    odi_store_relaxed(&queue->inbox.waiting, (uint32_t)queue->inbox.fifo.count);
    odi_lock_release(&queue->inbox.lock);
    odi_limit_sift(queue, &dropped);
    odi_lane_open_if_clear(queue);
    odi_settlement settlement = odi_lane_settle(queue); /* what a hand held back may run */
    odi_lock_release(&queue->watch.lock);

    odi_lane_carry_out(queue, settlement);
    while (odi_fifo_pop(&dropped, &entry)) /* discards them, which may run deinits */
        (void)odi_run_outside(&queue->pool->crew, entry);
    odi_fifo_free(&dropped);
}
