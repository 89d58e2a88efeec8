#include "sleep/lock.h"

#include <stddef.h>

#include "os/futex.h"

/* A holder needs some hundred nanoseconds: worth waiting for awake, if it is running. */
#ifndef ODI_LOCK_SPINS
#define ODI_LOCK_SPINS 64
#endif

_Thread_local odi_atomic(bool) *odi_lock_sleeper __attribute__((tls_model("initial-exec")));

static void note_sleep(bool sleeps)
{
    if (odi_lock_sleeper != NULL)
        odi_store_relaxed(odi_lock_sleeper, sleeps); /* relaxed: a hint */
}

void odi_lock_acquire_slow(odi_lock *lock)
{
    for (int i = 0; i < ODI_LOCK_SPINS; i++) {
        uint32_t is_free = ODI_LOCK_FREE;

        odi_spin_pause();
        /* relaxed: the CAS decides, this only spares it */
        if (odi_load_relaxed(&lock->word) == ODI_LOCK_FREE &&
            odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1))
            return;
    }
    note_sleep(true);
    while (odi_swap_acquire(&lock->word, ODI_LOCK_AWAITED, K1) != ODI_LOCK_FREE)
        odi_futex_wait(&lock->word, ODI_LOCK_AWAITED, ODI_FOREVER); /* ended by: release */
    note_sleep(false);
}

void odi_lock_release_slow(odi_lock *lock)
{
    odi_futex_wake(&lock->word, 1);
}
