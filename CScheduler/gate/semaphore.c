/* semaphore.c — semaphores for jobs: a worker that waits hands its place over. */
#include "include/od_semaphore.h"

#include <stdlib.h>

#include "base/invariant.h"
#include "job/semaphore.h"
#include "os/clock.h"
#include "worker/worker.h"

od_semaphore *od_semaphore_create(int64_t value)
{
    if (value < 0)
        odi_trap("CountingSemaphore(value: %lld): choose 0 or more permits", (long long)value);
    return odi_semaphore_new(value);
}

int64_t od_semaphore_value(od_semaphore *semaphore)
{
    return odi_load_relaxed(&semaphore->value); /* relaxed: a hint */
}

void od_semaphore_release(od_semaphore *semaphore)
{
    int64_t value = od_semaphore_value(semaphore);

    if (value < semaphore->initial)
        odi_trap("CountingSemaphore with %lld permits was released while it had %lld: signal() "
                 "as often as wait() before letting it go",
                 (long long)semaphore->initial, (long long)value);
    odi_semaphore_free(semaphore);
}

ODI_COLD static bool wait_in_line(od_semaphore *semaphore, odi_waiter *waiter, int64_t deadline)
{
    odi_blocking_begin("for a semaphore", NULL);
    bool granted = odi_semaphore_await(waiter, deadline) ||
                   !odi_semaphore_give_up(semaphore, waiter);
    od_blocking_end();
    return granted;
}

bool od_semaphore_wait(od_semaphore *semaphore, int64_t timeout_ns)
{
    odi_waiter waiter = {0};

    if (timeout_ns <= 0)
        return odi_semaphore_try(semaphore);
    return odi_semaphore_begin(semaphore, &waiter) == ODI_WAITER_GRANTED ||
           wait_in_line(semaphore, &waiter, odi_clock_after(timeout_ns));
}

/* ---- waiting without a thread ---- */

od_semaphore_waiter *od_semaphore_waiter_create(void (*function)(void *), void *context)
{
    odi_waiter *waiter = calloc(1, sizeof *waiter);

    if (waiter != NULL) {
        waiter->function = function;
        waiter->context = context;
    }
    return waiter;
}

void od_semaphore_waiter_free(od_semaphore_waiter *waiter)
{
    free(waiter);
}

od_semaphore_outcome od_semaphore_wait_async(od_semaphore *semaphore,
                                             od_semaphore_waiter *waiter)
{
    switch (odi_semaphore_begin(semaphore, waiter)) {
    case ODI_WAITER_GRANTED:
        return OD_SEMAPHORE_TAKEN;
    case ODI_WAITER_GONE:
        return OD_SEMAPHORE_CANCELLED;
    default:
        return OD_SEMAPHORE_WAITS;
    }
}
