/* od_queue_options.h — options of a queue: a limit of pending jobs, a target queue, and inactive creation. */
#ifndef OD_QUEUE_OPTIONS_H
#define OD_QUEUE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "od_pool.h"
#include "od_submit.h"

OD_BEGIN_DECLS

typedef enum od_overflow {
    OD_OVERFLOW_WAITS = 0,   /* the submitter waits in arrival order; a job of this queue is let in, because
                                it would wait for itself */
    OD_OVERFLOW_RUNS = 1,    /* the submitter runs the job, in the queue's order like a sync caller. A job of
                                this queue runs it immediately, nested up to 32 deep */
    OD_OVERFLOW_REFUSED = 2  /* the job is discarded and counted, or od_queue_try_async returns false */
} od_overflow;

/* Creation options; zero means the behaviour of od_queue_create. */
typedef struct od_queue_options {
    od_band band;
    int32_t width;
    const char *label; /* NULL: "" */
    bool inactive;     /* no job starts before od_queue_activate */
    /* Limit of jobs that wait to begin; 0: no limit. Barriers and waiting sync callers count. Timers are
     * always let in. */
    uint32_t pending_limit;
    od_overflow overflow; /* the fate of a submission beyond the limit */
    od_queue *target;     /* see od_queue_set_target; a queue of the same pool */
    bool shared;          /* shared by the program: queues that target it bypass its order and limits */
} od_queue_options;

/* Creates a queue with options. Returns NULL if an allocation fails. */
od_queue *od_queue_create_with(od_pool *pool, const od_queue_options *options);

/* Gives an inactive queue a target (NULL: none). Each of its jobs then also occupies a slot of the target, in
 * the target's order, and stops while the target is suspended. Traps if the queue is active, if the targets
 * would form a cycle, or if an allocation fails. The queue keeps the target alive. A job of the target must
 * not wait in this queue, or in a queue that targets it, before the queue is active. The job holds a slot of
 * the target and might wait for itself. */
void od_queue_set_target(od_queue *queue, od_queue *target);

/* Activates an inactive queue. Does nothing if the queue is active. */
void od_queue_activate(od_queue *queue);
bool od_queue_is_active(od_queue *queue);

/* Returns the limit of pending jobs that the queue was created with. */
uint32_t od_queue_pending_limit(od_queue *queue);

/* Returns the overflow policy that the queue was created with. */
od_overflow od_queue_overflow(od_queue *queue);
/* Returns the number of submissions that od_queue_async and its variants have discarded over the queue's
 * lifetime. */
uint64_t od_queue_refused(od_queue *queue);

OD_END_DECLS
#endif
