/* od_queue.h — queues: the order, limits and waits of jobs. This header includes od_queue_options.h (creation
 * options), od_submit.h (submission), od_sync.h (synchronous entry) and od_group.h (groups).
 *
 * A queue is a light handle on a pool: it has no thread, and 10,000 queues cost only their pending jobs.
 * Unless a comment states otherwise, a function may be called from any thread, and from inside jobs. The
 * caller keeps the queue and the group alive during a call.
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

/* Creates a queue whose jobs run at most `width` at a time. A width of 1 runs jobs strictly first in, first
 * out; OD_UNLIMITED leaves the limit to the pool. The label (cut to 47 bytes) appears in reports. Returns
 * NULL if an allocation fails. The pool must outlive its queues. */
od_queue *od_queue_create(od_pool *pool, od_band band, int32_t width, const char *label);

/* Releases the caller's reference. Submitted jobs still run: a suspended queue resumes, and an inactive queue
 * becomes active. */
void od_queue_release(od_queue *queue);

/* Suspends the queue; suspensions nest. Running jobs continue, but no other job starts before the last
 * matching resume. */
void od_queue_suspend(od_queue *queue);
void od_queue_resume(od_queue *queue); /* traps if the queue is not suspended */
bool od_queue_is_suspended(od_queue *queue);

/* Limits the queue to `width` jobs at a time from now on; running jobs continue. */
void od_queue_set_width(od_queue *queue, int32_t width);

/* Returns the width, or OD_UNLIMITED. */
int32_t od_queue_width(od_queue *queue);

/* Discards the submitted jobs that have not started. Returns the exact number of jobs that will never run, as
 * of one moment during the call. */
uint64_t od_queue_cancel_all(od_queue *queue);

/* Returns the number of submitted jobs that have not finished; a hint while jobs come and go. */
uint64_t od_queue_pending(od_queue *queue);

/* Returns the number of jobs that have begun and not returned, blocked jobs included and sync callers
 * excluded. The call reads each thread once; the number is exact if no job of the queue begins or ends during
 * the call. */
uint64_t od_queue_running(od_queue *queue);

/* Sleeps until no job is pending. Returns false if the deadline passes first (nanoseconds from now;
 * INT64_MAX: none). A deadline of 0 or less only checks. */
bool od_queue_wait(od_queue *queue, int64_t deadline_ns);

/* Calls function(context) once, on the first thread that finds no job pending. Returns OD_NO_MEMORY, and
 * calls nothing, if an allocation fails. */
od_status od_queue_notify(od_queue *queue, void (*function)(void *), void *context);

/* Returns the label; the text lives as long as the queue. */
const char *od_queue_label(od_queue *queue);

/* Returns the band that the queue was created with. */
od_band od_queue_band(od_queue *queue);

/* A pointer for the queue's user, NULL until adopted. The first adopted pointer stays for the queue's
 * lifetime. Adopt returns the pointer that is stored after the call. */
void *od_queue_context(od_queue *queue);
void *od_queue_adopt_context(od_queue *queue, void *context);

OD_END_DECLS
#endif
