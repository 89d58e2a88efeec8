/* od_prefetch.h — for loops over memory that lies anywhere. */
#ifndef OD_PREFETCH_H
#define OD_PREFETCH_H

/* Begins to bring the line at `place` near, to be written. A hint: any address will do. */
static inline __attribute__((always_inline)) void od_prefetch(const void *place)
{
#if defined(__x86_64__)
    /* What the compiler makes of the builtin fetches a line for reading, unless it knows the CPU. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)place));
#else
    __builtin_prefetch(place, 1);
#endif
}

#endif
