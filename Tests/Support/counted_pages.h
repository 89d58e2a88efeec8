/* counted_pages.h — counts the pages that an engine file, included in a test, has allocated and not freed. */
#ifndef SUPPORT_COUNTED_PAGES_H
#define SUPPORT_COUNTED_PAGES_H

#include <stdatomic.h>

#include "os/pages.h"

static atomic_int pages_out;

static inline void *counted_pages_new(size_t bytes, int node)
{
    void *pages = odi_pages_new(bytes, node);

    atomic_fetch_add(&pages_out, pages != NULL);
    return pages;
}

static inline void counted_pages_free(void *pages, size_t bytes)
{
    atomic_fetch_sub(&pages_out, pages != NULL);
    odi_pages_free(pages, bytes);
}

#define odi_pages_new counted_pages_new
#define odi_pages_free counted_pages_free

#endif
