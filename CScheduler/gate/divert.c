#include "base/invariant.h"
#include "gate/earmark.h"
#include "gate/limit.h"
#include "gate/queue.h"
#include "gate/target.h"

/* Submissions that the inbox draws of its record's job count at once. */
enum { RESERVED = 64 };

/* ---- state: lock held ---- */

odi_settlement odi_queue_settle(od_queue *queue)
{
    odi_settlement settlement = {0};

    if (ODI_UNLIKELY(queue->gate.earmarks > 0))
        odi_earmark_settle(queue);
    if (ODI_UNLIKELY(odi_limit_is_awaited(queue)))
        odi_limit_admit(queue, queue->pending_limit / 2);
    odi_front front = odi_queue_front(queue, 0); /* first: it may take over the inbox */
    uint64_t inside = queue->line.count + queue->early.count + queue->back;
    uint64_t waiting = inside + odi_load_acquire(&queue->inbox.waiting, Q2); /* so many at least */
    /* Passes of queues on this one are not the queue's own jobs. */
    bool seems_clear = waiting <= queue->child_passes;

    if (seems_clear) {
        odi_lock_acquire(&queue->inbox.lock);
        waiting = inside + queue->inbox.fifo.count;
    }
    if (waiting == 0)
        waiting = (uint64_t)odi_queue_offered(queue);
    bool lets_through = front != ODI_FRONT_HELD || odi_queue_offered(queue) > 0;
    queue->drainers_waiting += odi_gate_call_drainer(&queue->gate, waiting > 0 && lets_through,
                                                     queue->gate.earmarks > 0 && odi_earmark_has_pass(queue));
    bool wants = odi_gate_wants_drainer(&queue->gate, front);
    odi_invariant(!wants || seems_clear); /* the inbox's lock is held where it turns true */
    odi_store_relaxed(&queue->inbox.wants, wants); /* relaxed: the locks */
    if (waiting <= queue->child_passes)
        settlement.reserved = odi_inbox_take_reserved(&queue->inbox);
    if (waiting == 0 && queue->gate.held == 0) {
        odi_fifo_rest(&queue->inbox.fifo);
        odi_fifo_rest(&queue->line);
        odi_fifo_rest(&queue->early);
        odi_queue_free((void **)&queue->batches);
    }
    if (seems_clear)
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
    if (ODI_LIKELY(have_reserved(inbox, record, &before))) {
        pushed = odi_inbox_push(inbox, odi_job_with_tag(job, record->tag), NULL);
        if (ODI_LIKELY(pushed)) {
            inbox->reserved--;
            wants = odi_load_relaxed(&inbox->wants); /* relaxed: it turns true under this lock */
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

/* A barrier, which the gate counts, or what belongs in front of the line. False: as odi_queue_push. Not held. */
static bool push_under_lock(od_queue *queue, odi_entry labelled, odi_entry_node *node)
{
    odi_record *record = odi_record_of_job(labelled);
    bool barrier = (odi_record_key(record) & ODI_KEY_BARRIER) != 0;

    odi_lock_acquire(&queue->watch.lock);
    bool kept = !odi_entry_is_cancelled(labelled) && (barrier ? odi_inbox_add(&queue->inbox, labelled, node)
                                                              : odi_fifo_push(&queue->early, labelled, node));
    queue->gate.barriers += kept && barrier;
    if (ODI_UNLIKELY(kept && !barrier && queue->raised != 0))
        odi_queue_pass_raised(queue, 1);
    if (kept && !barrier)
        odi_queue_raise(queue, odi_record_band(record), queue->early.count);
    odi_queue_settle_and_release(queue);
    return kept;
}

/* Puts a job into a line in which nothing waits, and which has no drainer, and calls one. False: it has one by now, or
 * somebody else is to look at the job. Not held. */
static bool push_to_idle(od_queue *queue, odi_record *record, odi_entry labelled)
{
    odi_lock_acquire(&queue->watch.lock);
    /* relaxed, all: written under the lock. What others push to the inbox meanwhile comes behind. */
    bool pushed = odi_load_relaxed(&queue->inbox.wants) && queue->gate.suspensions == 0 &&
                  queue->line.count == 0 &&
                  !(odi_load_relaxed(&record->flags) & (ODI_RECORD_CANCELLED | ODI_RECORD_STALE)) &&
                  odi_fifo_push(&queue->line, labelled, &queue->idle);
    if (ODI_LIKELY(pushed))
        odi_queue_settle_and_release(queue);
    else
        odi_lock_release(&queue->watch.lock);
    return pushed;
}

bool odi_queue_push(od_queue *queue, odi_entry labelled, odi_entry_node *node)
{
    odi_record *record = odi_record_of_job(labelled);

    if (ODI_UNLIKELY(odi_record_key(record) & ODI_KEY_BARRIER))
        return push_under_lock(queue, labelled, node);
    /* relaxed: a hint, the queue's lock decides */
    if (odi_load_relaxed(&queue->inbox.wants) && push_to_idle(queue, record, labelled))
        return true;
    odi_lock_acquire(&queue->inbox.lock);
    /* relaxed: written under the lock */
    if (ODI_UNLIKELY(odi_load_relaxed(&record->flags) & ODI_RECORD_STALE)) {
        odi_lock_release(&queue->inbox.lock);
        return push_under_lock(queue, labelled, node); /* a barrier may wait for it */
    }
    /* A cancel that has counted the job has turned the line over already. */
    bool kept = !odi_entry_is_cancelled(labelled) && odi_inbox_push(&queue->inbox, labelled, node);
    bool wants = odi_load_relaxed(&queue->inbox.wants); /* relaxed: it turns true under the lock */
    odi_lock_release(&queue->inbox.lock);

    if (wants && kept)
        odi_queue_see_to_drainers(queue);
    return kept;
}

/* What had been given to the pool before the queue was diverted counts as begun where memory is short. */
void odi_queue_divert(odi_record *record, odi_entry job)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: outstanding keeps it */
    odi_entry labelled;

    if (!odi_record_label(record, job, &labelled)) {
        (void)odi_run_outside_of(record, job);
        return;
    }
    if (!push_under_lock(queue, labelled, NULL))
        (void)odi_run_outside(&queue->pool->team, labelled); /* or discards it */
}

/* ---- cancelling ---- */

static bool is_cancelled(const void *unused, odi_entry entry)
{
    (void)unused;
    return odi_entry_is_cancelled(entry);
}

/* What was taken back of a drain batch. */
static void sift_batch(odi_drain_batch *batch, odi_fifo_sieve *sieve)
{
    int32_t kept = batch->end;

    for (int32_t i = batch->end - 1; i >= batch->next; i--) {
        if (sieve->count < ODI_SIEVE_MOST && sieve->takes(sieve->of, batch->entries[i]))
            sieve->entries[sieve->count++] = batch->entries[i];
        else
            batch->entries[--kept] = batch->entries[i];
    }
    batch->next = kept;
}

/* Lock held. */
static void sift(od_queue *queue, odi_fifo_sieve *sieve)
{
    odi_fifo_sift(&queue->early, sieve);
    odi_queue_take_back(queue);
    uint32_t before = sieve->count;
    for (int each = 0; each < odi_queue_drain_batches(queue); each++)
        sift_batch(&queue->batches[each], sieve);
    queue->back = (uint8_t)(queue->back - (sieve->count - before));
    odi_fifo_sift(&queue->line, sieve);
    odi_lock_acquire(&queue->inbox.lock);
    odi_fifo_sift(&queue->inbox.fifo, sieve);
    /* relaxed: locked */
    odi_store_relaxed(&queue->inbox.waiting, (uint32_t)queue->inbox.fifo.count);
    odi_lock_release(&queue->inbox.lock);
    if (odi_limit_is_awaited(queue))
        odi_limit_admit(queue, queue->pending_limit);
    for (uint32_t each = 0; each < sieve->count; each++)
        queue->gate.barriers -= odi_entry_is_barrier(sieve->entries[each]);
}

/* So many at a time, so that it needs no memory. */
void odi_queue_purge(od_queue *queue)
{
    odi_fifo_sieve sieve = {.takes = is_cancelled};
    odi_team *team = &queue->pool->team;

    do {
        sieve.count = 0;
        odi_lock_acquire(&queue->watch.lock);
        sift(queue, &sieve);
        odi_settlement settlement = odi_queue_settle(queue); /* what a drain batch held back may run */
        odi_lock_release(&queue->watch.lock);

        odi_queue_carry_out(queue, settlement);
        for (uint32_t each = 0; each < sieve.count; each++)
            (void)odi_run_outside(team, sieve.entries[each]); /* discards it, which may run a deinit */
    } while (sieve.count == ODI_SIEVE_MOST);
}
