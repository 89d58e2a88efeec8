/* timer_thread.h — a thread that fires overdue timers while every worker is inside a job.
 *
 * The monitor calls the thread, and a stop wakes it. The thread fires due timers, as a worker would between
 * two jobs, and runs no job. A pool has this thread only if a timer was created with a `deliver` function.
 * The team's lock orders the reason of each wake-up.
 */
#ifndef ODI_POOL_TIMER_THREAD_H
#define ODI_POOL_TIMER_THREAD_H

#include <stdbool.h>

#include "include/od_pool.h"

#pragma GCC visibility push(hidden)

/* Starts the thread, or wakes it. Called by the monitor. */
void odi_timer_thread_call(od_pool *pool);

/* Wakes the thread if it exists; it leaves when the pool stops. Any thread. */
void odi_timer_thread_wake(od_pool *pool);

/* Whether the calling thread is the pool's timer thread. */
bool odi_timer_thread_is_here(const od_pool *pool);

/* In a forked child, which has no timer thread. */
void odi_timer_thread_forked(od_pool *pool);

#pragma GCC visibility pop

#endif
