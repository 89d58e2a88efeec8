/* cycle.h — detection of closures that wait for each other in a cycle, in every build, after 100 ms of the
 * last wait (callers.c, wait.c).
 *
 * A thread that waits for a permit or for jobs to end is listed with its context, which does not change during
 * the wait. A waiter is stuck if
 *
 *   - stuck waiters hold a queue that it waits for, or one of that queue's targets: one of them alone, by a
 *     closure of a serial queue or by a barrier; or as many as the queue has permits;
 *   - it waits for a job or work that runs on the thread of a stuck waiter.
 *
 * The search assumes first that every listed waiter is stuck, and then removes each waiter that nothing of the
 * rest holds. If the waits of the rest lead from the new wait back to it, none of these threads can continue.
 *
 * A cycle of syncs through serial queues and barriers traps. In any other cycle a cancel, a deadline, a larger
 * width, or another thread that finishes a task may still end a wait, so the engine only warns.
 *
 * Owns     the list, under its own lock; lock order: this lock, group, queue.
 * Threads  any thread.
 */
#ifndef ODI_GATE_CYCLE_H
#define ODI_GATE_CYCLE_H

#include "base/invariant.h"
#include "gate/current.h"
#include "gate/queue.h"
#include "include/od_group.h"
#include "os/clock.h"

#pragma GCC visibility push(hidden)

struct odi_group;

#define ODI_CYCLE_LOOK_AFTER_NS (100 * ODI_MILLISECOND)

typedef struct odi_cycle_wait {
    od_queue *queue;         /* the queue whose permit or jobs it waits for; may be NULL with a group */
    struct odi_group *group; /* the group whose jobs it waits for; NULL: the queue's jobs */
    const od_awaited_work *awaited; /* the work whose end empties the group; or NULL */
    bool in_sync;            /* it waits for a permit of the queue, */
    bool exclusive;          /* as a barrier */
    odi_around around;       /* the context of its thread, */
    void *work;              /* the thread's work, */
    const odi_set_apart *below; /* and the contexts of jobs below on the stack */
    struct odi_cycle_wait *after;
    /* Set by a search. */
    bool stuck;
    struct odi_cycle_wait *next, *reached; /* `next` prevents the end of the wait; the next found wait */
    od_queue *held; /* by `next`: the awaited queue, or a target; NULL: awaited work runs on its thread */
    bool alone;     /* `next` holds it alone, or runs the work */
} odi_cycle_wait;

/* Whether a wait of the calling thread can be part of a cycle: the thread runs a job, or is in a queue. */
bool odi_cycle_may_hold(void);

/* Lists a wait in sync for the queue. Traps if the wait would never end. */
void odi_cycle_enter_sync(odi_cycle_wait *wait, od_queue *wanted, bool exclusive);

/* Lists a wait for jobs of the queue, or of the group. If the group was entered by hand for a job of the
 * queue, `queue` is not NULL; if for `work`, that is not NULL. Warns if the wait and others prevent each other's
 * end; consecutive waits of one job warn once. No lock is held. */
void odi_cycle_enter(odi_cycle_wait *wait, struct odi_group *group, od_queue *queue, const od_awaited_work *work);
void odi_cycle_leave(odi_cycle_wait *wait);

/* In a forked child: forgets the waits of other threads. */
void odi_cycles_forked(void);

#pragma GCC visibility pop

#endif
