/* od_sync.h — execution of the calling thread in a queue's order, and queries of the queues it runs in. */
#ifndef OD_SYNC_H
#define OD_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct od_queue od_queue;

/* A scope in a queue's order; it lives in the caller's frame. */
typedef struct od_scope {
    od_queue *queue;
    struct od_scope *outer;
    od_queue *beyond; /* the first of the queue's targets in which the scope holds no slot */
    bool holds_place;
    bool exclusive;
    bool drains; /* created by the engine, around jobs of a wait queue */
    bool noted;  /* branches that other threads take from the caller belong to it */
} od_scope;

/* Enters the queue's order on the calling thread. In a limited or suspended queue the call waits for earlier
 * jobs, and holds one slot of the width until od_queue_sync_end. Traps if the caller already runs on this
 * serial queue. `scope` must not move before od_queue_sync_end. */
void od_queue_sync_begin(od_queue *queue, od_scope *scope);

/* Leaves the scope on the thread that entered it; scopes end in the opposite order. */
void od_queue_sync_end(od_scope *scope);

/* Enters as a barrier: waits until no job of the queue runs, and delays later jobs until od_queue_sync_end.
 * Traps if the caller runs on the queue. */
void od_queue_sync_barrier_begin(od_queue *queue, od_scope *scope);

typedef enum od_within {
    OD_NOT_WITHIN = 0,      /* not begun; the caller submits the job */
    OD_BEGUN_WITHIN = 1,    /* the caller runs the job until od_queue_end_within */
    OD_CANCELLED_WITHIN = 2 /* a cancel has counted the job; it must not run */
} od_within;

/* Tries to begin a job of the queue inside the Swift task that awaits it, *task. The task must be the job of
 * the calling worker. A limited queue needs a free slot and no waiting job. Other bands must have no work; for
 * an unlimited queue its own band, too. At most 64 jobs begin this way during one job of the task. */
od_within od_queue_begin_within(od_queue *queue, void **task);
void od_queue_end_within(void);

/* Keeps the running job's slots after its return, in the queue and its limited targets, until od_queue_unhold
 * receives the returned value. A barrier stays alone until then. Returns 0 if the job holds no slot. The
 * caller must not release the queue before od_queue_unhold. */
uint32_t od_queue_hold(od_queue *queue);
void od_queue_unhold(od_queue *queue, uint32_t places);

/* Whether the calling thread runs a job of the queue, at any nesting depth. */
bool od_queue_is_current(od_queue *queue);

/* Whether the calling thread runs a barrier of the queue, or any job of a serial queue, at any nesting depth. */
bool od_queue_is_alone(od_queue *queue);

/* Returns the queue of a job that the calling thread runs; depth 0 is the innermost. Returns NULL beyond the
 * last. */
od_queue *od_queue_of_thread(int depth);

/* Returns the band of the calling thread's job. Inside a sync it is the queue's band if that is higher.
 * Returns -1 if the thread runs neither. */
int od_queue_current_band(void);

/* Returns the target of the queue in which the calling thread runs a barrier, or any job if the target is
 * serial. Waiting here for the queue would never end. Returns NULL if there is no such target. */
od_queue *od_queue_blocked_target(od_queue *queue);

OD_END_DECLS
#endif
