/* queue.h — a queue's order and limits, between its submitters and the pool.
 *
 * An *open* queue (unlimited) has no line: its jobs go straight to the pool.
 * A *closed* one keeps them in its line and gives the pool drainers instead: plain jobs
 * that take the line's jobs one after the other. Each drainer, and each sync caller whose
 * turn has come, holds one of the permits of the queue's gate (job/gate.h), which decides who may.
 *
 * States   (new) -> open     the first job finds it unlimited and not suspended: under the lock
 *          (new) -> closed   it does not; or a barrier, a target or a limit came before it
 *          open  -> closed   a barrier, suspend, set_width, a target: barrier.c
 *          A closed one stays closed. A new one has a line too, for its sync callers (`diverted`).
 *
 * What a worker meets of a queue that was closed after the push comes back to the line
 * (`early`, which is served first). A sync caller waits in the line like a job, as a *wait node*:
 * the drainer that meets it passes its place on. How that wait ends: by that drainer.
 *
 * What is submitted where nothing waits goes into the line; else it arrives in the inbox, under a lock of its own. A
 * drainer takes several short jobs into its drain batch. A job is served in this order: early, drain batches (what was taken back),
 * line, inbox.
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
 *          Q1  grant -> sync caller       release/acquire     what ran before in the line
 *          Q3  claim <-> take back   see drain_batch.h
 *          Q5  adopt -> context      acq_rel/acquire   what the queue's user keeps with it
 */
#ifndef ODI_GATE_QUEUE_H
#define ODI_GATE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "gate/drain_batch.h"
#include "gate/inbox.h"
#include "include/od_queue.h"
#include "job/count.h"
#include "job/gate.h"
#include "job/job.h"
#include "job/watch.h"
#include "os/clock.h"
#include "pool/pool.h"
#include "queue/fifo.h"
#include "worker/override.h"
#include "worker/run.h"

#pragma GCC visibility push(hidden)

#define ODI_KEYS (2 * ODI_BANDS)

/* So many drainers of one line take several jobs at a time; further ones take one. */
enum { ODI_DRAIN_BATCHES = 2 };

/* A sync caller in the line; or a submitter who waits until it is shorter (limit.h). */
typedef struct odi_wait_node {
    odi_atomic(uint32_t) granted; /* the place is the sync caller's; the line is shorter */
    bool exclusive;               /* a sync caller's barrier */
    od_queue *through;   /* the queue on this one whose place it holds already, or for which its
                          * thread earmarks a place of this one, or NULL */
    odi_entry_node node;         /* for the line */
    struct odi_wait_node *next; /* in a list of its queue */
} odi_wait_node;

typedef struct {
    odi_wait_node *first, *last;
} odi_wait_list;

static inline void odi_wait_list_append(odi_wait_list *list, odi_wait_node *node)
{
    node->next = NULL;
    *(list->first == NULL ? &list->first : &list->last->next) = node;
    list->last = node;
}

static inline odi_wait_node *odi_wait_list_take(odi_wait_list *list) /* it is not empty */
{
    odi_wait_node *first = list->first;

    list->first = first->next;
    return first;
}

/* What a queue needs that has a limit, a target, or queues on it: made with the first of these, and there until
 * the queue is over. */
typedef struct {
    /* See limit.c. */
    odi_wait_list submitters; /* who wait for room, so many: */
    uint32_t submitting;
    uint64_t refused;
    /* See earmark.h. Under the lock of the target, or its own if it has none. */
    odi_wait_list back;      /* holders that want it back */
    od_queue *first_awaited; /* the queues whose permit they wait for */
    uint32_t awaited; /* so many wait for a permit in this queue; written under both locks */
    od_queue *next_awaited; /* the rest under the target's lock */
    odi_wait_list callers;    /* sync callers through this one, while it is awaited */
    uint32_t callers_in_line; /* the same in the target's line */
    bool pass_ahead_is_out; /* of the queue's own lock, as pass_is_out: one for those who earmark is on its way */
    bool pass_is_ahead;     /* and waits, for a drainer of the target's */
} odi_queue_more;

