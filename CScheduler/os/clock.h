/* clock.h — monotonic time in nanoseconds. The wall clock is never read. */
#ifndef ODI_OS_CLOCK_H
#define ODI_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define ODI_MICROSECOND INT64_C(1000)
#define ODI_MILLISECOND INT64_C(1000000)
#define ODI_SECOND INT64_C(1000000000)

int64_t odi_clock_now(void);

/* Returns the time of the last kernel tick, milliseconds ago, at a fifth of the cost. For reports. */
int64_t odi_clock_coarse(void);

/* The processor's own counter, if user programs may read it. */
static inline uint64_t odi_clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* Whether it counts at one rate, on all CPUs and through their sleeps, and the kernel's own clock relies on that. */
bool odi_clock_ticks_are_steady(void);

/* Returns now + delay, at most the largest time. */
int64_t odi_clock_after(int64_t delay_ns);

/* Returns the CPU time of the thread behind `clock` (odi_thread_cpu_clock), or -1. */
int64_t odi_clock_cpu(int clock);

/* Sleeps for at least `ns`; signals do not shorten it. */
void odi_clock_sleep(int64_t ns);

#pragma GCC visibility pop

#endif
