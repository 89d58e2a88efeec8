/* od_sync.h — the calling thread in a queue's order: entered by hand, beside a job that goes on, and what it is in. */
#ifndef OD_SYNC_H
#define OD_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct od_queue od_queue;

/* A scope in a queue's order; lives in the caller's frame. */
typedef struct od_scope {
    od_queue *queue;
    struct od_scope *outer;
    od_queue *beyond; /* the first of the queue's targets whose place it does not hold */
    bool holds_place;
    bool exclusive;
    bool drains; /* the engine's own, around a line's jobs */
    bool noted;  /* branches that other threads take from the caller are in it */
} od_scope;

/* Enters the queue's order on the calling thread: waits for what was submitted before where
 * the queue is limited or suspended, and holds one place of its width until sync_end. Traps
 * on a serial queue that the caller is running on. `scope` does not move in between. */
void od_queue_sync_begin(od_queue *queue, od_scope *scope);
void od_queue_sync_end(od_scope *scope);

/* The same as a barrier: waits until nothing of the queue runs, and holds back what comes
 * after until sync_end. Traps when the caller runs on the queue. */
void od_queue_sync_barrier_begin(od_queue *queue, od_scope *scope);

typedef enum od_within {
    OD_NOT_WITHIN = 0,      /* it has not begun, and is to be submitted */
    OD_BEGUN_WITHIN = 1,    /* it is what the caller does until od_queue_end_within */
    OD_CANCELLED_WITHIN = 2 /* a cancel has counted it: it is not to run */
} od_within;

/* Begins a job of the queue inside of the Swift task that awaits it, *task, where the calling worker, whose
 * own job the task is, could come to it next: nothing of the queue waits and nothing in other bands, there is a place, and
 * fewer than 64 have begun so since the task's job did. */
od_within od_queue_begin_within(od_queue *queue, void **task);
void od_queue_end_within(void);

/* The job that the calling thread runs goes on after its return: its places stay taken, of the
 * queue and of what it is on where they are limited, until od_queue_unhold is called with what
 * this returns. 0: there are no places to take. The queue is not released meanwhile. */
uint32_t od_queue_hold(od_queue *queue);
void od_queue_unhold(od_queue *queue, uint32_t places);

/* Whether the calling thread runs one of the queue's jobs, however deep. */
bool od_queue_is_current(od_queue *queue);

/* Whether it runs one of the queue's barriers, or any job of a serial queue, however deep. */
bool od_queue_is_alone(od_queue *queue);

/* The queues of the jobs that the calling thread runs, from the innermost at depth 0; NULL
 * beyond the last. */
od_queue *od_queue_of_thread(int depth);

/* The band of what the calling thread runs: its job's, and in a sync also the queue's if that is
 * higher; -1 where it runs neither. */
int od_queue_current_band(void);

/* The one among the queue's targets that the calling thread runs a barrier of, or, of a serial one, any job:
 * what waits here for the queue waits for ever. NULL: there is none. */
od_queue *od_queue_blocked_target(od_queue *queue);

OD_END_DECLS
#endif
