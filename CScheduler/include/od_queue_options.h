/* od_queue_options.h — what else a queue may be told when it is made: a limit of what waits in it, a target, and that
 * it does not begin yet.
 */
#ifndef OD_QUEUE_OPTIONS_H
#define OD_QUEUE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "od_pool.h"
#include "od_submit.h"

OD_BEGIN_DECLS

typedef enum od_overflow {
    OD_OVERFLOW_WAITS = 0,   /* the submitter waits, those who came first first; a job of the queue itself would wait
                                for itself, so what it submits is let in */
    OD_OVERFLOW_RUNS = 1,    /* the submitter runs it, in the queue's order like a sync caller; a job of the queue
                                itself at once, within itself, up to 32 deep */
    OD_OVERFLOW_REFUSED = 2  /* it is discarded and counted, or od_queue_try_async says so */
} od_overflow;

/* What else a queue may be told when it is made; zero is as od_queue_create makes it. */
typedef struct od_queue_options {
    od_band band;
    int32_t width;
    const char *label; /* NULL: "" */
    bool inactive;     /* nothing starts until od_queue_activate */
    /* How many jobs may wait to begin; 0: any number. Barriers count, sync callers that wait do,
     * and timers are let in always. */
    uint32_t pending_limit;
    od_overflow overflow; /* what becomes of a submission beyond it */
    od_queue *target;     /* see od_queue_set_target; of the same pool */
    bool shared;          /* everybody's: queues on it pass by its order and limits */
} od_queue_options;

od_queue *od_queue_create_with(od_pool *pool, const od_queue_options *options);

/* Puts an inactive queue on another one (NULL: on none): what it runs takes a place of the other
 * one too, in its order, and is held up by its suspension. Traps on a queue that is active,
 * where the queues would be on each other in a circle, and for want of memory. The target stays until the queue
 * is over. Jobs of the target do not wait in the queue, or in one on it, before it is activated: with their place
 * of the target they might wait for themselves. */
void od_queue_set_target(od_queue *queue, od_queue *target);

/* Lets an inactive queue start. On one that is active it does nothing. */
void od_queue_activate(od_queue *queue);
bool od_queue_is_active(od_queue *queue);

uint32_t od_queue_pending_limit(od_queue *queue);
od_overflow od_queue_overflow(od_queue *queue);
/* Submissions that od_queue_async and its like have discarded, over the queue's life. */
uint64_t od_queue_refused(od_queue *queue);

OD_END_DECLS
#endif
