/* od_queue.h — queues and groups: the order, the limits and the waiting that jobs have.
 *
 * A queue is a light handle on a pool: it has no thread, and 10,000 of them cost what their
 * pending jobs cost. Unless a function says otherwise it may be called from any thread, and
 * from inside jobs. The caller keeps queue and group alive during a call.
 */
#ifndef OD_QUEUE_H
#define OD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "od_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct od_queue od_queue;
typedef struct odi_group od_group;

enum { OD_UNLIMITED = 0, OD_QUEUE_BAND = -1, OD_LABEL_BYTES = 48 };

/* ---- queues ---- */

/* A queue whose jobs run at most `width` at a time; 1 is strictly first in, first out, and
 * OD_UNLIMITED leaves it to the pool. The label (cut to 47 bytes) is for reports. NULL when
 * memory is short. The pool outlives its queues. */
od_queue *od_queue_create(od_pool *pool, od_band band, int32_t width, const char *label);

typedef enum od_overflow {
    OD_OVERFLOW_WAITS = 0,   /* the submitter waits, those who came first first; a job of the queue
                                itself runs what it submits at once instead */
    OD_OVERFLOW_RUNS = 1,    /* the submitter runs it, in the queue's order like a sync caller */
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

/* The one among the queue's targets that the calling thread runs a barrier of, or, of a serial one, any job:
 * what waits here for the queue waits for ever. NULL: there is none. */
od_queue *od_queue_blocked_target(od_queue *queue);

/* Lets an inactive queue start. On one that is active it does nothing. */
void od_queue_activate(od_queue *queue);
bool od_queue_is_active(od_queue *queue);

/* The caller lets go of the queue. What was submitted still runs: a suspended queue resumes, and
 * an inactive one becomes active. */
void od_queue_release(od_queue *queue);

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
    OD_ENFORCE_BAND = 2, /* the given band counts, even where it is below the queue's */
    OD_FLAGS = OD_BARRIER | OD_ENFORCE_BAND
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

uint32_t od_queue_pending_limit(od_queue *queue);
od_overflow od_queue_overflow(od_queue *queue);
/* Submissions that od_queue_async and its like have discarded, over the queue's life. */
uint64_t od_queue_refused(od_queue *queue);

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

/* The job that the calling thread runs goes on after its return: its places stay taken, of the
 * queue and of what it is on where they are limited, until od_queue_unhold is called with what
 * this returns. 0: there are no places to take. The queue is not released meanwhile. */
uint32_t od_queue_hold(od_queue *queue);
void od_queue_unhold(od_queue *queue, uint32_t places);

/* A scope in a queue's order; lives in the caller's frame. */
typedef struct od_scope {
    od_queue *queue;
    struct od_scope *outer;
    od_queue *beyond; /* the first of the queue's targets whose place it does not hold */
    bool holds_place;
    bool exclusive;
    bool drains; /* the engine's own, around a line's jobs */
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

/* Jobs submitted and not yet done. */
uint64_t od_queue_pending(od_queue *queue);

/* Jobs that have begun and not returned, blocked ones included; no sync callers. Each thread is
 * looked at once: exact while none of the queue's jobs begins or ends meanwhile. */
uint64_t od_queue_running(od_queue *queue);

/* Sleeps until nothing is pending. False: the deadline (nanoseconds from now; INT64_MAX:
 * none; 0 or less: it only looks) came first. */
bool od_queue_wait(od_queue *queue, int64_t deadline_ns);

/* Calls function(context) once, on whichever thread finds nothing pending first. */
void od_queue_notify(od_queue *queue, void (*function)(void *), void *context);

const char *od_queue_label(od_queue *queue);
od_band od_queue_band(od_queue *queue);

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

/* A word of the queue's user, NULL until one is adopted. The first stays for the queue's life:
 * adopt returns the word that is there afterwards. */
void *od_queue_context(od_queue *queue);
void *od_queue_adopt_context(od_queue *queue, void *context);

/* ---- groups ---- */

od_group *od_group_create(void); /* NULL when memory is short */
void od_group_release(od_group *group);
void od_group_enter(od_group *group);
void od_group_leave(od_group *group); /* traps when entered less often */

/* What was entered, by hand or by jobs, and has not left. A hint while it changes. */
uint64_t od_group_pending(od_group *group);

/* Sleeps until everything entered has left. False: the deadline (nanoseconds from now;
 * INT64_MAX: none; 0 or less: it only looks) came first. A worker that waits hands its place over. */
bool od_group_wait(od_group *group, int64_t deadline_ns);

/* The same for a group that was entered by hand for a job of `queue`, submitted in `band` or
 * OD_QUEUE_BAND: the waiter's band overrides that of that job too. */
bool od_group_wait_for(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns);

/* Calls function(context) once, on whichever thread finds the group empty first. */
void od_group_notify(od_group *group, void (*function)(void *), void *context);

#ifdef __cplusplus
}
#endif
#endif
