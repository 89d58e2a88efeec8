/* pages.c — zeroed memory by mmap or malloc, and reservations of address space. */
#include "os/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

static void *map_without_access(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

static bool are_locked(void *pages, size_t bytes)
{
    return msync(pages, bytes, MS_INVALIDATE) != 0 && errno == EBUSY;
}

bool odi_pages_future_is_locked(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *probe = map_without_access(bytes);
    bool locked = probe != NULL && are_locked(probe, bytes);

    odi_pages_free_reserved(probe, bytes);
    return locked;
}

/* mlockall(MCL_FUTURE) fills a mapping when it becomes writable. Locked on fault, pages stay locked once touched. */
static bool make_writable(void *pages, size_t bytes, bool locked)
{
    if (locked)
        (void)mlock2(pages, bytes, MLOCK_ONFAULT);
    return mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0;
}

void *odi_pages_reserve(size_t bytes)
{
    void *pages = map_without_access(bytes);

    if (pages != NULL && !make_writable(pages, bytes, are_locked(pages, bytes))) {
        odi_pages_free_reserved(pages, bytes);
        return NULL;
    }
    return pages;
}

void *odi_pages_reserve_uncommitted(size_t bytes)
{
    void *pages = map_without_access(bytes);

    if (pages != NULL)
        (void)munlock(pages, bytes); /* RLIMIT_MEMLOCK counts no address space without memory */
    return pages;
}

bool odi_pages_commit(void *pages, size_t bytes)
{
    return make_writable(pages, bytes, odi_pages_future_is_locked());
}

bool odi_pages_space_is_limited(void)
{
    struct rlimit space;

    return getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY;
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
