/* The hot paths of a running pool neither allocate, nor lock, nor enter the kernel.
 *
 * The linker sends every call of the functions below through a wrapper that is declared
 * nonblocking, and the realtime sanitizer stops the program when anything inside allocates,
 * takes a mutex or makes a system call. The pool is real: submitters outside and inside,
 * thieves, workers that park and are woken. Two doors are open: the futex wake, and, where a
 * queue has to grow, the pages it grows by and the retirement of what it grew out of. Wakes
 * and growths are counted.
 *
 * With the argument "break", a wrapper allocates: the sanitizer has to see it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sanitizer/rtsan_interface.h>

#include "include/od_pool.h"
#include "job/record.h"
#include "os/futex.h"
#include "os/pages.h"
#include "queue/deque.h"
#include "queue/injector.h"
#include "sleep/idle.h"
#include "worker/run.h"

static atomic_ulong calls[16], wakes, growths;
static const char *names[16];

#define COUNT(index, name)                                                                \
    (names[index] = (name), (void)atomic_fetch_add_explicit(&calls[index], 1, memory_order_relaxed))

#define NONBLOCKING(index, type, name, parameters, arguments)                             \
    type __real_##name parameters;                                                        \
    type __wrap_##name parameters __attribute__((nonblocking));                           \
    type __wrap_##name parameters __attribute__((nonblocking))                            \
    {                                                                                     \
        COUNT(index, #name);                                                              \
        return __real_##name arguments;                                                   \
    }

NONBLOCKING(0, bool, odi_deque_push, (odi_deque *d, odi_entry e), (d, e))
NONBLOCKING(1, bool, odi_deque_take, (odi_deque *d, odi_entry *e), (d, e))
NONBLOCKING(2, size_t, odi_deque_steal, (odi_deque *d, odi_entry *e, size_t n), (d, e, n))
NONBLOCKING(3, bool, odi_injector_push, (odi_injector *i, odi_entry e), (i, e))
NONBLOCKING(4, size_t, odi_injector_claim, (odi_injector *i, odi_entry *e, size_t n), (i, e, n))
NONBLOCKING(5, odi_signal, odi_idle_signal, (odi_idle *i), (i))
NONBLOCKING(6, bool, odi_idle_try_search, (odi_idle *i), (i))
NONBLOCKING(7, void, odi_idle_found, (odi_idle *i), (i))
NONBLOCKING(8, uint32_t, odi_idle_announce, (odi_idle *i, bool s), (i, s))
NONBLOCKING(9, bool, odi_idle_leave, (odi_idle *i), (i))
NONBLOCKING(10, bool, odi_worker_end_run, (odi_worker *w), (w))

/* The doors. */
int __real_odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names);
int __wrap_odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names);
int __wrap_odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names_woken)
{
    __rtsan_disable();
    int woken = __real_odi_futex_wake_named(word, count, names_woken);
    __rtsan_enable();
    atomic_fetch_add(&wakes, 1);
    return woken;
}

int __real_odi_futex_wake(odi_atomic(uint32_t) *word, int count);
int __wrap_odi_futex_wake(odi_atomic(uint32_t) *word, int count);
int __wrap_odi_futex_wake(odi_atomic(uint32_t) *word, int count)
{
    __rtsan_disable();
    int woken = __real_odi_futex_wake(word, count);
    __rtsan_enable();
    atomic_fetch_add(&wakes, 1);
    return woken;
}

void *__real_odi_pages_new(size_t bytes, int node);
void *__wrap_odi_pages_new(size_t bytes, int node);
void *__wrap_odi_pages_new(size_t bytes, int node)
{
    __rtsan_disable();
    void *pages = __real_odi_pages_new(bytes, node);
    __rtsan_enable();
    atomic_fetch_add(&growths, 1);
    return pages;
}

void __real_odi_retire(odi_retired *retired, void (*destroy)(odi_retired *));
void __wrap_odi_retire(odi_retired *retired, void (*destroy)(odi_retired *));
void __wrap_odi_retire(odi_retired *retired, void (*destroy)(odi_retired *))
{
    __rtsan_disable();
    __real_odi_retire(retired, destroy); /* it may start the reclaimer's thread */
    __rtsan_enable();
}

enum { ROUNDS = 300, BURST = 24, CHILDREN = 4, SUBMITTERS = 2 };

static od_pool *pool;
static atomic_ulong ran;

static void child(void *nothing)
{
    (void)nothing;
    atomic_fetch_add(&ran, 1);
}

static void parent(void *nothing)
{
    for (int i = 0; i < CHILDREN; i++)
        od_pool_submit(pool, OD_BAND_DEFAULT, child, nothing);
    atomic_fetch_add(&ran, 1);
}

static void *submitter(void *nothing)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++)
            od_pool_submit(pool, OD_BAND_DEFAULT, parent, nothing);
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
    return NULL;
}

static void *volatile leaked;

static void allocate(void) __attribute__((nonblocking));
static void allocate(void) __attribute__((nonblocking))
{
    leaked = malloc(16);
}

int main(int count, char **arguments)
{
    pthread_t threads[SUBMITTERS];
    od_pool_options options;
    od_stop_report report;
    unsigned long wanted = (unsigned long)SUBMITTERS * ROUNDS * BURST * (1 + CHILDREN);
    int failed = 0, passed = 0;

    if (count > 1 && strcmp(arguments[1], "break") == 0)
        allocate();
    od_pool_options_init(&options);
    options.workers = 3;
    if (od_pool_create(&options, &pool, NULL, 0) != OD_OK)
        return 1;
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_create(&threads[i], NULL, submitter, NULL);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    od_pool_stop(pool, INT64_C(60000000000), &report);
    od_pool_free(pool);

    for (int i = 0; i < 11; i++) {
        bool called = names[i] != NULL;

        passed += called;
        failed += !called;
        printf("[  %s  ] %s: %lu calls\n", called ? "PASSED" : "FAILED",
               called ? names[i] : "one that was never called", atomic_load(&calls[i]));
    }
    passed += ran == wanted;
    failed += ran != wanted;
    printf("[  %s  ] %lu of %lu jobs ran; %lu wakes, %lu growths\n",
           ran == wanted ? "PASSED" : "FAILED", atomic_load(&ran), wanted,
           atomic_load(&wakes), atomic_load(&growths));
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
