/* callers.h — threads that take a permit of a queue and return it. No lock is held at these calls. */
#ifndef ODI_GATE_CALLERS_H
#define ODI_GATE_CALLERS_H

#include "gate/settle.h"

#pragma GCC visibility push(hidden)

/* Takes a permit without waiting, if no entry is before the caller. */
bool odi_queue_enter_at_once(od_queue *queue, bool exclusive);

/* Waits in the wait queue for a permit; after 100 ms it checks for a cycle of waits. `through`: the queue
 * that targets this queue and whose permit the caller holds, or NULL. */
void odi_queue_wait_for_permit(od_queue *queue, bool exclusive, od_queue *through);

/* sync.c: begins a scope like a drainer's if all permits are free, in the queue and its targets. Otherwise it
 * takes none. od_queue_sync_end ends the scope. */
bool odi_queue_try_enter(od_queue *queue, bool exclusive, od_scope *scope);

void odi_queue_give_permit(od_queue *queue, bool exclusive);

/* Returns a permit in two steps, for a caller that returns several. Without workers the consequences run on
 * the calling thread and may wait for any of the permits. `over`: the queue has been released. */
odi_settlement odi_queue_leave(od_queue *queue, bool exclusive, bool *over);

/* In a forked child: permits that the parent's jobs hold beyond their end are not the child's to return. */
void odi_holds_forked(void);

#pragma GCC visibility pop

#endif
