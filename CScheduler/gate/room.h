/* room.h — submitters of all queues that wait for room. A wait must never take the last thread or close a
 * cycle of full queues.
 *
 * The job of a waiting submitter is in the wait queue already. Continuing without room loses nothing: the
 * wait queue exceeds its limit by one job.
 *
 * A wait ends by odi_limit_admit. It ends immediately if the waits lead back to a queue whose permit the
 * submitter holds. The monitor ends it if every thread of the submitter's pool waits while work is pending.
 *
 * Owns     the list, under its own lock; lock order: this lock, queue.
 * Threads  odi_room_await: the submitter. odi_room_let_on: the monitor.
 */
#ifndef ODI_GATE_ROOM_H
#define ODI_GATE_ROOM_H

#include "gate/wait_node.h"

#pragma GCC visibility push(hidden)

/* Sleeps until there is room, or continues beyond the limit. The node is in the queue's list of submitters.
 * No lock is held. */
void odi_room_await(od_queue *queue, odi_wait_node *mine);

/* In a forked child: forgets the waiters of other threads. */
void odi_room_forked(void);

#pragma GCC visibility pop

#endif
