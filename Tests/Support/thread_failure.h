/* thread_failure.h — makes the creation of threads fail at a moment that the test chooses.
 *
 * The engine asks for thread attributes right before each attempt. This program therefore replaces
 * pthread_attr_init, which can refuse or wait while the test prepares its state. Other threads of the program
 * start without attributes and do not call it.
 */
#ifndef SUPPORT_THREAD_FAILURE_H
#define SUPPORT_THREAD_FAILURE_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "Support/check.h"

/* Called before each attempt; returns the attempt's error, or 0. NULL: not called. */
static _Atomic(int (*)(void)) before_thread;
static atomic_int thread_attempts;

int pthread_attr_init(pthread_attr_t *attributes)
{
    static _Atomic(int (*)(pthread_attr_t *)) real;
    int (*next)(pthread_attr_t *) = atomic_load(&real);
    int (*hook)(void) = atomic_load(&before_thread);

    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_attr_init");

        memcpy(&next, &symbol, sizeof next);
        atomic_store(&real, next);
    }
    atomic_fetch_add(&thread_attempts, 1);
    int error = hook != NULL ? hook() : 0;
    return error != 0 ? error : next(attributes);
}

static inline int no_thread(void)
{
    return EAGAIN;
}

/* A test's teardown. */
static inline int threads_again(void **state)
{
    atomic_store(&before_thread, NULL);
    return 0;
}

#endif
