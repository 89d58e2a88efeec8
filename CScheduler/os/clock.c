/* clock.c — reads the monotonic clocks and a thread's CPU clock, and sleeps. Nothing here reads the wall
 * clock. */
#include "os/clock.h"

#include <errno.h>
#include <time.h>

int64_t odi_clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ODI_SECOND + now.tv_nsec;
}

int64_t odi_clock_coarse(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * ODI_SECOND + now.tv_nsec;
}

int64_t odi_clock_after(int64_t delay_ns)
{
    int64_t now = odi_clock_now();

    return delay_ns >= INT64_MAX - now ? INT64_MAX : now + delay_ns;
}

int64_t odi_clock_cpu(int clock)
{
    struct timespec used;

    if (clock_gettime((clockid_t)clock, &used) != 0)
        return -1;
    return (int64_t)used.tv_sec * ODI_SECOND + used.tv_nsec;
}

void odi_clock_sleep(int64_t ns)
{
    struct timespec rest = {(time_t)(ns / ODI_SECOND), (long)(ns % ODI_SECOND)};

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
    }
}
