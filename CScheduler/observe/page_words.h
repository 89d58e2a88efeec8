/* page_words.h — words that one thread replaces and others copy whole (a sequence lock).
 *
 * The writer never waits. A reader that meets a replacement copies again.
 *
 * Owns     nothing but the words.
 * Never    knows what a word means.
 * Threads  write: one. read: any, in other processes too.
 *
 * Edges    V3  write -> read       release/acquire         an even sequence says that its words are readable
 *          V4  overwrite -> read   release fence/acquire   a later word shows that the sequence was odd
 */
#ifndef ODI_OBSERVE_PAGE_WORDS_H
#define ODI_OBSERVE_PAGE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

#pragma GCC visibility push(hidden)

typedef odi_atomic(uint64_t) odi_page_word;

/* The writer. */
static inline void odi_page_words_write(odi_page_word *sequence, odi_page_word *words, const uint64_t *from, size_t count)
{
    /* relaxed: the writer's word. An earlier writer may have been killed in a write, and has left it odd. */
    uint64_t before = odi_load_relaxed(sequence) & ~UINT64_C(1);

    odi_store_relaxed(sequence, before + 1); /* relaxed: V4's fence follows */
    odi_fence_release(V4);
    for (size_t i = 0; i < count; i++)
        odi_store_relaxed(&words[i], from[i]); /* relaxed: V4's fence before it, V3's store after */
    odi_store_release(sequence, before + 2, V3);
}

/* Copies the words. False: they are being replaced, or nothing was written yet. */
static inline bool odi_page_words_read(const odi_page_word *sequence, const odi_page_word *words, uint64_t *to, size_t count)
{
    uint64_t before = odi_load_acquire(sequence, V3);

    if (before == 0 || before % 2 != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        to[i] = odi_load_acquire(&words[i], V4);
    return odi_load_relaxed(sequence) == before; /* relaxed: V4's loads stand before it */
}

#pragma GCC visibility pop

#endif
