/* clock.h — os/clock.c for the model: time stands still. */
#include "os/clock.h"

int64_t odi_clock_now(void)
{
    return 0;
}

int64_t odi_clock_after(int64_t delay_ns)
{
    return delay_ns;
}

void odi_clock_sleep(int64_t ns)
{
    (void)ns;
}
