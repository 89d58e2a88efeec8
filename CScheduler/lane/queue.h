/* queue.h — a queue's order and limits, between its submitters and the pool.
 *
 * An *open* queue (unlimited, not suspended) has no lane: its jobs go straight to the pool.
 * A *diverted* one keeps them in its lane and gives the pool drainers instead: plain jobs
 * that take the lane's jobs one after the other. Each drainer, and each sync caller whose
 * turn has come, holds one of the permits of the queue's gate (gate/state.h), which decides who may; of a suspended
 * queue, where memory is short, shortage.c.
 *
 * States   (new)    -> diverted   but for a shared one; so it stays while it has had no job
 *          open     -> diverted   suspend, set_width: the records' flag, then under the lock
 *          diverted -> open       unlimited, not suspended, lane empty: under the lock
 *
 * What a worker meets of a queue that was diverted after the push comes back to the lane
 * (`early`, which is served first). A sync caller waits in the lane like a job, as a *turn*:
 * the drainer that meets it passes its place on. How that wait ends: by that drainer.
 *
 * What is submitted arrives in the inbox, under a lock of its own; a drainer takes several
 * short jobs into its hand. A job is served in this order: early, hands (what was taken back),
 * lane, inbox, listed turns.
 *
 * Owns     its records, its lane, its waiters. A queue's memory is never unmapped or reused
 *          as anything else.
 * Locks    watch.lock guards everything below it; order: group, queue, inbox, cancel.
 *
 * Edges    L2  submit <-> divert   light/heavy fence   as in job/record.h
 *          Q1  grant -> turn       release/acquire     what ran before in the lane
 *          Q3  claim <-> take back   see hand.h
 *          Q5  adopt -> context      acq_rel/acquire   what the queue's user keeps with it
 */
#ifndef ODI_LANE_QUEUE_H
#define ODI_LANE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "gate/state.h"
#include "include/od_queue.h"
#include "job/job.h"
#include "job/record.h"
#include "job/watch.h"
#include "lane/fifo.h"
#include "lane/hand.h"
#include "lane/inbox.h"
#include "os/clock.h"
#include "pool/pool.h"
#include "worker/lend.h"
#include "worker/run.h"

#pragma GCC visibility push(hidden)

#define ODI_KEYS (ODI_KEY_BARRIER + ODI_BANDS)

/* So many drainers of one lane take several jobs at a time; further ones take one. */
enum { ODI_HANDS = 2 };

/* A sync caller in the lane; or, in the frame of its submitter or its timer, a job that the lane
 * had no memory for. */
typedef struct odi_turn {
    odi_atomic(uint32_t) granted; /* the place is the sync caller's; the job has been taken */
    bool exclusive;               /* a sync caller's barrier */
    od_queue *through;   /* the queue on this one whose place it holds already, or for which its
                          * thread lends a place of this one, or NULL */
    odi_entry entry;
    struct odi_turn *next; /* of those that the lane had no memory for */
} odi_turn;

struct od_queue {
    /* Constant. */
    od_pool *pool;
    uint32_t band;
    uint32_t pending_limit; /* 0: none; see limit.h */
    od_overflow overflow;
    bool shared;
    odi_atomic(od_queue *) target; /* or NULL; changes while the queue is inactive: see target.h */
    char label[OD_LABEL_BYTES];

    odi_atomic(void *) context; /* its user's, adopted once */

    odi_atomic(odi_record *) current[ODI_KEYS]; /* the record without a group, per key */

