/* queue.h — a queue: order and limits between its submitters and the pool, and the lifetime of its memory.
 *
 * An *open* queue (unlimited) has no wait queue: its jobs go directly to the pool. A *closed* queue keeps its
 * jobs in its wait queue and submits drain requests to the pool. A drainer takes the jobs one after another.
 * Each drainer, and each admitted sync caller, holds a permit of the queue's gate (job/gate.h).
 *
 * The folder's files from bottom to top; no file calls one above it. Two calls go upwards: a drain request
 * calls drain.c through `odi_drain` (set by lifecycle.c), and a record calls its owner (job/record.h).
 *
 *     the thread       asking.c, current.c (its queues), wait_node.c (asleep for a grant), cycle.c, semaphore.c
 *     the wait queue   inbox.h, drain_batches.c, earmark.c, override.c (raises, requests), line.c (the next entry)
 *     the queue        queue.c (its records, its end)
 *     consequences     settle.c (drainers to call after a change, also through targets)
 *     changes          barrier.c (closing), target.c, cancel.c, callers.c and sync.c (permits)
 *     jobs             records.c (counted, pushed), room.c, limit.c, submit.c, batch.c
 *     service          drain.c, wait.c, within.c, timer.c, report.c, control.c, lifecycle.c
 *
 * States   (new) -> open     the first job finds it unlimited and not suspended: under the lock
 *          (new) -> closed   otherwise; or a barrier, a target or a limit came before
 *          open  -> closed   a barrier, suspend, set_width, a target: barrier.c
 *          A closed queue stays closed. A new queue has a wait queue for its sync callers (`diverted`).
 *
 * Memory: a job is accepted when it is counted on its record and stored where it waits. If an allocation for
 * either fails, the count is withdrawn and the submitter still owns the job (OD_NO_MEMORY). Sync callers,
 * timer calls and drain requests are never refused: each has a node (queue/entry_node.h) for the wait queue
 * or the pool. A queue has one node for drain requests. While the node is in use, further requests wait and
 * follow when a worker takes it. A job given to the pool before its queue was closed counts as begun if the
 * wait queue has no memory for it.
 *
 * An empty wait queue takes its next job in the queue's own node (`idle`). When its last drainer leaves, the
 * wait queue frees its memory; a rarely used queue is only its handle and its record. A busy queue keeps its
 * block (queue/fifo.h).
 *
 * Owns     its records, its wait queue, its waiters. A queue's memory is never unmapped or used for
 *          another type.
 * Locks    watch.lock protects everything below it; lock order: group, queue, inbox, cancel.
 *
 * Edges    L2  submit <-> close    light/heavy fence   as in job/record.h
 *          L6  admit -> submit   release/acquire      the fields of the current record
 *          Q5  adopt -> context      acq_rel/acquire   the user's data behind the pointer
 */
#ifndef ODI_GATE_QUEUE_H
#define ODI_GATE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "gate/drain_batch.h"
#include "gate/inbox.h"
#include "gate/wait_node.h"
#include "include/od_queue.h"
#include "job/arena.h"
#include "job/count.h"
#include "job/gate.h"
#include "job/watch.h"
#include "pool/pool.h"
#include "queue/fifo.h"

#pragma GCC visibility push(hidden)

#define ODI_KEYS (2 * ODI_BANDS)

/* State of a queue that has a limit, a target, or child queues. Created with the first of these; freed when
 * the queue is finished. */
typedef struct {
    /* For limit.c. */
    odi_wait_list submitters; /* submitters that wait for room, and their number: */
    uint32_t submitting;
    uint64_t refused;
    uint64_t beyond; /* submitters that continued without room: see room.h */
    /* For earmark.h. Under the target's lock, or the queue's own if it has no target. */
    odi_wait_list back;      /* holders that wait for their permit */
    od_queue *first_awaited; /* list of child queues for whose permit they wait */
    uint32_t awaited; /* number of waits for a permit of this queue; written under both locks */
    od_queue *next_awaited; /* the remaining fields are under the target's lock */
    odi_wait_list callers;    /* sync callers through this queue while it is awaited */
    uint32_t callers_in_line; /* such callers in the target's wait queue */
    bool pass_ahead_is_out; /* under the queue's own lock: an earmarked drain request exists */
    bool pass_is_ahead;     /* and waits for a drainer of the target */
    uint32_t held_deep; /* permits that tasks hold through long target chains: see od_queue_hold */
} odi_queue_more;

struct od_queue {
    /* Constant, except for changes by a cancel or a target. */
    od_pool *pool;
    odi_atomic(od_queue *) target; /* or NULL; changes only while the queue is inactive: see target.h */
    odi_queue_more *more;          /* or NULL */
    uint32_t pending_limit;        /* 0: none; see limit.c */
    uint8_t band;
    uint8_t overflow; /* an od_overflow */
    bool shared;
    odi_atomic(void *) context; /* the user's pointer, adopted once */
    /* Per key: the newest record without a group. Odd: it accepts no jobs, or there is none. */
    odi_atomic(uintptr_t) current[ODI_KEYS];
    odi_record *records; /* all records; cancelled records at the end, for reuse */

