/* queue.h — a queue's order and limits, between its submitters and the pool: what a queue is, and how long.
 *
 * An *open* queue (unlimited) has no line: its jobs go straight to the pool.
 * A *closed* one keeps them in its line and gives the pool drainers instead: plain jobs
 * that take the line's jobs one after the other. Each drainer, and each sync caller whose
 * turn has come, holds one of the permits of the queue's gate (job/gate.h), which decides who may.
 *
 * The folder's files, from bottom to top; none calls one above it. A pass calls drain.c by a function that
 * lifecycle.c names (`odi_drain`), and a record its owner (job/record.h): these are the two calls upwards.
 *
 *     the thread       asking.c, current.c (what it is in), wait_node.c (asleep for a turn), cycle.c, semaphore.c
 *     the line         inbox.h, drain_batches.c, earmark.c, override.c (raises, passes), line.c (what is next)
 *     the queue        queue.c (its records' chain, its end)
 *     what follows     settle.c (whom a change lets go on: drainers, called through targets)
 *     changes          barrier.c (it keeps its line), target.c, cancel.c, callers.c and sync.c (permits)
 *     jobs             records.c (counted, put into the line), room.c, limit.c, submit.c, batch.c
 *     who is served    drain.c, wait.c, within.c, timer.c, report.c, control.c, lifecycle.c
 *
 * States   (new) -> open     the first job finds it unlimited and not suspended: under the lock
 *          (new) -> closed   it does not; or a barrier, a target or a limit came before it
 *          open  -> closed   a barrier, suspend, set_width, a target: barrier.c
 *          A closed one stays closed. A new one has a line too, for its sync callers (`diverted`).
 *
 * Memory   A job is accepted when it is counted on its record and lies where it waits; where there is no
 *          memory for either, the count is withdrawn and the job is still its submitter's (OD_NO_MEMORY).
 *          Sync callers, timers' calls and drainers' passes are never refused: each has a node
 *          (queue/entry_node.h) for the line, or for the pool. For passes a queue has one node; while it is out
 *          further ones wait, and follow when it comes up. What the pool was given before its
 *          queue was closed, and the line has no memory for, counts as begun.
 *          Where nothing waits, the next job lies in a node of the queue's (`idle`), and a line whose last drainer
 *          leaves keeps no memory: a queue that is used now and then is its handle and its record. (A busy one keeps
 *          its block: queue/fifo.h.)
 *
 * Owns     its records, its line, its waiters. A queue's memory is never unmapped or reused
 *          as anything else.
 * Locks    watch.lock guards everything below it; order: group, queue, inbox, cancel.
 *
 * Edges    L2  submit <-> close    light/heavy fence   as in job/record.h
 *          L6  admit -> submit   release/acquire      the fields of the current record
 *          Q5  adopt -> context      acq_rel/acquire   what the queue's user keeps with it
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

/* What a queue needs that has a limit, a target, or queues on it: made with the first of these, and there until
 * the queue is over. */
typedef struct {
    /* See limit.c. */
    odi_wait_list submitters; /* who wait for room, so many: */
    uint32_t submitting;
    uint64_t refused;
    uint64_t beyond; /* submitters that went on without room: see room.h */
    /* See earmark.h. Under the lock of the target, or its own if it has none. */
    odi_wait_list back;      /* holders that want it back */
    od_queue *first_awaited; /* the queues whose permit they wait for */
    uint32_t awaited; /* so many wait for a permit in this queue; written under both locks */
    od_queue *next_awaited; /* the rest under the target's lock */
    odi_wait_list callers;    /* sync callers through this one, while it is awaited */
    uint32_t callers_in_line; /* the same in the target's line */
    bool pass_ahead_is_out; /* of the queue's own lock, as pass_is_out: one for those who earmark is on its way */
    bool pass_is_ahead;     /* and waits, for a drainer of the target's */
    uint32_t held_deep; /* places that tasks hold of it through long chains: see od_queue_hold */
} odi_queue_more;

struct od_queue {
    /* Constant, but for what a cancel or a target changes. */
    od_pool *pool;
    odi_atomic(od_queue *) target; /* or NULL; changes while the queue is inactive: see target.h */
    odi_queue_more *more;          /* or NULL */
    uint32_t pending_limit;        /* 0: none; see limit.c */
    uint8_t band;
    uint8_t overflow; /* an od_overflow */
    bool shared;
    odi_atomic(void *) context; /* its user's, adopted once */
    /* The record without a group, per key: the newest. Odd: it serves no more, or there is none. */
    odi_atomic(uintptr_t) current[ODI_KEYS];
    odi_record *records; /* all of them; cancelled ones, behind the others, serve again */

