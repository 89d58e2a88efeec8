/* cycle.h — detection of closures that wait for each other in a cycle, in every build, after 100 ms of the
 * last wait (callers.c, wait.c).
 *
 * A thread that waits for a permit or for jobs to end is listed with its scopes, which do not change during
 * the wait. A waiter is stuck if another stuck waiter holds alone a queue that it waits for, or one of that
 * queue's targets. "Alone" means by a closure of a serial queue, or by a barrier. From the new wait the
 * search follows the waits that need its permits. If it returns to the new wait, none of these threads can
 * continue.
 *
 * A cycle of syncs traps. If the cycle includes a wait for jobs, a cancel or a deadline may still end it, so
 * the engine only warns.
 *
 * Owns     the list, under its own lock; lock order: this lock, group, queue.
 * Threads  any thread.
 */
#ifndef ODI_GATE_CYCLE_H
#define ODI_GATE_CYCLE_H

#include "base/invariant.h"
#include "gate/queue.h"
#include "os/clock.h"

#pragma GCC visibility push(hidden)

struct odi_group;

#define ODI_CYCLE_LOOK_AFTER_NS (100 * ODI_MILLISECOND)

typedef struct odi_cycle_wait {
    od_queue *queue;         /* the queue whose permit or jobs it waits for; may be NULL with a group */
    struct odi_group *group; /* the group whose jobs it waits for; NULL: the queue's jobs */
    bool in_sync;            /* it waits for a permit of the queue */
    od_scope *scopes;
    struct odi_cycle_wait *after;
    /* Set by a search: `next` holds the awaited queue, or a target of it, named by `held`. */
    struct odi_cycle_wait *next, *reached; /* next found wait of the search */
    od_queue *held;
} odi_cycle_wait;

/* Lists a wait in sync for the queue. Traps if the wait would never end. */
void odi_cycle_enter_sync(odi_cycle_wait *wait, od_queue *wanted);

/* Lists a wait for jobs of the queue, or of the group. If the group was entered by hand for a job of the
 * queue, `queue` is not NULL. Warns if none of the jobs can begin before this wait ends; consecutive waits of
 * one job warn once. No lock is held. */
void odi_cycle_enter(odi_cycle_wait *wait, struct odi_group *group, od_queue *queue);
void odi_cycle_leave(odi_cycle_wait *wait);

/* In a forked child: forgets the waits of other threads. */
void odi_cycles_forked(void);

#pragma GCC visibility pop

#endif
