/* od_submit.h — submission of jobs to a queue: one job, a task, or a batch. See od_queue.h for queues. */
#ifndef OD_SUBMIT_H
#define OD_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "od_pool.h"

OD_BEGIN_DECLS

typedef struct od_queue od_queue;
typedef struct odi_group od_group;

enum { OD_QUEUE_BAND = -1 };

/* Submits function(context) in the queue's band or a higher band (OD_QUEUE_BAND: the queue's). The job counts
 * on `group` (may be NULL). In the wait queue of a limited or suspended queue no job overtakes another. A job
 * of a higher band raises the band of the jobs before it. Returns an error as od_pool_submit does: no first
 * thread, out of memory, or a stop. */
od_status od_queue_async(od_queue *queue, od_group *group, int32_t band,
                         void (*function)(void *), void *context);

/* Submits a task of the Swift layer, which defines od_task_run(task) and od_task_discard(task). The engine
 * calls exactly one of these functions, once; a cancel or a stop calls od_task_discard. The process ends if
 * od_queue_async would report a lack of threads or memory. This holds for every submission of the Swift
 * layer. */
void od_queue_async_task(od_queue *queue, int32_t band, void *task);

/* Submits a task that was announced earlier and is due now. As a timer does, it bypasses the queue's pending
 * limit, because its submitter may have further tasks to submit. */
void od_queue_async_due_task(od_queue *queue, int32_t band, void *task);

/* Submits a task as od_queue_async_due_task does, from od_task_run, which does nothing else before it calls
 * od_next_task. If nothing more urgent is known, the worker's next od_next_task returns the task. */
void od_queue_async_next_task(od_queue *queue, int32_t band, void *task);

/* Ends the calling worker's job and begins that of the task from od_queue_async_next_task. Returns NULL if
 * there is none, or if a cancel has discarded the task. */
void *od_next_task(void);

/* Submits an executor job: see od_pool_submit_executor_job. */
void od_queue_async_executor_job(od_queue *queue, int32_t band, void *job);

/* How a job differs from a plain job. */
enum {
    OD_BARRIER = 1,      /* runs alone: after every earlier job and before every later job */
    OD_ENFORCE_BAND = 2  /* uses the given band even if it is below the queue's */
};

/* Submits a job with flags. If the queue has seen a barrier, was suspended or had a width, every job passes
 * its wait queue. */
od_status od_queue_async_with(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                              void (*function)(void *), void *context);

/* Submits a job unless the queue's pending limit is reached. Returns false at the limit, for every overflow
 * policy, and the caller still owns the job. The process ends if no first thread can start or an allocation
 * fails. */
bool od_queue_try_async(od_queue *queue, od_group *group, int32_t band, uint32_t flags,
                        void (*function)(void *), void *context);

/* Submits an executor job, with the result of od_queue_try_async. */
bool od_queue_try_async_executor_job(od_queue *queue, int32_t band, void *job);

/* A batch of jobs: counted once, queued in one critical section, with one wake for all. The caller provides
 * OD_BATCH_BYTES of storage, aligned to 16 bytes. The process ends if no first thread can start or an
 * allocation fails. */
typedef struct od_batch od_batch;
enum { OD_BATCH_BYTES = 4128 };

od_batch *od_batch_begin(void *storage, od_queue *queue, od_group *group, int32_t band);
/* Adds a job. A full batch (256 jobs) is submitted first. */
void od_batch_add(od_batch *batch, void (*function)(void *), void *context);
/* Submits the added jobs in order. The batch is then empty and may be used again. */
void od_batch_submit(od_batch *batch);

OD_END_DECLS
#endif
