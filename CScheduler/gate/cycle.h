/* cycle.h — serial queues whose syncs wait for each other in a circle: found in every build,
 * when the last of them has waited for 100 ms (callers.c).
 *
 * A sync caller that waits for a serial queue is listed together with its scopes, which do not
 * change while it waits. From the queue that it wants, the search goes to the caller that
 * holds that queue's place and waits itself, and on to what that one wants; if it comes to
 * the first caller, none of them would ever go on.
 *
 * Owns     the list, under a lock of its own; order: that lock, queue.
 * Threads  anyone.
 */
#ifndef ODI_GATE_CYCLE_H
#define ODI_GATE_CYCLE_H

#include "base/invariant.h"
#include "gate/queue.h"

#pragma GCC visibility push(hidden)

typedef struct odi_sync_wait {
    od_queue *wanted;
    od_scope *scopes;
    struct odi_sync_wait *after;
} odi_sync_wait;

/* The calling thread is waiting for the queue. Traps when that would never end. */
void odi_cycle_enter(odi_sync_wait *wait, od_queue *wanted);
void odi_cycle_leave(odi_sync_wait *wait);

/* In a forked child: the others who waited are not there. */
void odi_cycles_forked(void);

#pragma GCC visibility pop

#endif
