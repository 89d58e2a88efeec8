/* idle.h — how idleness begins and ends: an event count with one search token.
 *
 * Workers that find nothing sleep on one futex word. A submitter that has published work
 * looks at one word and mostly returns; if somebody sleeps and nobody searches, it wakes one.
 * The token makes that one: it is out (flying to a sleeper, or held by a searcher) or not,
 * and while it is out nobody else is woken. A searcher that finds work gives the token back
 * and looks once more: what was published while the token was out is its responsibility.
 *
 * States of the token     NONE -> FLYING   signal: a sleeper will pick it up
 *                         FLYING -> HELD   leave: the first worker to stop sleeping
 *                         NONE -> HELD     try_search: a worker out of work
 *                         HELD -> NONE     found (it runs work), announce (it sleeps)
 *                         FLYING -> NONE   never: it is picked up first
 * States of a worker      awake -> announced (announce) -> asleep (wait) -> awake (leave)
 *                         announced -> awake (leave), when the last look found work
 *
 * Owns     the word. Never knows where work waits, or threads.
 * Threads  anyone; announce/wait/leave by the same thread, in this order.
 *
 * Edges    S1  publish <-> announce     light/heavy fence   the submitter sees the sleeper, or
 *                                                           the sleeper's last look the work
 *          S2  publish <-> found        seq_cst fence/RMW   the submitter sees the token gone,
 *                                                           or the finder's look the work
 *                              or a seq_cst count           (before the publication, and a
 *                                                           seq_cst load of the token)
 *          S3  signal -> leave          release/acquire     what was written before the signal
 *
 * How a wait ends: by signal, wake_all, or its deadline. No wake is lost, because signal
 * changes the epoch before it wakes: a sleeper on its way into the kernel is turned back.
 */
#ifndef ODI_SLEEP_IDLE_H
#define ODI_SLEEP_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/futex.h"

#pragma GCC visibility push(hidden)

/* The word: the futex's epoch below, sleepers and the token above. */
typedef struct {
    ODI_PAIR_ALIGNED union {
        odi_atomic(uint64_t) state;
        odi_atomic(uint32_t) epoch; /* the low half: what sleepers wait on */
    };
    odi_atomic(uint32_t) asleep; /* the names of those that may be asleep: a hint */
} odi_idle;

/* Set when this thread has woken another from a futex or started one; reset by whoever asks
 * before waiting awake: the woken thread may need this very CPU, and across CPUs a wake
 * takes ten times as long. */
extern _Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));

/* Whether a spin may pay: the pool that read the limits last found 2 CPUs or more. For waits that know no pool. */
extern odi_atomic(bool) odi_may_spin;

typedef enum {
    ODI_SIGNAL_NOBODY,  /* nobody sleeps and nobody searches */
    ODI_SIGNAL_COVERED, /* somebody searches already: the work will be found */
    ODI_SIGNAL_WOKE     /* a sleeper was woken */
} odi_signal;

void odi_idle_init(odi_idle *idle, uint32_t epoch);

/* Whether nobody sleeps and nobody searches: the common answer while there is much work. A
 * hint for skipping signal; the caller has put a light fence (S1) in between. */
static inline bool odi_idle_nobody(odi_idle *idle)
{
    return odi_load_relaxed(&idle->state) >> 32 == 0; /* relaxed: S1's fence */
}

/* Says that work was published. The caller has put a light fence (S1) in between. While the
 * token is out it costs a full fence. */
odi_signal odi_idle_signal(odi_idle *idle);

/* The same without that fence, for work that was counted by a seq_cst read-modify-write before
 * it was published, where who gives the token back looks at the count (S2). That may be ahead
 * of the work: who looks for the work itself needs a heavy fence (S1) first. */
odi_signal odi_idle_signal_counted(odi_idle *idle);

/* Takes the token for a worker that is out of work. False: it is out already. */
bool odi_idle_try_search(odi_idle *idle);

/* Gives the token back because work was found. The caller then looks for more work and
 * signals if there is any (S2). */
void odi_idle_found(odi_idle *idle);

/* First step of sleeping: counts the caller as a sleeper, gives its token back if it
 * `searches`. The caller then puts a heavy fence (S1), looks at every source once more, and
 * either waits or leaves. Returns what wait needs. */
uint32_t odi_idle_announce(odi_idle *idle, bool searches);

/* Second step: sleeps until a signal or the deadline. May return early for no reason. Of
 * several sleepers the one with the lowest `number` is woken first: where work comes rarely
 * it is always the same one, whose CPU and caches know the work. */
void odi_idle_wait(odi_idle *idle, uint32_t epoch, int64_t deadline_ns, int number);

/* Last step, after wait or instead of it: the caller no longer counts as a sleeper. True: it
 * holds the token now, and searches. */
bool odi_idle_leave(odi_idle *idle);

/* Wakes every sleeper, for the end of a pool or a change of its size. */
void odi_idle_wake_all(odi_idle *idle);

/* Makes the sleepers called `number` return from wait, token or no token. */
void odi_idle_rouse(odi_idle *idle, int number);

/* For a sleeper that has returned from wait and is still announced: whether it may wait
 * again, for the epoch that this writes. False: the token flies, the caller leaves. */
bool odi_idle_renew(odi_idle *idle, uint32_t *epoch);

/* How many sleep or are about to. A hint. */
uint32_t odi_idle_sleepers(odi_idle *idle);

#pragma GCC visibility pop

#endif
