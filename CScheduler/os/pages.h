/* pages.h — zeroed memory in large pieces, on a given node if possible.
 *
 * Large pieces are mapped, and returned to the kernel when freed. Small pieces come from malloc, on any node.
 */
#ifndef ODI_OS_PAGES_H
#define ODI_OS_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Pieces of at least ODI_PAGES_MAPPED bytes are mapped; freeing them reduces the resident set immediately. */
enum { ODI_ANY_NODE = -1, ODI_PAGES_MAPPED = 32 * 1024 };

/* Returns the size to request for a piece of `bytes` on `node`: large enough to be mapped. The untouched part
 * costs address space only. */
static inline size_t odi_pages_size(size_t bytes, int node)
{
    return node == ODI_ANY_NODE || bytes > ODI_PAGES_MAPPED ? bytes : ODI_PAGES_MAPPED;
}

/* Allocates zeroed memory, aligned to two cache lines; returns NULL if out of memory. `node` is a preference
 * that applies to mapped pieces only. */
void *odi_pages_new(size_t bytes, int node);

/* `bytes` as passed to odi_pages_new. Accepts NULL. */
void odi_pages_free(void *pages, size_t bytes);

/* Reserves address space that costs memory only where it is touched, under mlockall(MCL_FUTURE) too; zeroed and
 * page-aligned. Returns NULL if none is available. Freed with odi_pages_free_reserved. */
void *odi_pages_reserve(size_t bytes);

/* Reserves address space. Nothing may be touched before odi_pages_commit has made whole pages of it usable. */
void *odi_pages_reserve_uncommitted(size_t bytes);
bool odi_pages_commit(void *pages, size_t bytes);

/* Whether the process's address space has a limit (RLIMIT_AS). */
bool odi_pages_space_is_limited(void);

/* Whether the kernel fills and locks what is mapped next: mlockall(MCL_FUTURE). */
bool odi_pages_future_is_locked(void);

/* Reserves address space whose last whole page is a guard: an access to it faults. */
void *odi_pages_reserve_guarded(size_t bytes);
void odi_pages_free_reserved(void *pages, size_t bytes);

/* Zeroes a reservation without allocating. No thread may be using it. */
void odi_pages_clear_reserved(void *pages, size_t bytes);

#pragma GCC visibility pop

#endif