    ODI_LINE_ALIGNED odi_watch watch;
    odi_fifo line;

    odi_gate gate; /* its permits, held by drainers, sync callers and tasks */
    /* For drain_batches.c. */
    odi_drain_batch *batches; /* ODI_DRAIN_BATCHES of them while in use; NULL: not needed yet */
    uint16_t takes; /* number of takes by drainers */
    uint8_t reach;  /* number of additional jobs that a drainer takes at once */
    uint8_t back;   /* number of jobs taken back from drain batches */
    bool released;
    bool pass_is_out;   /* the request with its node is in the target's wait queue or the pool; see target.h */
    bool sends;         /* a thread is about to put it there */
    uint8_t pass_band;  /* the band in which it is served */
    uint8_t spin_backoff; /* see drain.c: empty checks of a drainer before it lingers again */
    uint8_t alone_beyond; /* holds of the running barrier; the queue stays exclusive until all of them end */
    uint8_t raised;     /* bit set of raised bands: see override.c */

    odi_fifo early;
    /* For override.c. */
    uint32_t drainers_waiting;          /* called drainers that wait in the pool */
    uint32_t passes[ODI_BANDS];         /* drain requests in the pool, by band */
    uint32_t overridden[ODI_BANDS - 1]; /* this many next entries are served in that band */
    /* Under the lock of its target, or its own if it has none. See target.h. */
    odi_entry_node idle;           /* for the first entry of an empty wait queue; under the queue's lock */
    odi_entry_node pass;           /* the node of its drain request; see target.h, as the rest */
    uint32_t children;     /* queues that have this queue as their target */
    uint32_t child_passes; /* their drain requests in the wait queue, which a limit does not count */
    char label[OD_LABEL_BYTES];

    ODI_LINE_ALIGNED odi_inbox inbox;
    odi_record *before; /* from this record on, jobs may be outside the wait queue; under the queue's lock */
    void *link_of_the_arena;
};

_Static_assert(sizeof(od_queue) == 512, "a queue's handle is light");

extern odi_arena odi_queues;

/* Returns the next queue in the chain of targets, shared or not. */
static inline od_queue *odi_target_next(od_queue *queue)
{
    /* relaxed: constant once the queue is active, which every thread that runs its jobs has seen */
    return odi_load_relaxed(&queue->target);
}

/* Returns the target through whose wait queue the drain requests go; NULL: they go to the pool. */
static inline od_queue *odi_target_gate(od_queue *queue)
{
    od_queue *target = odi_target_next(queue);

    return target != NULL && !target->shared ? target : NULL;
}

/* Returns the slot of a key in `current`; no two keys share a slot. */
static inline odi_atomic(uintptr_t) *odi_queue_current(od_queue *queue, uint32_t key)
{
    return &queue->current[(key & ODI_KEY_BAND) + (key / ODI_KEY_BARRIER) * ODI_BANDS];
}

#define ODI_CURRENT_NONE ((uintptr_t)1) /* a flag in `current` */

/* Returns the queue as a set that a thread can wait for. */
static inline odi_set odi_queue_set(od_queue *queue)
{
    return (odi_set){&queue->watch, &queue->records, odi_record_next_of_queue, ODI_COUNTS_KNOWN_TO_QUEUE, NULL};
}

/* Whether a stop's deadline has passed. Lock held: a stop's last cancel takes the lock later, or the stop is
 * visible here. */
static inline bool odi_queue_is_past_deadline(const od_queue *queue)
{
    return odi_load_relaxed(&queue->pool->team.attention) & ODI_CANCELLING; /* relaxed: the lock, or a hint */
}

/* Creates `more` if needed. Returns false if an allocation fails. Lock held. */
bool odi_queue_has_more(od_queue *queue);

/* Frees a part of a queue. Safe against a concurrent fork, whose child must not see freed memory. Lock held. */
void odi_queue_free(void **part);

/* Makes the current records without a group accept no further jobs. Lock held, and the inbox's. */
void odi_queue_close_current(od_queue *queue);

/* The list of records: those in use in front, behind them up to thousands that a cancel has closed. Lock
 * held, for both functions. */
void odi_queue_put_in_front(od_queue *queue, odi_record *record);
void odi_queue_take_off(odi_record *record);

/* Removes and frees a record that is orphaned and empty. The record may be in another generation by now, or
 * may have been removed; its queue is then another one. */
void odi_queue_reap_record(od_queue *queue, odi_record *record);

/* Frees a released queue if no thread can touch it any longer. No lock is held. */
void odi_queue_reap(od_queue *queue);

/* Called when a queue with this target is freed or has got another target. No lock is held. */
void odi_queue_forget_child(od_queue *target);

#pragma GCC visibility pop

#endif
