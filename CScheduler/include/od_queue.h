/* od_queue.h — queues: the order, the limits and the waiting that jobs have. With it come od_queue_options.h (what a
 * queue is told when it is made), od_submit.h (jobs into a queue), od_sync.h (the calling thread in a queue's order) and
 * od_group.h (jobs that end together).
 *
 * A queue is a light handle on a pool: it has no thread, and 10,000 of them cost what their
 * pending jobs cost. Unless a function says otherwise it may be called from any thread, and
 * from inside jobs. The caller keeps queue and group alive during a call.
 */
#ifndef OD_QUEUE_H
#define OD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "od_group.h"
#include "od_pool.h"
#include "od_queue_options.h"
#include "od_submit.h"
#include "od_sync.h"

OD_BEGIN_DECLS

enum { OD_UNLIMITED = 0, OD_LABEL_BYTES = 48 };

/* A queue whose jobs run at most `width` at a time; 1 is strictly first in, first out, and
 * OD_UNLIMITED leaves it to the pool. The label (cut to 47 bytes) is for reports. NULL when
 * memory is short. The pool outlives its queues. */
od_queue *od_queue_create(od_pool *pool, od_band band, int32_t width, const char *label);

/* The caller lets go of the queue. What was submitted still runs: a suspended queue resumes, and
 * an inactive one becomes active. */
void od_queue_release(od_queue *queue);

/* Suspensions nest. What runs goes on; nothing else starts until the last is taken back. */
void od_queue_suspend(od_queue *queue);
void od_queue_resume(od_queue *queue); /* traps when it is not suspended */
bool od_queue_is_suspended(od_queue *queue);

/* At most `width` at a time from now on; what runs goes on. */
void od_queue_set_width(od_queue *queue, int32_t width);
int32_t od_queue_width(od_queue *queue);

/* Discards what was submitted and has not started. Returns how many jobs will never run:
 * exactly, as of a moment during the call. */
uint64_t od_queue_cancel_all(od_queue *queue);

/* Jobs submitted and not yet done; a hint while they come and go. */
uint64_t od_queue_pending(od_queue *queue);

/* Jobs that have begun and not returned, blocked ones included; no sync callers. Each thread is
 * looked at once: exact while none of the queue's jobs begins or ends meanwhile. */
uint64_t od_queue_running(od_queue *queue);

/* Sleeps until nothing is pending. False: the deadline (nanoseconds from now; INT64_MAX:
 * none; 0 or less: it only looks) came first. */
bool od_queue_wait(od_queue *queue, int64_t deadline_ns);

/* Calls function(context) once, on whichever thread finds nothing pending first. OD_NO_MEMORY: memory is short, and
 * nothing is called. */
od_status od_queue_notify(od_queue *queue, void (*function)(void *), void *context);

const char *od_queue_label(od_queue *queue);
od_band od_queue_band(od_queue *queue);

/* A word of the queue's user, NULL until one is adopted. The first stays for the queue's life:
 * adopt returns the word that is there afterwards. */
void *od_queue_context(od_queue *queue);
void *od_queue_adopt_context(od_queue *queue, void *context);

OD_END_DECLS
#endif
