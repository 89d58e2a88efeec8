/* clock_watching.h — a descriptor that can be read once the wall clock was set, or the machine slept. */
#ifndef CLOCK_WATCHING_H
#define CLOCK_WATCHING_H

#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Has it tell the next time too. What happens from here on is told. */
static inline void od_clock_watch_again(int descriptor) {
    struct itimerspec far = {.it_value = {.tv_sec = (time_t)1 << 33}};
    uint64_t expired;

    if (read(descriptor, &expired, sizeof expired) >= 0) {
        /* The far day has come. */
    }
    (void)timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
}

/* -1 when the system gives none. */
static inline int od_clock_watch_open(void) {
    int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

    if (descriptor >= 0)
        od_clock_watch_again(descriptor);
    return descriptor;
}

#endif
