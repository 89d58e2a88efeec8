/* cache_line.h — alignment rules for cache lines, and branch hints.
 *
 * Only one role writes a cache line: the owner, or the other threads. Hot words of different roles are two
 * lines apart, because x86 fetches lines in pairs.
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
