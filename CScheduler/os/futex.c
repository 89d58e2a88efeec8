/* futex.c — the futex system call, with absolute deadlines and named sleepers. */
#include "os/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/control.h"

odi_futex_result odi_futex_wait_as(odi_atomic(uint32_t) *word, uint32_t expected,
                                   int64_t deadline_ns, uint32_t name)
{
    struct timespec deadline, *until = NULL;

    if (ODI_UNLIKELY(odi_is_controlled()))
        return (odi_futex_result)odi_control_futex_wait(word, expected, deadline_ns, name);
    if (deadline_ns != ODI_FOREVER) {
        if (deadline_ns < 0)
            deadline_ns = 0;
        deadline.tv_sec = (time_t)(deadline_ns / 1000000000);
        deadline.tv_nsec = (long)(deadline_ns % 1000000000);
        until = &deadline;
    }
    /* The bitset form takes an absolute deadline, so that repeated signals cannot extend the wait. */
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                          until, NULL, name);
    if (result == 0)
        return ODI_FUTEX_WOKEN;
    if (errno == ETIMEDOUT)
        return ODI_FUTEX_TIMED_OUT;
    return errno == EAGAIN ? ODI_FUTEX_CHANGED : ODI_FUTEX_WOKEN;
}

odi_futex_result odi_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected,
                                int64_t deadline_ns)
{
    return odi_futex_wait_as(word, expected, deadline_ns, FUTEX_BITSET_MATCH_ANY);
}

int odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names)
{
    /* The kernel knows the sleepers outside the run. */
    int woken = ODI_UNLIKELY(odi_traces()) ? odi_control_futex_wake(word, count, names) : 0;

    if (woken >= count)
        return woken;
    return woken + (int)syscall(SYS_futex, word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count - woken, NULL,
                        NULL, names);
}

int odi_futex_wake(odi_atomic(uint32_t) *word, int count)
{
    return odi_futex_wake_named(word, count, FUTEX_BITSET_MATCH_ANY);
}
