/* lock.h — a mutex of one word for cold paths. A holder keeps it for a few lines, never around a caller's
 * code. Unlike a pthread mutex it is valid when zeroed, and can be reset in a forked child.
 *
 * A release is a plain store followed by a load of the sleepers' mark. The sleeper pays for the order of the
 * two with a heavy fence. This is Dekker's handshake in asymmetric form (Dice, Huang and Yang, "Asymmetric
 * Dekker synchronization", 2001). A releasing thread therefore reads the lock after another thread may have
 * acquired it, so the memory must still be a lock. A thread that frees the memory around the lock releases it
 * by odi_lock_release_last.
 *
 * Any running thread may take a free lock, so one thread could starve the sleepers. A sleeper that has found
 * the lock taken ODI_LOCK_PATIENCE times marks itself as starved. Releases then hand the lock to a starved
 * sleeper.
 *
 *     word   FREE     acquire -> HELD
 *            HELD     release -> FREE, or HANDED if the mark is STARVED
 *            HANDED   a starved sleeper -> HELD
 *     mark   a thread before its sleep sets AWAITED, or STARVED when out of patience;
 *            a release that finds a mark clears it and wakes one sleeper;
 *            a former sleeper that takes the lock sets AWAITED, because others may still sleep
 *
 * Edges    K1  unlock -> lock   release/acquire   writes of the previous section
 *          K2  unlock <-> going to sleep   light/heavy fence   the releaser sees the mark, or the sleeper
 *                                                              sees the release
 *
 * A wait ends by a release. The kernel compares both halves, so a mark that was cleared for another sleeper
 * turns back a thread on its way to sleep. An existing mark is enough: its author holds the lock, or executes
 * a heavy fence before it sleeps. A concurrent release may miss a starved sleeper, but the next release does
 * not.
 */
#ifndef ODI_SLEEP_LOCK_H
#define ODI_SLEEP_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/invariant.h"
#include "os/membarrier.h"

#pragma GCC visibility push(hidden)

typedef union {
    struct {
        odi_atomic(uint16_t) word;
        odi_atomic(uint16_t) mark;
    };
    odi_atomic(uint32_t) both; /* read by the kernel only */
} odi_lock;

enum { ODI_LOCK_FREE, ODI_LOCK_HELD, ODI_LOCK_HANDED };
enum { ODI_LOCK_AWAITED = 1, ODI_LOCK_STARVED = 2 }; /* bits of the mark; also the futex names of the sleepers */

/* Points to a flag that notes a sleep for a lock, as opposed to a wait of the thread's job. NULL if the
 * thread does not record this. */
extern _Thread_local odi_atomic(bool) *odi_lock_sleeper
    __attribute__((tls_model("initial-exec")));

void odi_lock_acquire_slow(odi_lock *lock);
void odi_lock_wake(odi_lock *lock);

static inline void odi_lock_acquire(odi_lock *lock)
{
    uint16_t is_free = ODI_LOCK_FREE;

    if (ODI_UNLIKELY(!odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1)))
        odi_lock_acquire_slow(lock);
}

static inline void odi_lock_release(odi_lock *lock)
{
    /* relaxed, both: K2's fence precedes the second load, and the first is a hint */
    bool starves = odi_load_relaxed(&lock->mark) & ODI_LOCK_STARVED;

    odi_invariant(odi_load_relaxed(&lock->word) == ODI_LOCK_HELD); /* relaxed: only its holder writes it */
    odi_store_release(&lock->word, starves ? ODI_LOCK_HANDED : ODI_LOCK_FREE, K1);
    odi_fence_light(K2);
    if (ODI_UNLIKELY(odi_load_relaxed(&lock->mark) != 0))
        odi_lock_wake(lock);
}

/* Releases a lock whose memory may be freed as soon as it is released. Always makes a system call. */
void odi_lock_release_last(odi_lock *lock);

#pragma GCC visibility pop

#endif
