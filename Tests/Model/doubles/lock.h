/* lock.h — sleep/lock.c for the model, where the lock is not what is explored: who finds it
 * held waits. (scenarios/lock.c has the lock itself, with its sleepers.) Included before the files under
 * test.
 */
#define odi_lock_acquire odi_lock_acquire_itself
#define odi_lock_release odi_lock_release_itself
#include "sleep/lock.h"
#undef odi_lock_acquire
#undef odi_lock_release

#include "model/check.h"

_Thread_local odi_atomic(bool) *odi_lock_sleeper __attribute__((tls_model("initial-exec")));

static inline void odi_lock_acquire(odi_lock *lock)
{
    uint16_t word = ODI_LOCK_FREE;

    while (!odi_cas_acquire(&lock->word, &word, ODI_LOCK_HELD, K1)) {
        odi_spin_pause();
        word = ODI_LOCK_FREE;
    }
}

static inline void odi_lock_release(odi_lock *lock)
{
    odi_store_release(&lock->word, ODI_LOCK_FREE, K1);
}

void odi_lock_release_last(odi_lock *lock) { odi_lock_release(lock); }
