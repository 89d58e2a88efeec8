/* cache_line.h — what may share a cache line, and what may not.
 *
 * A line is written by one role: its owner, or whoever comes from outside. Hot pairs that
 * different roles write are two lines apart, because x86 fetches lines in pairs.
 */
#ifndef ODI_BASE_CACHE_LINE_H
#define ODI_BASE_CACHE_LINE_H

enum { ODI_CACHE_LINE = 64, ODI_CACHE_PAIR = 128 };

#define ODI_LINE_ALIGNED _Alignas(64)
#define ODI_PAIR_ALIGNED _Alignas(128)

#define ODI_LIKELY(x) __builtin_expect(!!(x), 1)
#define ODI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ODI_COLD __attribute__((cold, noinline))
#define ODI_HOT_INLINE static inline __attribute__((always_inline))

#endif
