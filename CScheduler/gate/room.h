/* room.h — submitters of all queues that wait for room. Such a wait must never take the last thread, and must never
 * close a circle of full queues.
 *
 * A job that a submitter waits with is in the line already. Going on without room therefore loses nothing: the
 * line is longer than its limit by one job.
 *
 * How a wait ends: by odi_limit_admit; at once, if the waits lead back to a queue whose place the submitter holds;
 * or by the monitor, when each thread of the submitter's pool waits while work does.
 *
 * Owns     the list, under a lock of its own; order: that lock, queue.
 * Threads  odi_room_await: the submitter. odi_room_let_on: the monitor.
 */
#ifndef ODI_GATE_ROOM_H
#define ODI_GATE_ROOM_H

#include "gate/wait_node.h"

#pragma GCC visibility push(hidden)

/* Sleeps until there is room, or goes on beyond the limit. The node is in the queue's list of submitters. Not held. */
void odi_room_await(od_queue *queue, odi_wait_node *mine);

/* In a forked child: the other waiters are not there. */
void odi_room_forked(void);

#pragma GCC visibility pop

#endif
