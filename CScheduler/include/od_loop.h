/* od_loop.h — a clock that costs a few cycles; parallel loops use it to choose the size of their parts. */
#ifndef OD_LOOP_H
#define OD_LOOP_H

#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

/* Returns the processor's clock in its own ticks. If user programs cannot read that clock, it returns the
 * system's clock in nanoseconds. */
uint64_t od_loop_system_ticks(void);

static inline __attribute__((always_inline)) uint64_t od_loop_ticks(void)
{
#if defined(__x86_64__) && !defined(OD_LOOP_SYSTEM_CLOCK)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__) && !defined(OD_LOOP_SYSTEM_CLOCK)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return od_loop_system_ticks();
#endif
}

/* Returns about 2 µs in ticks. An arm64 processor reports its clock rate (24 MHz to 1 GHz). On x86-64 the
 * rate is assumed to be 2.5 GHz. */
static inline __attribute__((always_inline)) uint64_t od_loop_unit(void)
{
#if defined(__x86_64__) && !defined(OD_LOOP_SYSTEM_CLOCK)
    return 5000;
#elif defined(__aarch64__) && !defined(OD_LOOP_SYSTEM_CLOCK)
    uint64_t ticks_per_second;
    __asm__("mrs %0, cntfrq_el0" : "=r"(ticks_per_second));
    return ticks_per_second / 500000;
#else
    return 2000;
#endif
}

OD_END_DECLS
#endif
