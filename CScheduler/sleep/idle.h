/* idle.h — sleep and wake-up of workers: an event count with one search token.
 *
 * Workers that find no work sleep on one futex word. A submitter that has published work reads one word and
 * usually returns. If a worker sleeps and none searches, the submitter wakes one worker.
 *
 * The token ensures that only one worker searches. The token is free, on its way to a woken sleeper, or held
 * by a searcher. While it is not free, no other worker is woken. A searcher that finds work returns the token
 * and searches once more. It is responsible for work that was published while it held the token.
 *
 * States of the token     NONE -> FLYING   signal: a sleeper will pick it up
 *                         FLYING -> HELD   leave: the first worker to stop sleeping
 *                         NONE -> HELD     try_search: a worker without work
 *                         HELD -> NONE     found (it runs work), announce (it sleeps)
 *                         FLYING -> NONE   never: a worker picks it up first
 * States of a worker      awake -> announced (announce) -> asleep (wait) -> awake (leave)
 *                         announced -> awake (leave), if the last search found work
 *
 * Owns     the word. Never knows the sources of work, or threads.
 * Threads  any thread; announce, wait and leave by one thread, in this order.
 *
 * Edges    S1  publish <-> announce     light/heavy fence   the submitter sees the sleeper, or
 *                                                           the sleeper's last search the work
 *          S2  publish <-> found        seq_cst fence/RMW   the submitter sees the token returned,
 *                                                           or the finder's search sees the work
 *                              or a seq_cst count           (before the publication, with a
 *                                                           seq_cst load of the token)
 *          S3  signal -> leave          release/acquire     writes before the signal are readable
 *
 * A wait ends by signal, by wake_all, or at its deadline. No wake-up is lost, because signal changes the
 * epoch before it wakes: the kernel refuses to let a worker sleep on the old epoch.
 */
#ifndef ODI_SLEEP_IDLE_H
#define ODI_SLEEP_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/futex.h"

#pragma GCC visibility push(hidden)

/* The futex epoch is in the low half; the count of sleepers and the token are in the high half. */
typedef struct {
    ODI_PAIR_ALIGNED union {
        odi_atomic(uint64_t) state;
        odi_atomic(uint32_t) epoch; /* the low half: sleepers wait on it */
    };
    odi_atomic(uint32_t) asleep; /* bit set of worker numbers that may be asleep: a hint */
} odi_idle;

/* Set when this thread has woken another thread from a futex or has started one. A thread that is about to
 * spin reads and resets it: the woken thread may need this CPU. A wake-up across CPUs takes ten times as
 * long. */
extern _Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));

/* Whether spinning may pay: the last pool that read the limits found 2 CPUs or more. For waits that belong to
 * no pool. */
extern odi_atomic(bool) odi_may_spin;

typedef enum {
    ODI_SIGNAL_NOBODY,  /* no worker sleeps and none searches */
    ODI_SIGNAL_COVERED, /* a worker searches already and will find the work */
    ODI_SIGNAL_WOKE     /* a sleeper was woken */
} odi_signal;

void odi_idle_init(odi_idle *idle, uint32_t epoch);

/* Whether no worker sleeps and none searches, which is common under load. A hint to skip signal; the caller
 * has placed a light fence (S1) before. */
static inline bool odi_idle_nobody(odi_idle *idle)
{
    return odi_load_relaxed(&idle->state) >> 32 == 0; /* relaxed: S1's fence */
}

/* Announces published work. The caller has placed a light fence (S1) before. While the token is not free, the
 * call costs a full fence. */
odi_signal odi_idle_signal(odi_idle *idle);

/* Announces work without that fence. The work was counted by a seq_cst read-modify-write before its
 * publication, and a searcher that returns the token reads the count (S2). The count may run ahead of the
 * work: a thread that searches for the work itself needs a heavy fence (S1) first. */
odi_signal odi_idle_signal_counted(odi_idle *idle);

/* Takes the token for a worker without work. Returns false if the token is not free. */
bool odi_idle_try_search(odi_idle *idle);

/* Returns the token because work was found. The caller then searches for more work and signals if it finds
 * any (S2). */
void odi_idle_found(odi_idle *idle);

/* First step of sleeping: counts the caller as a sleeper and returns its token if it `searches`. The caller
 * then executes a heavy fence (S1) and checks every source once more. It either waits or leaves. Returns the
 * epoch for wait. */
uint32_t odi_idle_announce(odi_idle *idle, bool searches);

/* Second step: sleeps until a signal or the deadline, with possible spurious returns. A signal wakes the
 * sleeper with the lowest `number` first. Rare work therefore runs on the same worker, with warm caches. */
void odi_idle_wait(odi_idle *idle, uint32_t epoch, int64_t deadline_ns, int number);

/* Last step, after wait or instead of it: the caller no longer counts as a sleeper. Returns true if the
 * caller now holds the token and searches. */
bool odi_idle_leave(odi_idle *idle);

/* Wakes every sleeper, when a pool ends or changes its size. */
void odi_idle_wake_all(odi_idle *idle);

/* Makes the sleepers with `number` return from wait, whatever the token's state. */
void odi_idle_rouse(odi_idle *idle, int number);

/* For a sleeper that has returned from wait and is still announced: whether it may wait again, with the epoch
 * written here. False: the token is on its way to a sleeper, so the caller leaves. */
bool odi_idle_renew(odi_idle *idle, uint32_t *epoch);

/* Returns the number of threads that sleep or are about to sleep. A hint. */
uint32_t odi_idle_sleepers(odi_idle *idle);

#pragma GCC visibility pop

#endif