    ODI_LINE_ALIGNED odi_watch watch;
    odi_record *records; /* all of them; cancelled ones, behind the others, serve again */
    odi_record *newest[ODI_KEYS]; /* without a group: it serves, or did last */
    odi_fifo lane, early;
    struct odi_turn *first_turn, *last_turn; /* what the lane had no memory for: served after it */
    odi_gate gate; /* its permits: drainers, sync callers and tasks hold them */
    /* See hands.c. */
    odi_atomic(uint32_t) takes; /* by drainers; written under the lock */
    uint32_t back;              /* what hands hold that was taken back */
    odi_atomic(int32_t) reach;  /* a drainer takes so many jobs more than one; written as above */
    /* See lend.c. */
    uint32_t in_line;           /* drainers among them that wait in the pool */
    uint32_t passes[ODI_BANDS]; /* what waits there for drainers' sake, by band */
    uint32_t lent[ODI_BANDS];   /* so many of the next entries are served in that band */
    uint32_t raised;            /* the bands of which some are */
    bool released;
    uint8_t stays_in; /* see drain.c: times that a drainer finds the lane empty before it stays a moment */
    uint64_t refused; /* see limit.c */
    /* Under the target's lock. See target.h. */
    odi_turn pass_in_need;
    uint32_t stranded[ODI_BANDS];
    uint32_t children; /* queues that have this one as their target */
    uint32_t guests;   /* passes of theirs in the lane, which a limit does not count */
    /* See borrow.h. */
    odi_turn *first_back, *last_back; /* holders that want it back */
    od_queue *first_awaited;          /* the queues whose turn they wait for */
    uint32_t awaited_passes;          /* stranded ones of these */
    uint32_t passed_over[ODI_BANDS];  /* passes in the target's line since before it was awaited */
    uint32_t awaited; /* so many wait for a turn in this queue; written under both locks */
    od_queue *next_awaited; /* the rest under the target's lock */
    odi_turn *first_caller, *last_caller; /* sync callers through this one, while it is awaited */
    uint32_t callers_in_line;             /* the same in the target's line */
    odi_record *before; /* from here on the chain's jobs may be outside of the lane */
    odi_hand *hands; /* ODI_HANDS of them while the lane is in use; NULL: none was needed yet */
    odi_atomic(uint32_t) visitors; /* sync callers that entered while it was open */
    ODI_LINE_ALIGNED odi_inbox inbox;
    ODI_LINE_ALIGNED char link_of_the_arena[ODI_CACHE_LINE];
};

/* Waits in the lane for a place; a checked build looks for a circle of waits. `through`: the queue
 * on this one whose place the caller holds, or NULL. Not held. */
void odi_lane_wait_for_turn(od_queue *queue, bool exclusive, od_queue *through);

/* What a drainer that holds a place has taken. */
typedef struct {
    odi_entry first;    /* a job; code 0: none */
    odi_hand *hand;     /* further jobs, to be claimed; NULL: none */
    int32_t hand_end;   /* where those end */
} odi_lot;

/* What follows from a change of places, width or suspension, to be done without the lock. */
typedef struct {
    uint32_t passes, band; /* for drainers, which hold places already: to be given to the pool */
    odi_credits credits;   /* of a lane in which nothing of its own waits */
} odi_settlement;

/* queue.c */
extern const odi_record_owner odi_queue_owner;
odi_record *odi_queue_make_record(void *queue, struct odi_group *group, uint32_t key);
/* Nothing was accepted where these return anything but OD_OK: see odi_pool_admit. */
od_status odi_queue_submit(od_queue *queue, struct odi_group *group, uint32_t key, odi_entry job);
/* Without a group or a limit, and for who can neither wait nor run the job here. What the lane has
 * no memory for is kept in `room` until it is taken, before it runs. False: memory is short all the
 * same, and the job is still the caller's. */
bool odi_queue_submit_if_room(od_queue *queue, uint32_t key, odi_entry job, odi_turn *room);
/* The record for such a job is there, or is made now, with the pool's first thread. False: memory is short, or no
 * thread is to be had. */
bool odi_queue_has_record(od_queue *queue, uint32_t key);
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

/* lane.c, drain.c. The lock is held where it says so. */
bool odi_lane_push(od_queue *queue, odi_entry labelled);
/* The same, not held; a cancelled job has no room. */
typedef enum { ODI_PUSHED, ODI_NO_LANE, ODI_NO_ROOM } odi_pushed;
odi_pushed odi_lane_push_if_room(od_queue *queue, odi_entry labelled);
void odi_lane_divert(odi_record *record, odi_entry job);
void odi_lane_set_diverted(od_queue *queue, bool diverted);  /* held */
void odi_lane_open_if_clear(od_queue *queue);                /* held */
odi_settlement odi_lane_settle(od_queue *queue);             /* held: see below */
void odi_lane_carry_out(od_queue *queue, odi_settlement settlement); /* not held */
void odi_lane_settle_and_release(od_queue *queue); /* held; releases it, and does what follows */
bool odi_lane_is_cancelled(odi_entry entry);                 /* held */
void odi_lane_start(od_queue *queue, uint32_t passes, uint32_t band); /* not held */
bool odi_lane_is_clear(const od_queue *queue);               /* held */
void odi_lane_purge(od_queue *queue);                        /* not held */

