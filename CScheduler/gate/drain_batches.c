/* drain_batches.c — how many jobs a drainer takes at once, and the return of jobs that it has not begun.
 *
 * The drainer of a serial queue fills a drain batch, because no other thread may run its jobs. A drainer of a
 * wider queue starts with one job. It takes more and more jobs while a whole take lasts a few microseconds
 * (`reach`). For short jobs the lock costs more than the small delay of their start. If one job lasts long
 * after all, the batch's other jobs return to the wait queue: - when a drainer finds nothing else, or finds a
 * barrier in front, because drain batches are before it; - when other drainers have taken jobs often enough
 * since the batch was filled.
 *
 * Locks    the queue's lock, at all calls.
 * Invariant  an unclaimed job of a drain batch counts as waiting: a thread is coming for it.
 */
#include "gate/current.h"
#include "gate/line.h"
#include "include/od_loop.h"
#include "job/label.h"

#include <stdlib.h>
#include <string.h>

enum {
    PASSED_OVER = 16, /* takes by other drainers while a batch's jobs wait for the running one */
    LONG_UNITS = 4    /* in od_loop_unit: a take that lasts longer was too large */
};

static bool is_among(const od_scope *scope, const od_scope *scopes)
{
    while (scopes != NULL && scopes != scope)
        scopes = scopes->outer;
    return scopes != NULL;
}

/* Whether the calling thread runs this scope, perhaps below a job with a saved context. */
static bool is_here(const od_scope *scope)
{
    bool here = is_among(scope, odi_scopes);

    for (const odi_set_apart *below = odi_apart; below != NULL && !here; below = below->outer)
        here = is_among(scope, below->scopes);
    return here;
}

void odi_queue_drop_batches(od_queue *queue)
{
    for (int each = 0; each < odi_queue_drain_batches(queue); each++) {
        odi_drain_batch *batch = &queue->batches[each];

        if (!is_here(batch->owner)) /* in a forked child the owner may be this thread */
            batch->owner = NULL;
        odi_drain_batch_clear(batch);
    }
    queue->back = 0;
}

/* If the allocation fails, a drainer takes one job at a time. */
static void have_batches(od_queue *queue)
{
    size_t size = ODI_DRAIN_BATCHES * sizeof(odi_drain_batch);

    if (queue->batches == NULL && queue->line.count > 0 &&
        (queue->batches = aligned_alloc(ODI_CACHE_LINE, size)) != NULL)
        memset(queue->batches, 0, size);
}

int32_t odi_queue_offered(const od_queue *queue)
{
    int32_t offered = 0;

    for (int each = 0; each < odi_queue_drain_batches(queue); each++)
        offered += odi_drain_batch_offered(&queue->batches[each]);
    return offered;
}

static void take_back(od_queue *queue, odi_drain_batch *batch)
{
    queue->back = (uint8_t)(queue->back + odi_drain_batch_take_back(batch, is_here(batch->owner)));
}

void odi_queue_take_back(od_queue *queue)
{
    for (int each = 0; each < odi_queue_drain_batches(queue); each++)
        take_back(queue, &queue->batches[each]);
}

bool odi_queue_pop_batch(od_queue *queue, odi_entry *entry)
{
    if (queue->back == 0)
        return false;
    odi_drain_batch *batch = queue->batches;

    while (!odi_drain_batch_pop(batch, entry)) /* ends: `back` is not 0, so a batch has a job that was taken back */
        batch++;
    queue->back--;
    return true;
}

bool odi_queue_peek(od_queue *queue, odi_entry *entry)
{
    return odi_fifo_peek(&queue->line, entry) ||
           (odi_inbox_empty_into(&queue->inbox, &queue->line) &&
            odi_fifo_peek(&queue->line, entry));
}

void odi_queue_call_in(od_queue *queue)
{
    uint16_t takes = ++queue->takes;
    odi_entry next;

    if (queue->gate.held < 2 || queue->early.count > 0 || queue->back > 0)
        return;
    for (int each = 0; each < odi_queue_drain_batches(queue); each++) {
        odi_drain_batch *batch = &queue->batches[each];

        if (ODI_UNLIKELY(batch->owner != NULL && (uint16_t)(takes - batch->since) > PASSED_OVER))
            take_back(queue, batch);
    }
    if (queue->back == 0 && (!odi_queue_peek(queue, &next) || odi_entry_is_barrier(next)))
        odi_queue_take_back(queue);
}

/* ---- called by the drainer ---- */

static odi_drain_batch *free_batch(od_queue *queue)
{
    odi_drain_batch *empty = NULL;

    for (int each = odi_queue_drain_batches(queue) - 1; each >= 0; each--) {
        odi_drain_batch *batch = &queue->batches[each];

        if (batch->owner != NULL)
            continue;
        if (odi_drain_batch_count(batch) > 0)
            return batch;
        empty = batch;
    }
    return empty;
}

/* Whether an entry may go into a drain batch. Sync callers, which have no record, and barriers are taken
 * singly. */
static bool belongs(const od_queue *queue, odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    return record != NULL &&
           (queue->gate.barriers == 0 || !(odi_record_key(record) & ODI_KEY_BARRIER));
}

static void fill(od_queue *queue, odi_drain_batch *batch, int32_t most)
{
    odi_entry next;

    odi_drain_batch_clear(batch);
    while (batch->end < most && queue->early.count == 0 && odi_fifo_peek(&queue->line, &next) &&
           belongs(queue, next))
        (void)odi_fifo_pop(&queue->line, &batch->entries[batch->end++]);
}

void odi_queue_fill_batch(od_queue *queue, odi_taken *taken, const od_scope *drainer)
{
    int32_t most = ODI_DRAIN_BATCH_MOST;

    if (queue->gate.width != 1) {
        int32_t half = queue->line.count > 2 * ODI_DRAIN_BATCH_MOST ? ODI_DRAIN_BATCH_MOST
                                                             : (int32_t)queue->line.count / 2;

        most = queue->reach;
        most = most < half ? most : half;
    }
    if (most == 0 || queue->raised != 0 || queue->pending_limit != 0 || queue->gate.exclusive ||
        queue->children > 0)
        return;
    have_batches(queue);
    odi_drain_batch *batch = free_batch(queue);
    if (batch == NULL)
        return;
    if (odi_drain_batch_count(batch) == 0) {
        if (queue->back > 0)
            return; /* another drain batch's returned jobs are older */
        fill(queue, batch, most);
        if (batch->end == 0)
            return;
    } else
        queue->back = (uint8_t)(queue->back - odi_drain_batch_count(batch));
    batch->owner = drainer;
    batch->since = queue->takes;
    taken->batch = batch;
    odi_drain_batch_offer(batch);
}

void odi_queue_put_down(od_queue *queue, odi_taken *taken)
{
    if (taken->batch != NULL) {
        /* A drainer that other work calls away has not claimed all jobs. It is the owner, so no fence is
         * needed. */
        queue->back = (uint8_t)(queue->back + odi_drain_batch_take_back(taken->batch, true));
        taken->batch->owner = NULL;
    }
    taken->batch = NULL;
}

void odi_queue_measure(od_queue *queue, uint64_t ticks)
{
    if (ticks < od_loop_unit())
        queue->reach = queue->reach >= ODI_DRAIN_BATCH_MOST / 2 ? ODI_DRAIN_BATCH_MOST - 1 : (uint8_t)(2 * queue->reach + 1);
    else if (ticks > LONG_UNITS * od_loop_unit())
        queue->reach = 0;
}
