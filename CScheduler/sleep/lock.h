/* lock.h — a mutex of one word for the cold paths: held for a few lines, never around a
 * caller's code. Unlike a pthread mutex it is valid when zeroed, and can be reset in a forked
 * child.
 *
 * A release is a plain store, and a look at whether somebody sleeps: the sleeper pays for the order of the
 * two with a heavy fence (Dekker's handshake, asymmetric as in Dice, Huang and Yang, "Asymmetric Dekker
 * synchronization", 2001). So who releases looks at the lock once more when it may be another's already:
 * its memory must still be a lock's. Who ends what the lock is part of leaves it by odi_lock_release_last.
 *
 * Whoever is awake takes a lock that is free, and a thread that takes it again and again would keep it from
 * all that sleep. Here a sleeper that came back ODI_LOCK_PATIENCE times and found the lock taken says so,
 * and releases hand the lock to such a one from then on.
 *
 *     word   FREE     acquire -> HELD
 *            HELD     release -> FREE, or HANDED where the mark says STARVED
 *            HANDED   one without patience -> HELD
 *     mark   on the way to sleep -> with AWAITED, without patience with STARVED; a release that finds any -> 0,
 *            and wakes one; who was on its way and takes the lock -> AWAITED, because others may sleep on
 *
 * Edges    K1  unlock -> lock   release/acquire   what the section before wrote
 *          K2  unlock <-> going to sleep   light/heavy fence   who releases sees the mark, or the sleeper the
 *                                                              release
 * How a wait ends: by a release. The kernel compares both halves, so a mark that was taken away to wake
 * another turns back who is on its way. A mark that stands already is enough: who made it has the lock,
 * or a heavy fence before it sleeps. A release under way may miss that somebody starves, the next does not.
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
    odi_atomic(uint32_t) both; /* for the kernel alone */
} odi_lock;

enum { ODI_LOCK_FREE, ODI_LOCK_HELD, ODI_LOCK_HANDED };
enum { ODI_LOCK_AWAITED = 1, ODI_LOCK_STARVED = 2 }; /* bits of the mark; the names under which they sleep */

/* Where a thread wants it noted that it sleeps for a lock and not for anything of its own; NULL
 * where it does not care. */
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
    /* relaxed, both: K2's fence stands before the second, and the first is a hint */
    bool starves = odi_load_relaxed(&lock->mark) & ODI_LOCK_STARVED;

    odi_invariant(odi_load_relaxed(&lock->word) == ODI_LOCK_HELD); /* relaxed: nobody else writes it meanwhile */
    odi_store_release(&lock->word, starves ? ODI_LOCK_HANDED : ODI_LOCK_FREE, K1);
    odi_fence_light(K2);
    if (ODI_UNLIKELY(odi_load_relaxed(&lock->mark) != 0))
        odi_lock_wake(lock);
}

/* The same where the lock's memory may be gone as soon as it is released. A system call. */
void odi_lock_release_last(odi_lock *lock);

#pragma GCC visibility pop

#endif
