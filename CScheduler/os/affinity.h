/* affinity.h — sets of CPUs, and the CPU affinity of threads.
 *
 * Owns     the engine's CPU set, and the calls that read or set a thread's affinity. A set is a plain
 *          value that is cheap enough to copy at start-up and once a second, and it cannot fail.
 * Never    decides placements (topology/placement does) or caches an answer.
 * Threads  any thread; the setters act on their caller only.
 *
 * Calls return 0 or an errno value. They print no warning; callers count warnings.
 */
#ifndef ODI_OS_AFFINITY_H
#define ODI_OS_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#pragma GCC visibility push(hidden)

/* 8192 is the largest number of CPUs for which any Linux port can be configured. */
enum { ODI_CPU_LIMIT = 8192, ODI_CPU_WORDS = ODI_CPU_LIMIT / 64 };

typedef struct odi_cpu_mask {
    uint64_t words[ODI_CPU_WORDS];
} odi_cpu_mask;

/* Makes the set empty. */
static inline void odi_cpu_mask_clear(odi_cpu_mask *mask)
{
    *mask = (odi_cpu_mask){{0}};
}

/* Adds one CPU; returns false if the id is negative or too large. */
static inline bool odi_cpu_mask_add(odi_cpu_mask *mask, int cpu)
{
    if (cpu < 0 || cpu >= ODI_CPU_LIMIT)
        return false;
    mask->words[cpu / 64] |= (uint64_t)1 << (cpu % 64);
    return true;
}

/* Whether the set has `cpu`. Accepts any id. */
static inline bool odi_cpu_mask_has(const odi_cpu_mask *mask, int cpu)
{
    if (cpu < 0 || cpu >= ODI_CPU_LIMIT)
        return false;
    return (mask->words[cpu / 64] >> (cpu % 64)) & 1;
}

/* Returns the number of CPUs in the set. */
static inline int odi_cpu_mask_count(const odi_cpu_mask *mask)
{
    int count = 0;

    for (int i = 0; i < ODI_CPU_WORDS; i++)
        count += __builtin_popcountll(mask->words[i]);
    return count;
}

/* Returns the lowest CPU that is `from` or more, or -1. A loop over a set is `for (int c =
 * odi_cpu_mask_next(m, 0); c >= 0; c = odi_cpu_mask_next(m, c + 1))`. */
static inline int odi_cpu_mask_next(const odi_cpu_mask *mask, int from)
{
    if (from < 0)
        from = 0;
    for (int word = from / 64; word < ODI_CPU_WORDS; word++) {
        uint64_t bits = mask->words[word];

        if (word == from / 64)
            bits &= ~(uint64_t)0 << (from % 64);
        if (bits != 0)
            return word * 64 + __builtin_ctzll(bits);
    }
    return -1;
}

/* Removes from `mask` the CPUs that `other` does not have. */
static inline void odi_cpu_mask_intersect(odi_cpu_mask *mask, const odi_cpu_mask *other)
{
    for (int i = 0; i < ODI_CPU_WORDS; i++)
        mask->words[i] &= other->words[i];
}

/* Whether both sets are equal. */
static inline bool odi_cpu_mask_equal(const odi_cpu_mask *a, const odi_cpu_mask *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Whether every CPU of `part` is in `mask`. */
static inline bool odi_cpu_mask_covers(const odi_cpu_mask *mask, const odi_cpu_mask *part)
{
    odi_cpu_mask both = *part;

    odi_cpu_mask_intersect(&both, mask);
    return odi_cpu_mask_equal(&both, part);
}

/* Reads a list in Linux's format, "0-3,8,16-31", with blanks around it, possibly empty. Ids that are too
 * large are left out. Returns false, with an empty set, for malformed text. */
bool odi_cpu_mask_parse(const char *text, odi_cpu_mask *mask);

/* Reads the affinity of a thread by the kernel's number, 0 for the caller. The process's number is that of
 * its first thread. Offline CPUs are not in the mask. */
int odi_affinity_get(int thread, odi_cpu_mask *mask);

/* Restricts the calling thread to the CPUs of `mask`. EINVAL if none of them is online and allowed; the
 * thread then keeps its mask. */
int odi_affinity_set(const odi_cpu_mask *mask);

/* Returns the node (kernel's number) on which the caller ran a moment ago, or -1. */
int odi_affinity_node(void);

#pragma GCC visibility pop

#endif