struct od_queue {
    /* Constant, but for what a cancel or a target changes. */
    od_pool *pool;
    odi_atomic(od_queue *) target; /* or NULL; changes while the queue is inactive: see target.h */
    odi_queue_more *more;          /* or NULL */
    uint32_t pending_limit;        /* 0: none; see limit.h */
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
    int8_t reach;   /* a drainer takes so many jobs more than one */
    uint8_t back;   /* what drain batches hold that was taken back */
    bool released;
    bool pass_is_out;   /* that of its node is on its way, in the target's line or in the pool; see target.h */
    bool sends;         /* somebody is about to put it there */
    uint8_t pass_band;  /* what it is served in */
    uint8_t lingers_in; /* see drain.c: times that a drainer finds the line empty before it lingers */
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

/* The place of a key in `current`: no band has more than one. */
static inline odi_atomic(uintptr_t) *odi_queue_current(od_queue *queue, uint32_t key)
{
    return &queue->current[(key & ODI_KEY_BAND) + (key / ODI_KEY_BARRIER) * ODI_BANDS];
}

/* Its records without a group serve no more. Lock held, and the inbox's. */
void odi_queue_close_current(od_queue *queue);

/* Waits in the line for a place; a checked build looks for a circle of waits. `through`: the queue
 * on this one whose place the caller holds, or NULL. Not held. */
void odi_queue_wait_for_permit(od_queue *queue, bool exclusive, od_queue *through);

/* What a drainer that holds a place has taken. */
typedef struct {
    odi_entry first;        /* a job; code 0: none */
    odi_drain_batch *batch; /* further jobs, to be claimed; NULL: none */
    int32_t batch_end;      /* where those end */
} odi_taken;

/* What follows from a change of places, width or suspension, to be done without the lock. */
typedef struct {
    uint32_t passes, band; /* for drainers, which hold places already: to be given to the pool */
    odi_reserved reserved; /* of a line in which nothing of its own waits */
} odi_settlement;

/* queue.c */
extern const odi_record_owner odi_queue_owner;
odi_record *odi_queue_make_record(void *queue, struct odi_group *group, uint32_t key);
/* Nothing was accepted where these return anything but OD_OK: see odi_pool_admit. */
od_status odi_queue_submit(od_queue *queue, struct odi_group *group, uint32_t key, odi_entry job);
/* Without a group or a limit, and for who owns a node, and with `reserve` a record (odi_records_reserve): it is accepted
 * whatever memory there is. Discarded where the reserve is spent, memory short, and every record of the queue's closed by
 * cancels with jobs that run on. */
void odi_queue_submit_node(od_queue *queue, uint32_t key, odi_entry job, odi_entry_node *node, bool *reserve);
/* The same through the limit of a queue that has one. */
od_status odi_queue_enter(od_queue *queue, struct odi_group *group, uint32_t key, odi_entry job);

/* The queue as a set to be waited for. */
odi_set odi_queue_set(od_queue *queue);

/* The record to count such a job on: NULL when memory is short, or the pool admits none. It is asked again after the
 * count (odi_record_is). */
odi_record *odi_queue_find_record(od_queue *queue, struct odi_group *group, uint32_t key);
/* The same where there was none: begins the pool, or another thread has done so since. NULL with OD_OK: memory is
 * short. */
odi_record *odi_queue_admit(od_queue *queue, struct odi_group *group, uint32_t key, od_status *status);
uint32_t odi_queue_key(od_queue *queue, int32_t band, uint32_t flags);
void odi_queue_reap(od_queue *queue);

/* Lock held; releases it. */
uint64_t odi_queue_cancel(od_queue *queue);

/* Calls `visit` for every queue there ever was; one that is over has no records. */
void odi_queues_visit(void (*visit)(void *queue, void *context), void *context);

/* divert.c, drain.c. The lock is held where it says so. */
/* False: the job is cancelled; or memory is short, and it has no node (NULL). Not held. */
bool odi_queue_push(od_queue *queue, odi_entry labelled, odi_entry_node *node);
void odi_queue_divert(odi_record *record, odi_entry job);
odi_settlement odi_queue_settle(od_queue *queue);            /* held: see below */
void odi_queue_carry_out(od_queue *queue, odi_settlement settlement); /* not held */
void odi_queue_settle_and_release(od_queue *queue); /* held; releases it, and does what follows */
bool odi_entry_is_cancelled(odi_entry entry);                /* held */
void odi_queue_start_drainers(od_queue *queue, uint32_t passes, uint32_t band); /* not held */
bool odi_queue_is_clear(const od_queue *queue);              /* held */
bool odi_queue_has_more(od_queue *queue); /* held: `more` is there from here on; false: memory is short */
void odi_queue_purge(od_queue *queue);                       /* not held */

/* Counts and queues a job of a diverted record without a group in one critical section. False: it has
 * to be counted and pushed as usual (cancelled, memory is short). */
bool odi_queue_submit_to_line(od_queue *queue, odi_record *record, odi_entry job);

/* Sees to a drainer after a push, where the inbox wants one. Not held. */
void odi_queue_see_to_drainers(od_queue *queue);

/* Takes back the reserved counts of the queue's inbox, whichever generation it is in. Not held. */
void odi_queue_return_reserved(od_queue *queue);

/* barrier.c. From here on the queue keeps its line, so that a barrier can be pushed: it waits
 * for what is outside. Not held. */
void odi_queue_keep_line(od_queue *queue);
void odi_queue_close_if_open(od_queue *queue); /* held: a new one may still open */
void odi_queue_end_barrier(od_queue *queue); /* not held: the place is kept */
void odi_queue_before_drained(od_queue *queue);

/* drain_batches.c. The lock is held. */
static inline int odi_queue_drain_batches(const od_queue *queue) /* so many there are */
{
    return queue->batches != NULL ? ODI_DRAIN_BATCHES : 0;
}
void odi_queue_free(void **part); /* of a queue: a fork in between leaves its child nothing that is freed */
void odi_queue_fill_batch(od_queue *queue, odi_taken *taken, const od_scope *drainer);
void odi_queue_put_down(odi_taken *taken); /* its drainer claims no more of it */
void odi_queue_take_back(od_queue *queue); /* whatever is not claimed of any drain batch */
void odi_queue_call_in(od_queue *queue); /* the same, if a drainer's next job is among it */
bool odi_queue_pop_batch(od_queue *queue, odi_entry *entry);
bool odi_queue_peek(od_queue *queue, odi_entry *entry); /* the line's next, without the drain batches' */
int32_t odi_queue_offered(const od_queue *queue); /* what is not claimed: it becomes less */
void odi_queue_measure(od_queue *queue, uint64_t ticks); /* what the last take took */
void odi_queue_drop_batches(od_queue *queue); /* nobody else is there */

/* override.c. The lock is held where nothing else is said. */
uint32_t odi_queue_waiting(od_queue *queue); /* entries of the line; the inbox's are a hint */
/* The next so many entries are served in this band, if it is higher. odi_queue_settle follows. */
void odi_queue_raise(od_queue *queue, uint32_t band, uint32_t entries);
void odi_queue_raise_waiting(od_queue *queue, uint32_t band); /* all that waits now */
void odi_queue_raise_all(od_queue *queue, uint32_t band); /* the same; not held */
/* Of a raised line: so many entries came in front, or (below 0) have left. */
void odi_queue_pass_raised(od_queue *queue, int32_t entries);
void odi_queue_limit_raised(od_queue *queue, uint64_t waiting);
void odi_queue_give_passes(od_queue *queue, odi_settlement *settlement);
/* The drainer's slice of its worker is over: it waits in the pool. Returns how many passes of this
 * band are wanted there; those that lie there already may do. Not held. */
uint32_t odi_queue_requeue_drainer(od_queue *queue, uint32_t *band, odi_taken *taken);
/* What a pass says of itself: the band that it was given in, and whether it lies in the queue's node. */
typedef struct {
    uint32_t band;
    bool of_node;
} odi_pass;
/* One has come up. False: nobody waits for it; or the line is not in so
 * high a band any more, and the settlement (may be NULL: then it serves) says what follows. */
bool odi_queue_begin_drainer(od_queue *queue, odi_pass pass, bool *begins, odi_settlement *settlement);
/* The drainer takes the place that the settlement gives to another one. False: it gives none, or several wait. */
bool odi_queue_keep_drainer(od_queue *queue, odi_settlement *settlement);
/* A pass for the queue's drainers. */
odi_entry odi_queue_pass(od_queue *queue, odi_pass pass);
bool odi_is_pass(odi_entry entry);
od_queue *odi_queue_of_pass(odi_entry pass);
bool odi_queue_has_passes(const od_queue *queue);
void odi_queue_forget_drainers(od_queue *queue);

/* Names what the records of a set that have jobs outstanding are served in, and begins the override.
 * The set's lock is not held. */
void odi_queue_override(odi_override *override, odi_watch *watch, odi_record **first, odi_record_walk *next);

/* The band of what the calling thread does: its job's; outside of jobs the highest on the main
 * thread, and the middle one elsewhere. */
uint32_t odi_band_of_thread(void);

/* line.c. The lock is held. What may be taken by who holds so many permits itself: */
odi_front odi_queue_front(od_queue *queue, int32_t own);
/* Takes what is next, if a permit that the caller holds may be used for it; of the sync callers alone,
 * who have it then. */
bool odi_queue_take(od_queue *queue, odi_entry *entry, bool callers);

/* callers.c: what marks a line's entry as a sync caller; it is never called. */
void odi_wait_node_mark(void *unused);

/* The drainers of queues on this one are the engine's own entries too. */
static inline bool odi_is_wait_node(odi_entry entry)
{
    return entry.code == odi_job_plain(odi_wait_node_mark, NULL, ODI_TAG_INTERNAL).code;
}

static inline odi_wait_node *odi_wait_node_of(odi_entry entry)
{
    return (odi_wait_node *)(uintptr_t)entry.context;
}

static inline odi_entry odi_wait_node_entry(odi_wait_node *node)
{
    return odi_job_plain(odi_wait_node_mark, node, ODI_TAG_INTERNAL);
}

static inline bool odi_entry_is_barrier(odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    if (record != NULL)
        return (odi_record_key(record) & ODI_KEY_BARRIER) != 0;
    return odi_is_wait_node(entry) && odi_wait_node_of(entry)->exclusive;
}

/* Waits in the line for a place on behalf of the calling thread. Not held. */
void odi_queue_take_permit(od_queue *queue, bool exclusive, od_queue *through);
void odi_queue_give_permit(od_queue *queue, bool exclusive); /* gives it up. Not held */

/* The same in two steps, for who gives up several: where there are no workers, what follows runs on
 * the calling thread, and may wait for any of them. Not held, both. */
typedef struct {
    odi_settlement settlement;
    bool over;
} odi_left;
odi_left odi_queue_leave(od_queue *queue, bool exclusive);
/* The caller, which was asleep or about to be, goes on; its frame may be gone on return. */
void odi_wait_node_grant(odi_wait_node *waiting);
/* A sync caller goes into the line. Held. */
void odi_queue_line_up_caller(od_queue *queue, odi_wait_node *caller);

/* Gives the calling worker's place over and sleeps until it is granted; `what` the wait is, for reports. Not
 * held. */
void odi_queue_await_grant(od_queue *queue, odi_wait_node *waiting, const char *what);

#pragma GCC visibility pop

#endif
