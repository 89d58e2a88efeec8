/* pages.h — zeroed memory in large pieces, near a node where that means something.
 *
 * Large pieces are mapped and given back to the kernel when freed; small ones come from
 * malloc. Neither is touched before its first use.
 */
#ifndef ODI_OS_PAGES_H
#define ODI_OS_PAGES_H

#include <stddef.h>

enum { ODI_ANY_NODE = -1 };

/* Zeroed, aligned to two cache lines; NULL when memory is short. `node` is a wish. */
void *odi_pages_new(size_t bytes, int node);

/* `bytes` as at odi_pages_new. NULL is fine. */
void odi_pages_free(void *pages, size_t bytes);

/* Address space that costs memory only where it is touched; zeroed, page-aligned. NULL when
 * there is none. Freed with odi_pages_free_reserved. */
void *odi_pages_reserve(size_t bytes);
void odi_pages_free_reserved(void *pages, size_t bytes);

#endif
