/* timer_thread.h — a thread for overdue timers of a pool whose workers are all inside jobs.
 *
 * The monitor calls the thread, and a stop wakes it. The thread delivers timers that run elsewhere, as a worker
 * would between two jobs. It also runs calls of timers that are overdue by ODI_LATE_NS, one at a time, and no
 * other job. While such a call runs, another timer thread may start, which only delivers. The team's lock orders
 * the reason of each wake-up.
 */
#ifndef ODI_POOL_TIMER_THREAD_H
#define ODI_POOL_TIMER_THREAD_H

#include <stdbool.h>

#include "include/od_pool.h"

#pragma GCC visibility push(hidden)

/* Starts the thread or wakes it, if timers are late and no sleeping worker leads. `starved`: no worker is between
 * two jobs. Called by the monitor. */
void odi_timer_thread_call(od_pool *pool, bool starved);

/* Wakes the thread if it exists; it leaves when the pool stops. Any thread. */
void odi_timer_thread_wake(od_pool *pool);

/* Whether the calling thread is a timer thread of the pool. */
bool odi_timer_thread_is_here(const od_pool *pool);

/* Around a call of a timer of `queue` on the timer thread. */
void odi_timer_thread_begin_call(od_pool *pool, void *queue);
void odi_timer_thread_end_call(od_pool *pool);

/* In a forked child, which has no timer thread. */
void odi_timer_thread_forked(od_pool *pool);

#pragma GCC visibility pop

#endif
