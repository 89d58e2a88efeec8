/* memory_failure.h — makes allocations fail at a moment that the test chooses. Exactly one file of a program
 * includes it. */
#ifndef SUPPORT_MEMORY_FAILURE_H
#define SUPPORT_MEMORY_FAILURE_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "Support/check.h"

/* Number of allocations that still succeed; negative: all succeed. */
static atomic_int grants = -1;

/* Number of allocations that then fail before all succeed again; negative: all fail. */
static atomic_int refusals = -1;

/* Whether calloc and realloc count too, which includes the C library's allocations for a thread. */
static atomic_bool of_every_kind;

/* A sanitizer has its own allocator, so these tests do not run there. */
#if !UNDER_TSAN && !UNDER_ASAN

static bool refused(void)
{
    int left = atomic_load(&grants);

    while (left > 0 && !atomic_compare_exchange_weak(&grants, &left, left - 1)) {
    }
    if (left != 0)
        return false;
    left = atomic_load(&refusals);
    while (left > 0 && !atomic_compare_exchange_weak(&refusals, &left, left - 1)) {
    }
    if (left == 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return atomic_load(&of_every_kind) && refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return atomic_load(&of_every_kind) && refused() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refused() ? NULL : __libc_memalign(alignment, size);
}

void *mmap(void *where, size_t size, int protection, int flags, int file, off_t offset)
{
    return refused() ? MAP_FAILED
                     : (void *)syscall(SYS_mmap, where, size, protection, flags, file, offset);
}

#endif

static int memory_again(void **state)
{
    atomic_store(&grants, -1);
    atomic_store(&refusals, -1);
    atomic_store(&of_every_kind, false);
    return 0;
}

#define MEMORY_TEST(name) TEST_UNSANITIZED(name, NULL, memory_again)

#endif
