/* thread.h — os/thread.c for the model: odi_thread_start gives work to a thread that the
 * scenario lists as model_started_thread, in the order of the calls.
 */
#include "os/thread.h"

#include <errno.h>

#include "base/atomic.h"
#include "model/scenario.h"

enum { STARTED_THREADS = 3 };

/* So many, which `prepare` may make fewer; no further one can be had. */
static uint32_t threads_to_be_had = STARTED_THREADS;
static odi_atomic(uint32_t) threads_started;
static struct {
    odi_atomic(bool) ready;
    void (*body)(void *);
    void *argument;
    unsigned by; /* which thread */
} started[STARTED_THREADS];

int odi_thread_start(void (*body)(void *), void *argument, size_t stack_bytes, const char *name)
{
    uint32_t n = odi_add_relaxed(&threads_started, 1);

    model_check(n < STARTED_THREADS);
    if (n >= threads_to_be_had)
        return EAGAIN;
    started[n].body = body;
    started[n].argument = argument;
    started[n].by = model_thread();
    odi_store_release(&started[n].ready, true, none);
    return 0;
}

/* `n`: which of the started threads this one is. */
static inline void model_run_started(unsigned n)
{
    while (!odi_load_acquire(&started[n].ready, none))
        model_unborn();
    started[n].body(started[n].argument);
}

static inline void model_started_thread(void) { model_run_started(0); }
static inline void model_second_started_thread(void) { model_run_started(1); }
