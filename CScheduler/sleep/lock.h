/* lock.h — a mutex of one word for the cold paths: held for a few lines, never around a
 * caller's code. Unlike a pthread mutex it is valid when zeroed, and can be reset in a forked
 * child.
 *
 * Drepper, "Futexes are tricky" (2011), section 5, mutex 2. There whoever is awake takes a lock that
 * is free, and a thread that takes it again and again keeps it from all that sleep. Here a sleeper
 * that came back ODI_LOCK_PATIENCE times and found the lock taken says so, and from then on releases
 * hand the lock down the line of those who have slept, until one without patience has it.
 *
 *     FREE     acquire -> HELD; on the way to sleep, or woken -> AWAITED: others may be asleep
 *     HELD     release -> FREE       a sleeper -> AWAITED, without patience -> STARVED
 *     AWAITED  release -> FREE, wakes one        a sleeper without patience -> STARVED
 *     STARVED  release -> HANDED, wakes one
 *     HANDED   one that has slept -> STARVED, without patience -> AWAITED
 *
 * Edges    K1  unlock -> lock   release/acquire   what the section before wrote
 * How a wait ends: by the holder's unlock. Who says STARVED stays until it has the lock, so one that is
 * handed over is taken: whoever is woken may, and who has not slept yet cannot come before.
 */
#ifndef ODI_SLEEP_LOCK_H
#define ODI_SLEEP_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"

#pragma GCC visibility push(hidden)

typedef struct {
    odi_atomic(uint32_t) word;
} odi_lock;

enum { /* in the order in which a holder's word may rise */
    ODI_LOCK_FREE,
    ODI_LOCK_HELD,    /* nobody sleeps, or somebody is awake who will say AWAITED */
    ODI_LOCK_AWAITED, /* held, with sleepers */
    ODI_LOCK_STARVED, /* held, and a sleeper has lost patience */
    ODI_LOCK_HANDED,  /* released to those who have slept */
};

/* Where a thread wants it noted that it sleeps for a lock and not for anything of its own; NULL
 * where it does not care. */
extern _Thread_local odi_atomic(bool) *odi_lock_sleeper
    __attribute__((tls_model("initial-exec")));

void odi_lock_acquire_slow(odi_lock *lock);
void odi_lock_release_slow(odi_lock *lock);

static inline void odi_lock_acquire(odi_lock *lock)
{
    uint32_t is_free = ODI_LOCK_FREE;

    if (ODI_UNLIKELY(!odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1)))
        odi_lock_acquire_slow(lock);
}

static inline void odi_lock_release(odi_lock *lock)
{
    uint32_t was_held = ODI_LOCK_HELD;

    if (ODI_UNLIKELY(!odi_cas_release(&lock->word, &was_held, ODI_LOCK_FREE, K1)))
        odi_lock_release_slow(lock);
}

#pragma GCC visibility pop

#endif
