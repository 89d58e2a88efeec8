/* line.h — what stands in a queue's line, in which order, and what of it the queue's gate lets through.
 *
 * What a worker meets of a queue that was closed after the push comes back to the line
 * (`early`, which is served first). A sync caller waits in the line like a job, as a *wait node*:
 * the drainer that meets it passes its place on. How that wait ends: by that drainer.
 *
 * What is submitted where nothing waits goes into the line; else it arrives in the inbox, under a lock of its own. A
 * drainer takes several short jobs into its drain batch. A job is served in this order: early, drain batches (what was
 * taken back), line, inbox.
 *
 * Locks    the queue's, all of it.
 */
#ifndef ODI_GATE_LINE_H
#define ODI_GATE_LINE_H

#include "gate/queue.h"
#include "job/label.h"

#pragma GCC visibility push(hidden)

/* ---- entries ---- */

static inline bool odi_entry_is_barrier(odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    if (record != NULL)
        return (odi_record_key(record) & ODI_KEY_BARRIER) != 0;
    return odi_is_wait_node(entry) && odi_wait_node_of(entry)->exclusive;
}

static inline bool odi_entry_is_cancelled(odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    /* relaxed: set under the lock that the caller holds */
    return record != NULL && odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED;
}

/* ---- drain_batches.c ---- */

/* What a drainer that holds a place has taken. */
typedef struct {
    odi_entry first;        /* a job; code 0: none */
    odi_drain_batch *batch; /* further jobs, to be claimed; NULL: none */
} odi_taken;

/* So many drainers of one line take several jobs at a time; further ones take one. */
enum { ODI_DRAIN_BATCHES = 2 };

static inline int odi_queue_drain_batches(const od_queue *queue) /* so many there are */
{
    return queue->batches != NULL ? ODI_DRAIN_BATCHES : 0;
}
void odi_queue_fill_batch(od_queue *queue, odi_taken *taken, const od_scope *drainer);
void odi_queue_put_down(od_queue *queue, odi_taken *taken); /* its drainer claims no more of it */
void odi_queue_take_back(od_queue *queue); /* whatever is not claimed of any drain batch */
void odi_queue_call_in(od_queue *queue); /* the same, if a drainer's next job is among it */
bool odi_queue_pop_batch(od_queue *queue, odi_entry *entry);
bool odi_queue_peek(od_queue *queue, odi_entry *entry); /* the line's next, without the drain batches' */
int32_t odi_queue_offered(const od_queue *queue); /* what is not claimed: it becomes less */
void odi_queue_measure(od_queue *queue, uint64_t ticks); /* what the last take took */
void odi_queue_drop_batches(od_queue *queue); /* nobody else is there */

/* ---- line.c ---- */

bool odi_queue_is_clear(const od_queue *queue);

/* What may be taken by who holds so many permits itself: */
odi_front odi_queue_front(od_queue *queue, int32_t own);
/* Takes what is next, if a permit that the caller holds may be used for it; of the sync callers alone,
 * who have it then. */
bool odi_queue_take(od_queue *queue, odi_entry *entry, bool callers);

#pragma GCC visibility pop

#endif
