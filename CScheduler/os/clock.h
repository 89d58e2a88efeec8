/* clock.h — monotonic time, in nanoseconds. The wall clock is never read. */
#ifndef ODI_OS_CLOCK_H
#define ODI_OS_CLOCK_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

#define ODI_MICROSECOND INT64_C(1000)
#define ODI_MILLISECOND INT64_C(1000000)
#define ODI_SECOND INT64_C(1000000000)

int64_t odi_clock_now(void);

/* The same as of the last tick, milliseconds ago: a fifth of the price. For reports. */
int64_t odi_clock_coarse(void);

/* now + delay, without passing the end of time. */
int64_t odi_clock_after(int64_t delay_ns);

/* CPU time that the thread behind `clock` (odi_thread_cpu_clock) has used, or -1. */
int64_t odi_clock_cpu(int clock);

/* Sleeps for at least `ns`; signals do not shorten it. */
void odi_clock_sleep(int64_t ns);

#pragma GCC visibility pop

#endif
