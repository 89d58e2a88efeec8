/* futex_now.h — os/futex.c for the model, where some deadlines are over: a wait until
 * DEADLINE_NOW times out at once, every other deadline never comes (futex.h). */
#define odi_futex_wait odi_futex_wait_long
#include "doubles/futex.h"
#undef odi_futex_wait

enum { DEADLINE_NOW = 0 };

odi_futex_result odi_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
    if (deadline_ns == DEADLINE_NOW)
        return ODI_FUTEX_TIMED_OUT;
    return odi_futex_wait_long(word, expected, deadline_ns);
}
