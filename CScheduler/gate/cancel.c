/* cancel.c — cancels a queue's jobs: removes jobs that have not begun, and discards them. */
#include "gate/settle.h"
#include "gate/submit.h"
#include "worker/run.h"

static bool is_cancelled(const void *unused, odi_entry entry)
{
    (void)unused;
    return odi_entry_is_cancelled(entry);
}

/* Filters the jobs that were taken back from a drain batch. */
static void filter_batch(odi_drain_batch *batch, odi_fifo_sieve *sieve)
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

/* Moves cancelled jobs from all parts of the wait queue into the filter. Lock held. */
static void filter(od_queue *queue, odi_fifo_sieve *sieve)
{
    odi_fifo_sift(&queue->early, sieve);
    odi_queue_take_back(queue);
    uint32_t before = sieve->count;
    for (int each = 0; each < odi_queue_drain_batches(queue); each++)
        filter_batch(&queue->batches[each], sieve);
    queue->back = (uint8_t)(queue->back - (sieve->count - before));
    odi_fifo_sift(&queue->line, sieve);
    odi_lock_acquire(&queue->inbox.lock);
    odi_fifo_sift(&queue->inbox.fifo, sieve);
    /* relaxed: locked */
    odi_store_relaxed(&queue->inbox.waiting, (uint32_t)queue->inbox.fifo.count);
    odi_lock_release(&queue->inbox.lock);
    for (uint32_t each = 0; each < sieve->count; each++)
        queue->gate.barriers -= odi_entry_is_barrier(sieve->entries[each]);
}

/* Discards cancelled jobs, a bounded number at a time so that no memory is needed. */
void odi_queue_purge(od_queue *queue)
{
    odi_fifo_sieve sieve = {.takes = is_cancelled};
    odi_team *team = &queue->pool->team;

    do {
        sieve.count = 0;
        odi_lock_acquire(&queue->watch.lock);
        filter(queue, &sieve);
        odi_settlement settlement = odi_queue_settle(queue); /* jobs that a drain batch held back may run now */
        odi_lock_release(&queue->watch.lock);

        odi_queue_carry_out(queue, settlement);
        for (uint32_t each = 0; each < sieve.count; each++)
            (void)odi_run_outside(team, sieve.entries[each]); /* discards the job, which may run a
                                                                 deinitialiser */
    } while (sieve.count == ODI_SIEVE_MOST);
}

uint64_t odi_queue_cancel(od_queue *queue)
{
    odi_record *end = queue->records;

    odi_lock_acquire(&queue->inbox.lock); /* jobs pushed from here on are seen to be cancelled */
    odi_queue_close_current(queue);
    /* relaxed: set under this lock. All records behind the first cancelled one are cancelled. */
    while (end != NULL && !(odi_load_relaxed(&end->flags) & ODI_RECORD_CANCELLED))
        end = end->next_of_queue;
    uint64_t cancelled = odi_record_cancel(&queue->pool->team, queue->records, end);
    odi_lock_release(&queue->inbox.lock);
    odi_lock_release(&queue->watch.lock);

    odi_queue_purge(queue);
    odi_queue_reap(queue);
    return cancelled;
}

uint64_t od_queue_cancel_all(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    return odi_queue_cancel(queue);
}
