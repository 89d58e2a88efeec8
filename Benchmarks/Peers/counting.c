/* counting.c — a library to preload: counts what a program asks of the allocator and of syscall(2).
 *
 * Counts do not depend on how busy the machine is, so they can gate where times cannot. glibc's own
 * futexes (in its mutexes and conditions) are not seen: they are system calls without syscall(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_uint_fast64_t allocations, futexes, calls;

static void count(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* For the harness: {allocations, futexes, system calls by syscall()} so far. */
void counting_read(uint64_t counts[3])
{
    counts[0] = atomic_load_explicit(&allocations, memory_order_relaxed);
    counts[1] = atomic_load_explicit(&futexes, memory_order_relaxed);
    counts[2] = atomic_load_explicit(&calls, memory_order_relaxed);
}

void *malloc(size_t size)
{
    count(&allocations);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    count(&allocations);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
    count(&allocations);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
    count(&allocations);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    va_list list;
    long words[6];

    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "syscall");
        memcpy(&real, &found, sizeof found);
    }
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    count(&calls);
    if (number == SYS_futex)
        count(&futexes);
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
