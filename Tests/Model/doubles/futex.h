/* futex.h — os/futex.c for the model. A deadline never comes, so that a wake-up that is lost
 * is seen and not slept through; or at once, where a scenario asks for that. */
#include "os/futex.h"

#include "model/check.h"

static bool deadlines_come;

odi_futex_result odi_futex_wait_as(odi_atomic(uint32_t) *word, uint32_t expected,
                                   int64_t deadline_ns, uint32_t name)
{
    if (deadlines_come && deadline_ns != ODI_FOREVER)
        return ODI_FUTEX_TIMED_OUT;
    return model_futex_wait(word, expected, name) ? ODI_FUTEX_WOKEN : ODI_FUTEX_CHANGED;
}

odi_futex_result odi_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
    return odi_futex_wait_as(word, expected, deadline_ns, UINT32_MAX);
}

int odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names)
{
    return model_futex_wake(word, count, names);
}

int odi_futex_wake(odi_atomic(uint32_t) *word, int count)
{
    return model_futex_wake(word, count, UINT32_MAX);
}
