/* od_timer.h — timers: jobs that are submitted later, once or repeatedly.
 *
 * When a timer is due, it is submitted to its queue like any other job. From then on the queue's order,
 * limits and suspension apply: a timer of a suspended queue waits there. A timer never runs before it is due.
 * Timers have no tick, and a pool with a million far timers sleeps. If no worker of the pool is between two jobs when a
 * timer is 5 ms overdue, a timer thread soon runs the call, provided that the queue lets the call begin at once. At
 * most one such call of a pool runs at a time.
 *
 * The calls of a repeating timer never overlap. The timer is due at whole intervals after its first time,
 * however long its calls take. Intervals that pass while a call waits or runs are skipped and counted.
 *
 * Time is CLOCK_MONOTONIC: no program can set this clock, and it stops while the machine is suspended. Unless
 * a comment states otherwise, a function may be called from any thread, and from inside jobs.
 *
 * A stop of the pool (od_pool_stop) first drops the timers that are not due. They were never submitted, so
 * they neither run nor count as cancelled. Timers from before a fork belong to the parent process. Cancelling
 * a queue's jobs discards a timer call that waits in the queue. A timer that does not repeat then ends; a
 * repeating timer continues.
 *
 * States   ARMED   -> QUEUED     the timer is due
 *          QUEUED  -> RUNNING    its queue runs the call
 *          RUNNING -> ARMED      the timer repeats
 *          QUEUED  -> ARMED      the timer repeats, and this call was discarded
 *          any     -> OVER       it has run, or was cancelled, discarded or dropped
 */
#ifndef OD_TIMER_H
#define OD_TIMER_H

#include "od_queue.h"

OD_BEGIN_DECLS

typedef struct od_timer od_timer;

typedef struct od_timer_options {
    int64_t delay_ns;    /* from now; 0 or less: immediately. INT64_MAX: never */
    int64_t interval_ns; /* between calls; 0: one call only; a negative value traps. A time beyond the clock's
                            range never comes */
    void (*call)(void *context, uint64_t missed); /* `missed`: intervals skipped before this call */
    void (*over)(void *context); /* called once, after the last call or instead of it; may be NULL. If
                                    od_timer_cancel runs concurrently, `over` is called after the cancel has
                                    finished with the pool */
    void *context;
    int64_t due_ns; /* not 0: the first due time on od_timer_now's clock, in place of a delay. Negative: the
                       clock's beginning. INT64_MAX: never */
} od_timer_options;

/* Returns the clock of timers, in nanoseconds. */
int64_t od_timer_now(void);

/* Creates a timer of a queue, and starts the pool's first thread if it has none. The caller keeps the queue
 * alive until `over`. Returns NULL if an allocation fails or no thread can start. The timer reserves here all
 * memory that it needs later. */
od_timer *od_timer_create(od_queue *queue, const od_timer_options *options);

/* Creates a timer whose calls are submitted as od_queue_async_with would. */
od_timer *od_timer_create_with(od_queue *queue, int32_t band, uint32_t flags,
                               const od_timer_options *options);

/* Creates a timer for work that runs outside the pool; this also starts the pool's first thread. When the
 * timer is due, a worker of `pool` calls `deliver`, which must cause one call of od_timer_perform, on any
 * thread. If every worker is inside a job, a timer thread calls `deliver`, about 0.5 ms late. `deliver` must
 * not wait: other timers of the pool may be late until it returns. */
od_timer *od_timer_create_elsewhere(od_pool *pool, const od_timer_options *options,
                                    void (*deliver)(void *context, od_timer *timer));

/* Runs the timer's call on the calling thread, once per call of `deliver`. */
void od_timer_perform(od_timer *timer);

/* Arms a timer, once per timer. The delay starts here. If the pool has stopped or the timer was cancelled,
 * `over` is called before this function returns. */
void od_timer_start(od_timer *timer);

typedef enum od_timer_cancelled {
    OD_TIMER_PREVENTED = 0, /* the coming call will not begin */
    OD_TIMER_RUNS = 1,      /* a call runs now, perhaps the caller's own; it is the last */
    OD_TIMER_WAS_OVER = 2   /* no call was to come */
} od_timer_cancelled;

/* Cancels the timer: no call begins after this function returns. The function does not wait. */
od_timer_cancelled od_timer_cancel(od_timer *timer);

/* Whether the timer was cancelled, discarded or dropped: no further call begins, but a running call may
 * continue. False for a timer that has ended after its call. */
bool od_timer_is_cancelled(od_timer *timer);

/* Releases the caller's reference; the timer continues. */
void od_timer_release(od_timer *timer);

/* Returns the number of the pool's timers that are not due yet. */
uint64_t od_pool_timers_armed(od_pool *pool);

OD_END_DECLS
#endif
