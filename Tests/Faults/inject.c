/* inject.c — stands between the engine and what it calls (the linker's --wrap), so that calls
 * can be refused. Only the engine's own calls and this suite's come here: what the C library
 * calls inside itself does not, which is what rlimits, seccomp and strace are for. */
#include "Faults/faults.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

injection of_threads, of_heap, of_maps, of_pins, of_calls;
atomic_int futex_lies;
atomic_uint futex_lied;
atomic_uint wall_reads;

void injection_arm(injection *it, int nth, int from, int one_in)
{
    atomic_store(&it->calls, 0);
    atomic_store(&it->paused, false);
    atomic_store(&it->nth, nth);
    atomic_store(&it->from, from);
    atomic_store(&it->one_in, one_in);
}

void injection_end(injection *it)
{
    atomic_store(&it->nth, INJECT_NEVER);
    atomic_store(&it->from, INJECT_NEVER);
    atomic_store(&it->one_in, INJECT_NEVER);
}

void injection_pause(injection *it, bool paused)
{
    atomic_store(&it->paused, paused);
}

unsigned injection_take(injection *it)
{
    return (unsigned)atomic_exchange(&it->refused, 0);
}

static atomic_ullong seed_of_all;

void injection_seed(uint64_t seed)
{
    atomic_store(&seed_of_all, seed);
}

static bool strikes_one_in(int chances)
{
    static _Thread_local prng random;
    static atomic_uint streams;

    if (random.state == 0)
        random = prng_for(atomic_load(&seed_of_all), 200 + atomic_fetch_add(&streams, 1));
    return chances > 0 && prng_one_in(&random, (uint32_t)chances);
}

static bool refuses(injection *it)
{
    int nth = atomic_load(&it->nth), from = atomic_load(&it->from);
    int one_in = atomic_load(&it->one_in);

    if ((nth == 0 && from == 0 && one_in == 0) || atomic_load(&it->paused))
        return false;
    int call = atomic_fetch_add(&it->calls, 1) + 1;
    bool refused = call == nth || (from > 0 && call >= from) || strikes_one_in(one_in);
    if (refused)
        atomic_fetch_add(&it->refused, 1);
    return refused;
}

/* ---- what is wrapped ---- */

int __wrap_pthread_create(void *thread, const void *attributes, void *(*body)(void *),
                          void *argument);
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __real_mprotect(void *at, size_t bytes, int protection);
int __wrap_mprotect(void *at, size_t bytes, int protection);
int __real_numa_available(void);
int __wrap_numa_available(void);
long __real_mbind(void *at, unsigned long bytes, int policy, const unsigned long *nodes,
                  unsigned long most, unsigned flags);
long __wrap_mbind(void *at, unsigned long bytes, int policy, const unsigned long *nodes,
                  unsigned long most, unsigned flags);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *rest);

int __wrap_pthread_create(void *thread, const void *attributes, void *(*body)(void *),
                          void *argument)
{
    if (refuses(&of_threads))
        return EAGAIN;
    int error = __real_pthread_create(thread, attributes, body, argument);
    atomic_fetch_add(&of_threads.refused, error != 0);
    return error;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* What the C library could not give was refused, too. */
static void *counted(void *memory)
{
    atomic_fetch_add(&of_heap.refused, memory == NULL);
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return refuses(&of_heap) ? no_memory() : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return refuses(&of_heap) ? no_memory() : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return refuses(&of_heap) ? no_memory() : counted(__real_realloc(memory, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return refuses(&of_heap) ? no_memory() : counted(__real_aligned_alloc(alignment, bytes));
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (refuses(&of_maps)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *pages = __real_mmap(at, bytes, protection, flags, file, offset);
    atomic_fetch_add(&of_maps.refused, pages == MAP_FAILED);
    return pages;
}

int __wrap_mprotect(void *at, size_t bytes, int protection)
{
    if (refuses(&of_maps)) {
        errno = ENOMEM;
        return -1;
    }
    int status = __real_mprotect(at, bytes, protection);
    atomic_fetch_add(&of_maps.refused, status != 0);
    return status;
}

/* ---- what the kernel refuses ---- */

int __wrap_numa_available(void)
{
    int status = __real_numa_available();

    atomic_fetch_add(&of_calls.refused, status < 0);
    return status;
}

long __wrap_mbind(void *at, unsigned long bytes, int policy, const unsigned long *nodes,
                  unsigned long most, unsigned flags)
{
    long status = __real_mbind(at, bytes, policy, nodes, most, flags);

    /* Not that there is no such node, which is another fault's doing. */
    atomic_fetch_add(&of_calls.refused,
                     status != 0 && (errno == EPERM || errno == ENOSYS || errno == ENOMEM));
    return status;
}

static void note_refusal(long number, long result)
{
    if (result >= 0)
        return;
    if (number == SYS_sched_setaffinity)
        atomic_fetch_add(&of_pins.refused, 1);
    else if (number == SYS_sched_getaffinity || number == SYS_membarrier)
        atomic_fetch_add(&of_calls.refused, 1);
}

/* ---- futexes that lie, and clocks ---- */

static void dawdle(void)
{
    struct timespec rest = {0, 200000};

    nanosleep(&rest, NULL);
}

long __wrap_syscall(long number, ...)
{
    long words[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);

    if (number == SYS_futex) {
        int lies = atomic_load(&futex_lies);

        if (words[1] & FUTEX_CLOCK_REALTIME)
            atomic_fetch_add(&wall_reads, 1);
        if (lies > 0 && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
            bool interrupted = strikes_one_in(lies);

            if (interrupted || strikes_one_in(lies)) {
                atomic_fetch_add(&futex_lied, 1);
                errno = EINTR;
                return interrupted ? -1 : 0;
            }
        } else if (lies > 0 && strikes_one_in(16 * lies))
            dawdle();
    }
    long result =
        __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    note_refusal(number, result);
    return result;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        atomic_fetch_add(&wall_reads, 1);
    return __real_clock_gettime(clock, now);
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *rest)
{
    if (clock == CLOCK_REALTIME)
        atomic_fetch_add(&wall_reads, 1);
    return __real_clock_nanosleep(clock, flags, time, rest);
}
