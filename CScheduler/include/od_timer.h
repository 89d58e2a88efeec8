/* od_timer.h — jobs that are submitted later, once or again and again.
 *
 * When a timer is due it is submitted to its queue like any
 * other job, and from then on the queue's order, limits and suspension hold for it: a timer
 * of a suspended queue waits there. It never runs before it is due. Timers have no thread
 * and no tick: a pool with a million far ones sleeps.
 *
 * A repeating timer's calls never overlap. It is due at whole intervals from its first time
 * on, whatever its calls take; those that it could not keep, because it was still waiting or
 * running, are left out and counted.
 *
 * Time is CLOCK_MONOTONIC: neither set by anybody nor running while the machine is suspended.
 * Unless a function says otherwise it may be called from any thread, and from inside jobs.
 *
 * A stop of the pool (od_pool_stop) begins by dropping what is not due yet: it was never
 * submitted, so it neither runs nor counts as cancelled. Timers of a forked child's parent
 * are the parent's. Cancelling a queue's jobs discards a call that waits in the queue: that
 * was the last of a timer that does not repeat, while one that does goes on.
 *
 * States   ARMED   -> QUEUED     it is due
 *          QUEUED  -> RUNNING    its queue runs it
 *          RUNNING -> ARMED      it repeats      QUEUED -> ARMED: the same, it was discarded
 *          any     -> OVER       it has run, was cancelled, discarded or dropped
 */
#ifndef OD_TIMER_H
#define OD_TIMER_H

#include "od_queue.h"

OD_BEGIN_DECLS

typedef struct od_timer od_timer;

typedef struct od_timer_options {
    int64_t delay_ns;    /* from now; 0 or less: at once. INT64_MAX: never */
    int64_t interval_ns; /* between calls; 0: one call only; less traps. A time that would lie
                            beyond the clock's end never comes */
    void (*call)(void *context, uint64_t missed); /* `missed`: intervals left out before it */
    void (*over)(void *context); /* once, after the last call, or instead of it; may be NULL. Beside od_timer_cancel
                                    it comes when that has done with the pool */
    void *context;
    int64_t due_ns; /* not 0: the first time itself, as of od_timer_now, and not a delay; less
                       than 0: that clock's beginning. INT64_MAX: never */
} od_timer_options;

/* The time by which timers are due, in nanoseconds. */
int64_t od_timer_now(void);

/* Makes a timer of a queue, which the caller keeps until `over`, and starts the pool's first thread if it has none.
 * NULL: memory is short, or no thread is to be had. What is needed later, when memory may be short, the timer has. */
od_timer *od_timer_create(od_queue *queue, const od_timer_options *options);

/* Its calls are submitted as od_queue_async_with would. */
od_timer *od_timer_create_with(od_queue *queue, int32_t band, uint32_t flags,
                               const od_timer_options *options);

/* The same for work that runs elsewhere, the pool's first thread too: `deliver` is called when the timer is due, on a
 * worker of `pool`, and must see to it that od_timer_perform is called once, on any thread. While every worker is
 * inside a job, a timer thread calls `deliver`, some 0.5 ms late. `deliver` does not wait: until it returns other
 * timers of the pool may be late. */
od_timer *od_timer_create_elsewhere(od_pool *pool, const od_timer_options *options,
                                    void (*deliver)(void *context, od_timer *timer));
void od_timer_perform(od_timer *timer);

/* Arms a timer, once for each that is made. The time begins to run here. When the pool has
 * stopped, or the timer was cancelled before, `over` is called before this returns. */
void od_timer_start(od_timer *timer);

typedef enum od_timer_cancelled {
    OD_TIMER_PREVENTED = 0, /* the call that was to come will not begin */
    OD_TIMER_RUNS = 1,      /* one runs right now, perhaps the caller's own; it is the last */
    OD_TIMER_WAS_OVER = 2   /* there was none to come */
} od_timer_cancelled;

/* No call begins after this returns. Waits for nothing. */
od_timer_cancelled od_timer_cancel(od_timer *timer);

/* Whether it was cancelled, discarded or dropped: no call comes any more, but one that runs
 * may still do so. False for a timer that is over because it has run. */
bool od_timer_is_cancelled(od_timer *timer);

/* The caller lets go of the timer, which goes on by itself. */
void od_timer_release(od_timer *timer);

/* Timers of the pool that are not due yet. */
uint64_t od_pool_timers_armed(od_pool *pool);

OD_END_DECLS
#endif
