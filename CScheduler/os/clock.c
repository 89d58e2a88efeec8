/* clock.c — reads the monotonic clocks and a thread's CPU clock, and sleeps. Nothing here reads the wall
 * clock. */
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/control.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

int64_t odi_clock_now(void)
{
    struct timespec now;

    if (ODI_UNLIKELY(odi_is_controlled()))
        return odi_control_now();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ODI_SECOND + now.tv_nsec;
}

int64_t odi_clock_coarse(void)
{
    struct timespec now;

    if (ODI_UNLIKELY(odi_is_controlled()))
        return odi_control_now();
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * ODI_SECOND + now.tv_nsec;
}

#if defined(__x86_64__)
/* The kernel tests the counter all the time, and changes to another clock when it goes wrong. */
static bool kernel_trusts_ticks(void)
{
    char name[8] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    ssize_t length = read(file, name, sizeof name - 1);
    close(file);
    return length == 4 && memcmp(name, "tsc\n", 4) == 0;
}

bool odi_clock_ticks_are_steady(void)
{
    enum { POWER = 0x80000007, INVARIANT = 1 << 8 };
    unsigned a, b, c, d;

    return __get_cpuid(POWER, &a, &b, &c, &d) != 0 && (d & INVARIANT) != 0 && kernel_trusts_ticks();
}
#else
bool odi_clock_ticks_are_steady(void)
{
#if defined(__aarch64__)
    return true; /* by its architecture */
#else
    return false;
#endif
}
#endif

int64_t odi_clock_after(int64_t delay_ns)
{
    int64_t now = odi_clock_now();

    return delay_ns >= INT64_MAX - now ? INT64_MAX : now + delay_ns;
}

int64_t odi_clock_cpu(int clock)
{
    struct timespec used;

    if (ODI_UNLIKELY(odi_is_controlled()))
        return 0; /* in a run that is repeated, times must be too */
    if (clock_gettime((clockid_t)clock, &used) != 0)
        return -1;
    return (int64_t)used.tv_sec * ODI_SECOND + used.tv_nsec;
}

void odi_clock_sleep(int64_t ns)
{
    struct timespec rest = {(time_t)(ns / ODI_SECOND), (long)(ns % ODI_SECOND)};

    if (ODI_UNLIKELY(odi_is_controlled())) {
        odi_control_sleep(ns);
        return;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
    }
}
