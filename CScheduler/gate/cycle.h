/* cycle.h — closures that wait for each other in a circle: found in every build, when the last of them has
 * waited for 100 ms (callers.c, wait.c).
 *
 * A thread that waits for a place in a queue, or for jobs to end, is listed together with its scopes, which do
 * not change while it waits. It is stuck if one of the queues that it waits for, or a target of that queue, is
 * held alone by a listed thread that is stuck: by a closure of a serial queue, or by a barrier. From the new wait
 * the search goes back to the waits that need what it holds. If it comes to the new wait, none of them goes on.
 *
 * A circle of syncs traps. If a wait for jobs is among them, a cancel or a deadline may still end it: then the
 * engine warns.
 *
 * Owns     the list, under a lock of its own; order: that lock, group, queue.
 * Threads  anyone.
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
    od_queue *queue;         /* whose place, or whose jobs, it waits for; may be NULL with a group */
    struct odi_group *group; /* whose jobs; NULL: the queue's */
    bool in_sync;            /* it waits for a place of the queue */
    od_scope *scopes;
    struct odi_cycle_wait *after;
    /* Of the search that found it: what it waits for is held by `next`, in the queue `held`. */
    struct odi_cycle_wait *next, *reached; /* and the one found after it */
    od_queue *held;
} odi_cycle_wait;

/* The calling thread waits in sync for the queue. Traps when that would never end. */
void odi_cycle_enter_sync(odi_cycle_wait *wait, od_queue *wanted);

/* It waits for jobs: of the group, which was entered by hand for a job of the queue, if that is not NULL; or of
 * the queue. Warns when none of them can begin before this wait ends, once for waits of one job that follow
 * each other. No lock is held. */
void odi_cycle_enter(odi_cycle_wait *wait, struct odi_group *group, od_queue *queue);
void odi_cycle_leave(odi_cycle_wait *wait);

/* In a forked child: the others who waited are not there. */
void odi_cycles_forked(void);

#pragma GCC visibility pop

#endif
