/* line.h — a queue's wait queue: its entries and their order, and which of them the queue's gate admits.
 *
 * A job that a worker finds after its queue was closed goes back to the wait queue, into `early`, which is
 * served first. A sync caller waits like a job, as a *wait node*. The drainer that reaches the node passes
 * its permit to the caller, which ends the wait.
 *
 * A job submitted while the wait queue is empty goes directly into it; other jobs go to the inbox, under its
 * own lock. A drainer takes several short jobs into a drain batch. Jobs are served in this order: early, jobs
 * taken back from drain batches, wait queue, inbox.
 *
 * The queue's lock is held at all calls.
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

/* The jobs that a drainer with a permit has taken. */
typedef struct {
    odi_entry first;        /* a job; code 0: none */
    odi_drain_batch *batch; /* further jobs to be claimed; NULL: none */
} odi_taken;

/* At most this many drainers of one queue take several jobs at a time; other drainers take one. */
enum { ODI_DRAIN_BATCHES = 2 };

static inline int odi_queue_drain_batches(const od_queue *queue) /* number of drain batches that exist */
{
    return queue->batches != NULL ? ODI_DRAIN_BATCHES : 0;
}
void odi_queue_fill_batch(od_queue *queue, odi_taken *taken, const od_scope *drainer);
void odi_queue_put_down(od_queue *queue, odi_taken *taken); /* its drainer claims no further jobs */
void odi_queue_take_back(od_queue *queue); /* takes unclaimed jobs of all drain batches back */
void odi_queue_call_in(od_queue *queue); /* takes them back if a drainer's next job is among them */
bool odi_queue_pop_batch(od_queue *queue, odi_entry *entry);
bool odi_queue_peek(od_queue *queue, odi_entry *entry); /* the next entry of the wait queue, without drain
                                                           batches */
int32_t odi_queue_offered(const od_queue *queue); /* number of unclaimed jobs, which may decrease */
void odi_queue_measure(od_queue *queue, uint64_t ticks); /* records the duration of the last take */
void odi_queue_drop_batches(od_queue *queue); /* no other thread uses the queue */

/* ---- line.c ---- */

bool odi_queue_is_clear(const od_queue *queue);

/* Returns which entry a thread that holds `own` permits may take. */
odi_front odi_queue_front(od_queue *queue, int32_t own);
/* Takes the next entry if a permit of the caller may be used for it. With `callers`, only a sync caller,
 * which then owns the permit. */
bool odi_queue_take(od_queue *queue, odi_entry *entry, bool callers);

#pragma GCC visibility pop

#endif
