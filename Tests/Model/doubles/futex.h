/* futex.h — os/futex.c for the model. A deadline never comes, so that a wake-up that is lost
 * is seen and not slept through. */
#include "os/futex.h"

#include "model/check.h"

odi_futex_result odi_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected,
                                int64_t deadline_ns)
{
    (void)deadline_ns;
    return model_futex_wait(word, expected) ? ODI_FUTEX_WOKEN : ODI_FUTEX_CHANGED;
}

int odi_futex_wake(odi_atomic(uint32_t) *word, int count)
{
    return model_futex_wake(word, count);
}