/* Counts and queues a job of a record without a group in one critical section. False: it has
 * to be counted and pushed as usual (not diverted any more, cancelled, memory is short). */
bool odi_lane_submit(od_queue *queue, odi_record *record, odi_entry job);

/* Sees to a drainer after a push, where the inbox wants one. Not held. */
void odi_lane_see_to_drainers(od_queue *queue);

/* shortage.c: memory is short for a job. Both run or discard it, perhaps after a wait. Not held.
 * The lane has no memory for it: */
void odi_lane_push_without_memory(od_queue *queue, odi_entry labelled);
/* The same for who must not wait: what is in the lane is kept in `room`. False: there is no lane, or
 * nothing may keep the job waiting, or it is cancelled. */
bool odi_lane_keep_in(od_queue *queue, odi_turn *room, odi_entry entry);
bool odi_lane_run_if_open(od_queue *queue, odi_entry job); /* uncounted; false: there is a lane */
/* There is no record: it is counted nowhere, but by its group. */
void odi_lane_run_uncounted(od_queue *queue, struct odi_group *group, uint32_t key, odi_entry job);

/* Takes back the credits of the queue's inbox, whichever of its lives it is in. Not held. */
void odi_lane_end_credits(od_queue *queue);

/* barrier.c. From here on the queue keeps its lane, so that a barrier can be pushed: it waits
 * for what is outside. Not held. */
void odi_lane_keep(od_queue *queue);
bool odi_lane_push_barrier(od_queue *queue, odi_entry labelled); /* not held; false: not kept */
void odi_lane_end_barrier(od_queue *queue); /* not held: the place is kept */
void odi_queue_before_drained(od_queue *queue);

/* A sync caller on an open queue is counted, because a barrier waits for it. False: the queue
 * is diverted. Not held. */
bool odi_queue_visit(od_queue *queue);
void odi_queue_end_visit(od_queue *queue);

/* hands.c. The lock is held. */
static inline int odi_lane_hands(const od_queue *queue) /* so many there are */
{
    return queue->hands != NULL ? ODI_HANDS : 0;
}
void odi_lane_free_hands(od_queue *queue); /* nothing is in them, and nobody at them */
void odi_lane_fill_hand(od_queue *queue, odi_lot *lot, const od_stay *drainer);
void odi_lane_put_down(odi_lot *lot); /* its drainer claims no more of it */
void odi_lane_take_back(od_queue *queue); /* whatever is not claimed of any hand */
void odi_lane_call_in(od_queue *queue); /* the same, if a drainer's next job is among it */
bool odi_lane_pop_hand(od_queue *queue, odi_entry *entry);
bool odi_lane_peek(od_queue *queue, odi_entry *entry); /* the lane's next, without the hands' */
int32_t odi_lane_offered(const od_queue *queue); /* what is not claimed: it becomes less */
void odi_lane_measure(od_queue *queue, uint64_t ticks); /* what the last lot took */
void odi_lane_drop_hands(od_queue *queue); /* nobody else is there */

/* lend.c. The lock is held where nothing else is said. */
uint32_t odi_lane_waiting(od_queue *queue); /* entries of the lane; the inbox's are a hint */
/* The next so many entries are served in this band, if it is higher. odi_lane_settle follows. */
void odi_lane_raise(od_queue *queue, uint32_t band, uint32_t entries);
void odi_lane_raise_waiting(od_queue *queue, uint32_t band); /* all that waits now */
void odi_lane_raise_all(od_queue *queue, uint32_t band); /* the same; not held */
/* Of a raised lane: so many entries came in front, or (below 0) have left. */
void odi_lane_pass_raised(od_queue *queue, int32_t entries);
void odi_lane_limit_raised(od_queue *queue, uint64_t waiting);
void odi_lane_give_passes(od_queue *queue, odi_settlement *settlement);
/* The drainer's turn of its worker is over: it waits in the pool. True: it needs a pass of this
 * band; false: one lies there already. Not held. */
