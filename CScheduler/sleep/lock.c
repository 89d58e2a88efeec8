#include "sleep/lock.h"

#include <stddef.h>

#include "os/futex.h"

/* A holder needs some hundred nanoseconds: worth waiting for awake, if it is running. */
#ifndef ODI_LOCK_SPINS
#define ODI_LOCK_SPINS 64
#endif

/* As often a sleeper may be woken and find the lock taken: to hand it over costs a wake-up in which
 * nobody holds it. */
#ifndef ODI_LOCK_PATIENCE
#define ODI_LOCK_PATIENCE 4
#endif

_Thread_local odi_atomic(bool) *odi_lock_sleeper __attribute__((tls_model("initial-exec")));

static void note_sleep(bool sleeps)
{
    if (odi_lock_sleeper != NULL)
        odi_store_relaxed(odi_lock_sleeper, sleeps); /* relaxed: a hint */
}

/* Takes the lock, or marks it as awaited by one that has slept `slept` times. Returns FREE if the
 * caller has it, otherwise the word that it is to sleep on. A patient one that takes what was handed
 * over for another leaves it to be handed over again: the kernel wakes who sleeps longest, and who
 * starves has only just gone to sleep again. */
static uint32_t take_or_mark(odi_lock *lock, int slept)
{
    uint32_t mark = slept < ODI_LOCK_PATIENCE ? ODI_LOCK_AWAITED : ODI_LOCK_STARVED;
    uint32_t word = slept == 0 ? ODI_LOCK_HELD : ODI_LOCK_FREE; /* a guess: spares a load */

    for (;;) { /* ended by: a word that changed says of its new state */
        bool handed = word == ODI_LOCK_HANDED && slept > 0, takes = word == ODI_LOCK_FREE || handed;
        uint32_t taken = handed && mark == ODI_LOCK_AWAITED ? ODI_LOCK_STARVED : ODI_LOCK_AWAITED;

        if (!takes && word >= mark)
            return word;
        if (odi_cas_acquire(&lock->word, &word, takes ? taken : mark, K1))
            return takes ? ODI_LOCK_FREE : mark;
    }
}

void odi_lock_acquire_slow(odi_lock *lock)
{
    uint32_t word;

    for (int i = 0; odi_spins_on(i < ODI_LOCK_SPINS); i++) {
        uint32_t is_free = ODI_LOCK_FREE;

        odi_spin_pause();
        /* relaxed: the CAS decides, this only spares it */
        if (odi_load_relaxed(&lock->word) == ODI_LOCK_FREE &&
            odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1))
            return;
    }
    note_sleep(true);
    for (int slept = 0; (word = take_or_mark(lock, slept)) != ODI_LOCK_FREE; slept++)
        odi_futex_wait(&lock->word, word, ODI_FOREVER); /* ended by: release */
    note_sleep(false);
}

/* Only the holder takes the word down: it is AWAITED, and may become STARVED meanwhile. */
void odi_lock_release_slow(odi_lock *lock)
{
    uint32_t awaited = ODI_LOCK_AWAITED;

    if (!odi_cas_release(&lock->word, &awaited, ODI_LOCK_FREE, K1))
        odi_store_release(&lock->word, ODI_LOCK_HANDED, K1);
    odi_futex_wake(&lock->word, 1);
}
