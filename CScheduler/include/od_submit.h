/* od_submit.h — jobs into a queue: one, a task, a batch. See od_queue.h for what a queue is. */
#ifndef OD_SUBMIT_H
#define OD_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "od_pool.h"

OD_BEGIN_DECLS

typedef struct od_queue od_queue;
typedef struct odi_group od_group;

enum { OD_QUEUE_BAND = -1 };

/* Submits function(context), counted on `group` (may be NULL), in the queue's band or a
 * higher one (OD_QUEUE_BAND: the queue's). In the line of a limited or suspended queue nothing
 * overtakes: a job of a higher band overrides that of what waits before it. As od_pool_submit it refuses where the pool
 * can have no first thread or memory is short, and after a stop. */
od_status od_queue_async(od_queue *queue, od_group *group, int32_t band,
                         void (*function)(void *), void *context);

/* Submits a task of the layer above, which defines od_task_run(task) and od_task_discard(task):
 * exactly one of them is called, once; the second by a cancel or a stop. Where od_queue_async would refuse it for
 * want of a thread or memory the process ends, as it does for what else the layer above submits. */
void od_queue_async_task(od_queue *queue, int32_t band, void *task);

/* The same for a task that was announced before and is due now: as a timer it passes the queue's
 * pending limit, because who submits it has others to submit that may be waited for. */
void od_queue_async_due_task(od_queue *queue, int32_t band, void *task);

/* The same for a job as of od_pool_submit_executor_job. */
void od_queue_async_executor_job(od_queue *queue, int32_t band, void *job);

/* How a job differs from a plain one. */
enum {
    OD_BARRIER = 1,      /* runs alone: after all that was submitted before, before all after */
    OD_ENFORCE_BAND = 2  /* the given band counts, even where it is below the queue's */
};

/* The same with flags. On a queue that has seen a barrier, was suspended or had a width, every job passes a line. */
od_status od_queue_async_with(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                              void (*function)(void *), void *context);

/* The same where it is not refused. False: the queue's pending limit is reached, whatever its
 * overflow, and the job is still the caller's. For want of a first
 * thread or of memory the process ends. */
bool od_queue_try_async(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                        void (*function)(void *), void *context);

/* The same for a job as of od_pool_submit_executor_job. */
bool od_queue_try_async_executor_job(od_queue *queue, int32_t band, void *job);

/* Jobs that are submitted together: counted once, queued in one critical section, with one
 * worker woken for all. The storage is the caller's: OD_BATCH_BYTES, aligned to 16. For want of a first
 * thread or of memory the process ends. */
typedef struct od_batch od_batch;
enum { OD_BATCH_BYTES = 4128 };

od_batch *od_batch_begin(void *storage, od_queue *queue, od_group *group, int32_t band);
/* Adds a job. A full batch (256 jobs) is submitted first. */
void od_batch_add(od_batch *batch, void (*function)(void *), void *context);
/* Submits what was added, in order. The batch is empty then, and may be used again. */
void od_batch_submit(od_batch *batch);

OD_END_DECLS
#endif
