/* records.c — the records that count a queue's jobs, and pushing a counted job into the wait queue. */
#include "base/invariant.h"
#include "gate/settle.h"
#include "gate/submit.h"
#include "job/label.h"
#include "worker/run.h"

/* ---- pushing ---- */

/* Pushes a barrier, which the gate counts, or a job that belongs in front. Returns false as odi_queue_push
 * does. No lock is held. */
static bool push_under_lock(od_queue *queue, odi_entry labelled, odi_entry_node *node)
{
    odi_record *record = odi_record_of_job(labelled);
    bool barrier = (odi_record_key(record) & ODI_KEY_BARRIER) != 0;

    odi_lock_acquire(&queue->watch.lock);
    bool kept = !odi_entry_is_cancelled(labelled) && (barrier ? odi_inbox_add(&queue->inbox, labelled, node)
                                                              : odi_fifo_push(&queue->early, labelled, node));
    queue->gate.barriers += kept && barrier;
    if (ODI_UNLIKELY(kept && !barrier && queue->raised != 0))
        odi_queue_pass_raised(queue, 1, UINT64_MAX);
    if (kept && !barrier)
        odi_queue_raise(queue, odi_record_band(record), queue->early.count);
    odi_queue_settle_and_release(queue);
    return kept;
}

/* Pushes a job into an empty wait queue without a drainer, and calls one. Returns false if a drainer exists,
 * or if another path must handle the job. No lock is held. */
static bool push_to_idle(od_queue *queue, odi_record *record, odi_entry labelled)
{
    odi_lock_acquire(&queue->watch.lock);
    /* relaxed, all: written under the lock. Jobs that others push to the inbox now come later. */
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
        return push_under_lock(queue, labelled, node); /* a barrier may wait for this job */
    }
    /* A cancel that has counted the job has already purged the queue. */
    bool kept = !odi_entry_is_cancelled(labelled) && odi_inbox_push(&queue->inbox, labelled, node);
    bool wants = odi_load_relaxed(&queue->inbox.wants); /* relaxed: becomes true only under the lock */
    odi_lock_release(&queue->inbox.lock);

    if (wants && kept)
        odi_queue_see_to_drainers(queue);
    return kept;
}

/* Moves a job that was given to the pool before its queue was closed. The job counts as begun if an
 * allocation fails. */
static void divert(odi_record *record, odi_entry job)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: an outstanding job keeps it */
    odi_entry labelled;

    if (!odi_record_label(record, job, &labelled)) {
        (void)odi_run_outside_of(record, job);
        return;
    }
    if (!push_under_lock(queue, labelled, NULL))
        (void)odi_run_outside(&queue->pool->team, labelled); /* or discards it */
}

/* ---- records ---- */

static void reap_one(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: rechecked in odi_queue_reap_record */

    if (queue != NULL)
        odi_queue_reap_record(queue, record);
}

static void drained(void *raw, odi_record *record)
{
    od_queue *queue = raw;

    odi_set set = odi_queue_set(queue);

    odi_watch_changed(&set);
    if (odi_load_relaxed(&queue->inbox.diverted)) /* relaxed: a hint; a barrier's wait checks again */
        odi_queue_before_drained(queue);
    odi_queue_reap_record(queue, record);
    odi_queue_reap(queue);
}

/* Starts a cancelled record's next generation. Lock held. */
static bool renew(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: its submitter keeps it */
    /* relaxed: written under the lock, or before its group was freed */
    uint32_t flags = odi_load_relaxed(&record->flags);
    bool diverted = odi_load_relaxed(&queue->inbox.diverted);

    if (!(flags & ODI_RECORD_CANCELLED) || flags & ODI_RECORD_ORPHANED ||
        queue->before != NULL || /* records that a barrier waits for accept no jobs */
        odi_queue_is_past_deadline(queue) ||
        !odi_record_renew(record, diverted ? ODI_RECORD_DIVERTED : 0))
        return false;
    odi_queue_take_off(record);
    odi_queue_put_in_front(queue, record);
    return true;
}

static bool renew_of_group(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: its submitter keeps it */

    odi_lock_acquire(&queue->watch.lock);
    bool renewed = renew(record);
    odi_lock_release(&queue->watch.lock);
    return renewed;
}

/* Every check holds the lock. After this call it finds the record active and not empty. */
ODI_COLD static void know(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: the count keeps it */

    odi_lock_acquire(&queue->watch.lock);
    (void)odi_or_relaxed(&record->counts, ODI_COUNTS_KNOWN_TO_QUEUE); /* relaxed: the lock */
    odi_lock_release(&queue->watch.lock);
}

const odi_record_owner odi_queue_record_owner = {divert, drained, reap_one, renew_of_group, know};

/* Creates a record of the queue; for `reserve`, here and below, see odi_record_new. Lock held. */
static odi_record *make_record(od_queue *queue, odi_group *group, uint32_t key, bool *reserve)
{
    if (odi_queue_is_past_deadline(queue))
        return NULL;
    if (!queue->gate.closed && odi_gate_opens(&queue->gate)) {
        odi_lock_acquire(&queue->inbox.lock);
        odi_store_relaxed(&queue->inbox.diverted, false); /* relaxed: a thread pushes only after it has a
                                                             record */
        odi_lock_release(&queue->inbox.lock);
    }
    /* relaxed: written under the lock */
    uint32_t flags = odi_load_relaxed(&queue->inbox.diverted) ? ODI_RECORD_DIVERTED : 0;
    odi_record *record = odi_record_new(&queue->pool->team, queue, group, key, flags, &odi_queue_record_owner, reserve);

    if (record != NULL)
        odi_queue_put_in_front(queue, record);
    return record;
}

odi_record *odi_queue_make_record(void *raw, odi_group *group, uint32_t key)
{
    od_queue *queue = raw;

    odi_lock_acquire(&queue->watch.lock);
    odi_record *record = make_record(queue, group, key, NULL);
    odi_lock_release(&queue->watch.lock);
    return record;
}

/* Links and names the record in one critical section, so that a cancel closes both or neither. */
ODI_COLD odi_record *odi_queue_make_current(od_queue *queue, uint32_t key, bool *reserve)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_atomic(uintptr_t) *current = odi_queue_current(queue, key);
    uintptr_t word = odi_load_relaxed(current); /* relaxed: locked */
    odi_record *newest = (odi_record *)(word & ~ODI_CURRENT_NONE);
    odi_record *record = (word & ODI_CURRENT_NONE) ? NULL : newest;
    if (record == NULL && newest != NULL)
        record = odi_record_serve_again(newest, renew);
    if (record == NULL && (record = make_record(queue, NULL, key, reserve)) != NULL && newest != NULL)
        odi_record_succeed(record, newest);
    if (record != NULL)
        odi_store_release(current, (uintptr_t)record, L6);
    odi_lock_release(&queue->watch.lock);
    return record;
}

ODI_COLD odi_record *odi_queue_admit(od_queue *queue, odi_group *group, uint32_t key, bool *reserve, od_status *status)
{
    odi_record *record = NULL;

    do { /* repeats only if the pool stops in between */
        *status = odi_pool_admit(queue->pool);
        if (*status == OD_OK)
            record = odi_queue_find_record(queue, group, key, reserve);
    } while (*status == OD_OK && record == NULL && !odi_pool_is_open(queue->pool));
    return record;
}
