/* clock.h — monotonic time in nanoseconds. The wall clock is never read. */
#ifndef ODI_OS_CLOCK_H
#define ODI_OS_CLOCK_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

#define ODI_MICROSECOND INT64_C(1000)
#define ODI_MILLISECOND INT64_C(1000000)
#define ODI_SECOND INT64_C(1000000000)

int64_t odi_clock_now(void);

/* Returns the time of the last kernel tick, milliseconds ago, at a fifth of the cost. For reports. */
int64_t odi_clock_coarse(void);

/* Returns now + delay, at most the largest time. */
int64_t odi_clock_after(int64_t delay_ns);

/* Returns the CPU time of the thread behind `clock` (odi_thread_cpu_clock), or -1. */
int64_t odi_clock_cpu(int clock);

/* Sleeps for at least `ns`; signals do not shorten it. */
void odi_clock_sleep(int64_t ns);

#pragma GCC visibility pop

#endif
