/* lock.c — the slow paths of the one-word mutex: spinning, sleeping and waking. */
#include "sleep/lock.h"

#include <stddef.h>
#include <string.h>

#include "os/futex.h"

/* Rounds of spinning before a sleep. A holder needs a few hundred nanoseconds if it is running. */
#ifndef ODI_LOCK_SPINS
#define ODI_LOCK_SPINS 64
#endif

/* A sleeper may find the lock taken this many times. A hand-over costs a wake-up during which no thread holds
 * the lock. */
#ifndef ODI_LOCK_PATIENCE
#define ODI_LOCK_PATIENCE 4
#endif

_Thread_local odi_atomic(bool) *odi_lock_sleeper __attribute__((tls_model("initial-exec")));

static void note_sleep(bool sleeps)
{
    if (odi_lock_sleeper != NULL)
        odi_store_relaxed(odi_lock_sleeper, sleeps); /* relaxed: a hint */
}

static bool has_patience(int tries)
{
    return tries < ODI_LOCK_PATIENCE;
}

/* Tries to take the lock. Returns false with the current state in *word. */
static bool take(odi_lock *lock, int tries, uint16_t *word)
{
    *word = odi_load_relaxed(&lock->word); /* relaxed: the CAS or the kernel rechecks it */
    while (*word == ODI_LOCK_FREE || (*word == ODI_LOCK_HANDED && !has_patience(tries))) {
        if (!odi_cas_acquire(&lock->word, word, ODI_LOCK_HELD, K1))
            continue;
        if (tries > 0) /* relaxed: read by this thread's own release */
            odi_store_relaxed(&lock->mark, ODI_LOCK_AWAITED);
        return true;
    }
    return false;
}

/* The wait ends by a release. */
static void sleep_while(odi_lock *lock, uint16_t word, int tries)
{
    uint16_t mark = has_patience(tries) ? ODI_LOCK_AWAITED : ODI_LOCK_STARVED;
    uint16_t before = odi_or_relaxed(&lock->mark, mark); /* relaxed: K2's fence follows */
    uint16_t halves[2] = {word, before | mark};
    uint32_t both;

    if (halves[1] != before)
        odi_fence_heavy(K2);
    memcpy(&both, halves, sizeof both);
    odi_futex_wait_as(&lock->both, both, ODI_FOREVER, mark);
}

void odi_lock_acquire_slow(odi_lock *lock)
{
    uint16_t word;

    for (int i = 0; odi_spins_on(i < ODI_LOCK_SPINS); i++) {
        uint16_t is_free = ODI_LOCK_FREE;

        odi_spin_pause();
        /* relaxed: the CAS decides; this load avoids a useless CAS */
        if (odi_load_relaxed(&lock->word) == ODI_LOCK_FREE &&
            odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1))
            return;
    }
    note_sleep(true);
    for (int tries = 0; !take(lock, tries, &word); tries++)
        sleep_while(lock, word, tries);
    note_sleep(false);
}

void odi_lock_wake(odi_lock *lock)
{
    uint16_t mark = odi_swap_relaxed(&lock->mark, 0); /* relaxed: only the thread that clears the mark wakes a
                                                         sleeper */

    if (mark & ODI_LOCK_STARVED) /* the lock may be handed only to a starved sleeper */
        odi_futex_wake_named(&lock->both, 1, ODI_LOCK_STARVED);
    else if (mark != 0)
        odi_futex_wake(&lock->both, 1);
}

void odi_lock_release_last(odi_lock *lock)
{
    odi_invariant(odi_load_relaxed(&lock->word) == ODI_LOCK_HELD); /* relaxed: as in odi_lock_release */
    odi_store_release(&lock->word, ODI_LOCK_FREE, K1);
    odi_futex_wake(&lock->both, 1); /* uses only the address */
}
