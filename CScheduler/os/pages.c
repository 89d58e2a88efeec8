/* pages.c — zeroed memory by mmap or malloc, and reservations of address space. */
#include "os/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cache_line.h"
#include "os/numa.h"

void *odi_pages_new(size_t bytes, int node)
{
    if (bytes >= ODI_PAGES_MAPPED) {
        void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
        if (pages == MAP_FAILED)
            return NULL;
        if (node != ODI_ANY_NODE)
            odi_numa_bind(pages, bytes, node); /* best effort */
        return pages;
    }

    size_t rounded = (bytes + ODI_CACHE_PAIR - 1) / ODI_CACHE_PAIR * ODI_CACHE_PAIR;
    void *piece = aligned_alloc(ODI_CACHE_PAIR, rounded);
    if (piece != NULL)
        memset(piece, 0, rounded);
    return piece;
}

void odi_pages_free(void *pages, size_t bytes)
{
    if (pages == NULL)
        return;
    if (bytes >= ODI_PAGES_MAPPED)
        munmap(pages, bytes);
    else
        free(pages);
}

void *odi_pages_reserve(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void *odi_pages_reserve_guarded(size_t bytes)
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = bytes / guard * guard;
    char *pages = odi_pages_reserve(bytes);

    if (pages != NULL && mprotect(pages + whole - guard, guard, PROT_NONE) != 0) {
        odi_pages_free_reserved(pages, bytes);
        return NULL;
    }
    if (pages != NULL)
        (void)madvise(pages, bytes, MADV_NOHUGEPAGE); /* small pages, because few of them are touched */
    return pages;
}

void odi_pages_free_reserved(void *pages, size_t bytes)
{
    if (pages != NULL)
        munmap(pages, bytes);
}

void odi_pages_clear_reserved(void *pages, size_t bytes)
{
    if (madvise(pages, bytes, MADV_DONTNEED) != 0) /* locked memory cannot be returned to the kernel */
        memset(pages, 0, bytes);
}