bool odi_lane_line_up(od_queue *queue, uint32_t *band, odi_lot *taken);
/* A pass of this band has come up. False: nobody is in line for it; or the lane is not in so
 * high a band any more, and the settlement (may be NULL: then it serves) says what follows. */
bool odi_lane_come_up(od_queue *queue, uint32_t band, bool *begins, odi_settlement *settlement);
/* The drainer takes the place that the settlement gives to another one. */
void odi_lane_stay_up(od_queue *queue, odi_settlement *settlement);
/* A pass for the queue's drainers, of this band. */
odi_entry odi_lane_pass(od_queue *queue, uint32_t band);
bool odi_lane_is_pass(odi_entry entry);
od_queue *odi_lane_of_pass(odi_entry pass);
bool odi_lane_has_passes(const od_queue *queue);
void odi_lane_forget_line(od_queue *queue);

/* Names what the records of a set that have jobs outstanding are served in, and begins the loan.
 * The set's lock is not held. */
void odi_lane_lend(odi_loan *loan, odi_watch *watch, odi_record **first, odi_record_walk *next);

/* The band of what the calling thread does: its job's; outside of jobs the highest on the main
 * thread, and the middle one elsewhere. */
uint32_t odi_band_of_thread(void);

/* line.c. The lock is held. What may be taken by who holds so many permits itself: */
odi_front odi_lane_front(od_queue *queue, int32_t own);
/* Takes what is next, if a permit that the caller holds may be used for it; of the sync callers alone,
 * who have it then. */
bool odi_lane_take(od_queue *queue, odi_entry *entry, bool callers);

/* turn.c: what marks a lane's entry as a sync caller; it is never called. */
void odi_lane_turn(void *unused);

/* The drainers of queues on this one are the engine's own entries too. */
static inline bool odi_lane_is_turn(odi_entry entry)
{
    return entry.code == odi_job_plain(odi_lane_turn, NULL, ODI_TAG_INTERNAL).code;
}

static inline odi_turn *odi_turn_of(odi_entry entry)
{
    return (odi_turn *)(uintptr_t)entry.context;
}

static inline bool odi_lane_is_barrier(odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    if (record != NULL)
        return (odi_record_key(record) & ODI_KEY_BARRIER) != 0;
    return odi_lane_is_turn(entry) && odi_turn_of(entry)->exclusive;
}

/* Waits in the lane for a place on behalf of the calling thread. Not held. */
void odi_lane_take_turn(od_queue *queue, bool exclusive, od_queue *through);
void odi_lane_end_turn(od_queue *queue, bool exclusive); /* gives it up. Not held */

/* The same in two steps, for who gives up several: where there are no workers, what follows runs on
 * the calling thread, and may wait for any of them. Not held, both. */
typedef struct {
    odi_settlement settlement;
    bool over;
} odi_left;
odi_left odi_lane_leave(od_queue *queue, bool exclusive);
void odi_lane_follow_up(od_queue *queue, odi_left left);
/* The caller, which was asleep or about to be, goes on; its frame may be gone on return. */
void odi_lane_grant(odi_turn *waiting);
/* A sync caller goes into the lane, from the list of its own queue. Held. */
void odi_lane_line_up_caller(od_queue *queue, odi_turn *caller);

/* Keeps what the lane has no memory for in its caller's frame. Held. */
void odi_lane_list(od_queue *queue, odi_turn *listed, odi_entry entry);
/* The oldest of those. Held: a job is in the drainer's hands from here on. */
bool odi_lane_take_listed(od_queue *queue, odi_entry *entry);

/* Gives the calling worker's place over and sleeps until it is granted; `what` the wait is, for reports. Not
 * held. */
void odi_lane_await(od_queue *queue, odi_turn *waiting, const char *what);

#pragma GCC visibility pop

#endif
