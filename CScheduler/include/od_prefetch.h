/* od_prefetch.h — a prefetch for loops over memory in random order. */
#ifndef OD_PREFETCH_H
#define OD_PREFETCH_H

/* Starts to fetch the cache line of `place` for writing. This is a hint: any address is allowed. */
static inline __attribute__((always_inline)) void od_prefetch(const void *place)
{
#if defined(__x86_64__)
    /* The compiler's builtin fetches a line for reading, unless the compiler targets a CPU with prefetchw. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)place));
#else
    __builtin_prefetch(place, 1);
#endif
}

#endif
