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

/* A pass is a job that names its queue and, in the address's free bits, its band, and whether it is that of
 * the queue's node. */
typedef struct {
    uint32_t band; /* that it was given in */
    bool of_node;
} odi_pass;

enum { ODI_PASS_BAND = 7, ODI_PASS_OF_NODE = 8, ODI_PASS_BITS = ODI_PASS_BAND | ODI_PASS_OF_NODE };

_Static_assert(_Alignof(od_queue) > ODI_PASS_BITS, "a queue's address leaves room for these");

/* What a pass calls. Constant: lifecycle.c says so before there is a queue. */
extern odi_function *odi_drain;

/* For the queue's drainers. */
static inline odi_entry odi_queue_pass(od_queue *queue, odi_pass pass)
{
    uintptr_t word = (uintptr_t)queue | pass.band | (pass.of_node ? ODI_PASS_OF_NODE : 0);

    return odi_job_plain(odi_drain, (void *)word, ODI_TAG_INTERNAL);
}

static inline bool odi_is_pass(odi_entry entry)
{
    return entry.code == odi_job_plain(odi_drain, NULL, ODI_TAG_INTERNAL).code;
}

static inline od_queue *odi_queue_of_pass(void *pass)
{
    return (od_queue *)((uintptr_t)pass & ~(uintptr_t)ODI_PASS_BITS);
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
void odi_queue_put_down(odi_taken *taken); /* its drainer claims no more of it */
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

/* ---- a pending limit ---- */

/* What waits to begin, without the passes of queues on this one: these have limits of their own. Under the lock
 * none adds whom the limit holds for. */
uint64_t odi_limit_waiting(const od_queue *queue);

/* Submitters wait for room. Nobody does on a queue that is over, whose last job's submitter may still ask. */
static inline bool odi_limit_is_awaited(const od_queue *queue)
{
    return queue->pending_limit > 0 && queue->more != NULL && queue->more->submitters.first != NULL;
}

/* Lets submitters go on who have room, if without their jobs no more than `most` wait. */
void odi_limit_admit(od_queue *queue, uint32_t most);

#pragma GCC visibility pop

#endif
