/* lock.h — a mutex of one word for the cold paths: held for a few lines, never around a
 * caller's code. Unlike a pthread mutex it is valid when zeroed, and can be reset in a forked
 * child.
 *
 * Drepper, "Futexes are tricky" (2011), section 5, mutex 2.
 *
 * Edges    K1  unlock -> lock   release/acquire   what the section before wrote
 * How a wait ends: by the holder's unlock.
 */
#ifndef ODI_SLEEP_LOCK_H
#define ODI_SLEEP_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"

#pragma GCC visibility push(hidden)

typedef struct {
    odi_atomic(uint32_t) word; /* FREE, HELD, or HELD with sleepers */
} odi_lock;

enum { ODI_LOCK_FREE, ODI_LOCK_HELD, ODI_LOCK_AWAITED };

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
    if (ODI_UNLIKELY(odi_swap_release(&lock->word, ODI_LOCK_FREE, K1) == ODI_LOCK_AWAITED))
        odi_lock_release_slow(lock);
}

#pragma GCC visibility pop

#endif
