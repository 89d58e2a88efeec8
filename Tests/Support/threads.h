/* threads.h — starts several threads with one function, which receives the thread's number. */
#ifndef SUPPORT_THREADS_H
#define SUPPORT_THREADS_H

#include <pthread.h>

#include "Support/check.h"

static inline void start_threads(pthread_t *threads, int count, void *(*body)(void *number))
{
    for (intptr_t number = 0; number < count; number++) {
        if (pthread_create(&threads[number], NULL, body, (void *)number) != 0)
            abort();
    }
}

static inline void join_threads(const pthread_t *threads, int count)
{
    for (int number = 0; number < count; number++)
        pthread_join(threads[number], NULL);
}

/* Runs the function on all threads at once, and returns when the last thread has finished. */
static inline void run_on_threads(int count, void *(*body)(void *number))
{
    enum { MOST = 128 };
    pthread_t threads[MOST];

    if (count > MOST)
        abort();
    start_threads(threads, count, body);
    join_threads(threads, count);
}

#endif