    ODI_LINE_ALIGNED odi_watch watch;
    odi_fifo line;

    odi_gate gate; /* its permits: drainers, sync callers and tasks hold them */
    /* See drain_batches.c. */
    odi_drain_batch *batches; /* ODI_DRAIN_BATCHES of them while the line is in use; NULL: none was needed yet */
    uint16_t takes; /* by drainers */
    uint8_t reach;  /* a drainer takes so many jobs more than one */
    uint8_t back;   /* what drain batches hold that was taken back */
    bool released;
    bool pass_is_out;   /* that of its node is on its way, in the target's line or in the pool; see target.h */
    bool sends;         /* somebody is about to put it there */
    uint8_t pass_band;  /* what it is served in */
    uint8_t spin_backoff; /* see drain.c: times that a drainer finds the line empty before it lingers */
    uint8_t raised;     /* the bands of which some are overridden: see override.c */

    odi_fifo early;
    /* See override.c. */
    uint32_t drainers_waiting;          /* drainers among them that wait in the pool */
    uint32_t passes[ODI_BANDS];         /* what waits there for drainers' sake, by band */
    uint32_t overridden[ODI_BANDS - 1]; /* so many of the next entries are served in that band */
    /* Under the lock of its target, or its own if it has none. See target.h. */
    odi_entry_node idle;           /* for the line's first, where nothing waits; the lock of the queue */
    odi_entry_node pass;           /* see target.h, as the rest */
    uint32_t children;     /* queues that have this one as their target */
    uint32_t child_passes; /* passes of theirs in the line, which a limit does not count */
    char label[OD_LABEL_BYTES];

    ODI_LINE_ALIGNED odi_inbox inbox;
    odi_record *before; /* from here on the chain's jobs may be outside of the line; the lock of the queue */
    void *link_of_the_arena;
};

_Static_assert(sizeof(od_queue) == 512, "a queue's handle is light");

extern odi_arena odi_queues;

/* The next in the chain of targets, shared or not. */
static inline od_queue *odi_target_next(od_queue *queue)
{
    /* relaxed: constant once the queue is active, which whoever runs its jobs has seen */
    return odi_load_relaxed(&queue->target);
}

/* The queue whose line the queue's drainers pass; NULL: they go to the pool. */
static inline od_queue *odi_target_gate(od_queue *queue)
{
    od_queue *target = odi_target_next(queue);

    return target != NULL && !target->shared ? target : NULL;
}

/* The place of a key in `current`: no band has more than one. */
static inline odi_atomic(uintptr_t) *odi_queue_current(od_queue *queue, uint32_t key)
{
    return &queue->current[(key & ODI_KEY_BAND) + (key / ODI_KEY_BARRIER) * ODI_BANDS];
}

#define ODI_CURRENT_NONE ((uintptr_t)1) /* in `current` */

/* The queue as a set to be waited for. */
static inline odi_set odi_queue_set(od_queue *queue)
{
    return (odi_set){&queue->watch, &queue->records, odi_record_next_of_queue, ODI_COUNTS_KNOWN_TO_QUEUE, NULL};
}

/* Lock held: a stop's last cancel, which takes it, comes later, or the stop is seen. */
static inline bool odi_queue_is_past_deadline(const od_queue *queue)
{
    return odi_load_relaxed(&queue->pool->team.attention) & ODI_CANCELLING; /* relaxed: the lock; or a hint */
}

/* `more` is there from here on. False: memory is short. Lock held. */
bool odi_queue_has_more(od_queue *queue);

/* Frees a part of a queue: a fork in between leaves its child nothing that is freed. Lock held. */
void odi_queue_free(void **part);

/* Its records without a group serve no more. Lock held, and the inbox's. */
void odi_queue_close_current(od_queue *queue);

/* The chain: those in use in front, behind them those that a cancel has closed, of which there
 * may be thousands. Lock held, both. */
void odi_queue_put_in_front(od_queue *queue, odi_record *record);
void odi_queue_take_off(odi_record *record);

/* Takes a record off and frees it if it is orphaned and empty. It may be in another generation by
 * now, or be taken off already: then its queue is another one. */
void odi_queue_reap_record(od_queue *queue, odi_record *record);

/* Ends a queue that was released, if nothing is left that could touch it. Without locks, both. */
void odi_queue_reap(od_queue *queue);

/* The queue that had it as its target is over, or has another. */
void odi_queue_forget_child(od_queue *target);

#pragma GCC visibility pop

#endif
