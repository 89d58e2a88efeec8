/* pages.h — zeroed memory in large pieces, near a node where that means something.
 *
 * Large pieces are mapped and given back to the kernel when freed; small ones come from
 * malloc, and lie wherever malloc's pages do.
 */
#ifndef ODI_OS_PAGES_H
#define ODI_OS_PAGES_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* From ODI_PAGES_MAPPED bytes on, pieces are mapped: freeing them lowers the resident set at
 * once. */
enum { ODI_ANY_NODE = -1, ODI_PAGES_MAPPED = 32 * 1024 };

/* The size to ask for when a piece of `bytes` is to lie on `node`: enough to be mapped. What
 * is not touched of it costs address space only. */
static inline size_t odi_pages_size(size_t bytes, int node)
{
    return node == ODI_ANY_NODE || bytes > ODI_PAGES_MAPPED ? bytes : ODI_PAGES_MAPPED;
}

/* Zeroed, aligned to two cache lines; NULL when memory is short. `node` is a wish, heeded
 * for mapped pieces only. */
void *odi_pages_new(size_t bytes, int node);

/* `bytes` as at odi_pages_new. NULL is fine. */
void odi_pages_free(void *pages, size_t bytes);

/* Address space that costs memory only where it is touched; zeroed, page-aligned. NULL when
 * there is none. Freed with odi_pages_free_reserved. */
void *odi_pages_reserve(size_t bytes);

/* The same, and the last whole page of it ends whoever walks into it. */
void *odi_pages_reserve_guarded(size_t bytes);
void odi_pages_free_reserved(void *pages, size_t bytes);

/* Zeroed again, as it was reserved, without asking for memory. Nobody may be using it. */
void odi_pages_clear_reserved(void *pages, size_t bytes);

#pragma GCC visibility pop

#endif
