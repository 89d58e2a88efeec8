/* futex.h — sleep on a word until another thread changes it.
 *
 * Owns the futex system call; never learns the meaning of the word. Any thread may call. After a wait the
 * caller must check the word again, because a return does not prove a change.
 */
#ifndef ODI_OS_FUTEX_H
#define ODI_OS_FUTEX_H

#include <stdint.h>

#include "base/atomic.h"

#pragma GCC visibility push(hidden)

/* Absolute CLOCK_MONOTONIC nanoseconds; ODI_FOREVER sleeps without a deadline. */
#define ODI_FOREVER INT64_MAX

typedef enum { ODI_FUTEX_WOKEN, ODI_FUTEX_CHANGED, ODI_FUTEX_TIMED_OUT } odi_futex_result;

/* Sleeps while *word == expected, until a wake, a signal, or the deadline. Ended by odi_futex_wake on this
 * word, or by the deadline. */
odi_futex_result odi_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected,
                                int64_t deadline_ns);

/* Wakes at most `count` sleepers; returns their number, or -1 if the word is misaligned. */
int odi_futex_wake(odi_atomic(uint32_t) *word, int count);

/* The variants for sleepers with a name: one bit each, which several sleepers may share. */
odi_futex_result odi_futex_wait_as(odi_atomic(uint32_t) *word, uint32_t expected,
                                   int64_t deadline_ns, uint32_t name);
int odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names);

#pragma GCC visibility pop

#endif
