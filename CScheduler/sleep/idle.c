/* idle.c — the event count of a site: workers sleep here and submitters wake them. worker/ calls it, and it
 * knows nothing of jobs. */
#include "sleep/idle.h"

#include <limits.h>

#include "base/invariant.h"

/* state = token (2 bits at 62) | sleepers (30 bits at 32) | epoch (32 bits) */
#define TOKEN_SHIFT 62
#define SLEEPER (UINT64_C(1) << 32)
#define TOKEN_MASK (UINT64_C(3) << TOKEN_SHIFT)
#define TOKEN_FLYING (UINT64_C(1) << TOKEN_SHIFT)
#define TOKEN_HELD (UINT64_C(2) << TOKEN_SHIFT)

_Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));
odi_atomic(bool) odi_may_spin;

static uint32_t sleepers_of(uint64_t state)
{
    return (uint32_t)((state & ~TOKEN_MASK) >> 32);
}

static uint32_t epoch_of(uint64_t state)
{
    return (uint32_t)state;
}

/* Increments the epoch; it wraps without a carry into the sleepers. */
static uint64_t with_next_epoch(uint64_t state)
{
    return (state & ~UINT64_C(0xffffffff)) | (uint32_t)(epoch_of(state) + 1);
}

void odi_idle_init(odi_idle *idle, uint32_t epoch)
{
    odi_store_relaxed(&idle->state, (uint64_t)epoch); /* relaxed: no other thread knows it yet */
    odi_store_relaxed(&idle->asleep, 0);
}

/* Wakes the sleeper with the lowest number according to the hint, or any sleeper if the hint is wrong. */
static void wake_one(odi_idle *idle)
{
    uint32_t asleep = odi_load_relaxed(&idle->asleep); /* relaxed: a hint */
    uint32_t lowest = asleep & (~asleep + 1);

    if (lowest == 0 || odi_futex_wake_named(&idle->epoch, 1, lowest) == 0)
        odi_futex_wake(&idle->epoch, 1);
}

/* Wakes a sleeper, if there is one, while no worker searches. Returns false if a worker searches; *state then
 * holds the current value. */
static bool signal_unless_searched(odi_idle *idle, uint64_t *state, odi_signal *signal)
{
    *signal = ODI_SIGNAL_NOBODY;
    while (!(*state & TOKEN_MASK)) {
        if (sleepers_of(*state) == 0)
            return true;
        if (odi_cas_release(&idle->state, state, with_next_epoch(*state) | TOKEN_FLYING, S3)) {
            wake_one(idle);
            *signal = ODI_SIGNAL_WOKE;
            return true;
        }
    }
    return false;
}

odi_signal odi_idle_signal(odi_idle *idle)
{
    uint64_t state = odi_load_relaxed(&idle->state); /* relaxed: S1's fence precedes it */
    odi_signal signal;

    while (!signal_unless_searched(idle, &state, &signal)) {
        /* The searcher may be returning the token now, after a search that was too early for our work. Two
         * full fences (S2) order its return and our publication. A failed CAS has read without a fence, so
         * the fence follows it as well. */
        odi_fence_seqcst(S2);
        state = odi_load_relaxed(&idle->state); /* relaxed: the fence precedes it */
        if (state & TOKEN_MASK)
            return ODI_SIGNAL_COVERED;
    }
    return signal;
}

odi_signal odi_idle_signal_counted(odi_idle *idle)
{
    uint64_t state;
    odi_signal signal;

    do {
        /* The count precedes this load in the total order of seq_cst operations. If the load misses a
         * searcher's return of the token, that searcher sees the count behind its fence (S2). A value read by
         * a failed CAS is not in that order. */
        state = odi_load_seqcst(&idle->state, S2);
        if (state & TOKEN_MASK)
            return ODI_SIGNAL_COVERED;
    } while (!signal_unless_searched(idle, &state, &signal));
    return signal;
}

bool odi_idle_try_search(odi_idle *idle)
{
    uint64_t state = odi_load_relaxed(&idle->state); /* relaxed, rechecked by the CAS */

    while (!(state & TOKEN_MASK)) {
        /* relaxed: the token hands over no data; the source of the work orders the work itself */
        if (odi_cas_relaxed(&idle->state, &state, state | TOKEN_HELD))
            return true;
    }
    return false;
}

void odi_idle_found(odi_idle *idle)
{
    uint64_t before = odi_and_relaxed(&idle->state, ~TOKEN_MASK); /* relaxed: S2's fence follows */

    odi_invariant((before & TOKEN_MASK) == TOKEN_HELD);
    (void)before;
    odi_fence_seqcst(S2); /* the caller's search for more work comes after the return */
}

uint32_t odi_idle_announce(odi_idle *idle, bool searches)
{
    /* One read-modify-write, so that the caller always either searches or counts as a sleeper. HELD is the
     * token's highest value, so subtracting it clears the token. */
    uint64_t change = SLEEPER - (searches ? TOKEN_HELD : 0);

    return epoch_of(odi_add_relaxed(&idle->state, change)); /* relaxed: the caller's fence follows (S1, S2) */
}

void odi_idle_wait(odi_idle *idle, uint32_t epoch, int64_t deadline_ns, int number)
{
    uint32_t name = UINT32_C(1) << (number % 32);

    odi_or_relaxed(&idle->asleep, name); /* relaxed, both: a hint */
    /* The wait ends by signal, wake_all or the deadline. */
    (void)odi_futex_wait_as(&idle->epoch, epoch, deadline_ns, name);
    odi_and_relaxed(&idle->asleep, ~name);
}

bool odi_idle_leave(odi_idle *idle)
{
    uint64_t state = odi_load_relaxed(&idle->state); /* relaxed, rechecked by the CAS */
    uint64_t after;
    bool picks_up;

    do {
        picks_up = (state & TOKEN_MASK) == TOKEN_FLYING;
        after = state - SLEEPER;
        if (picks_up)
            after = (after & ~TOKEN_MASK) | TOKEN_HELD;
    } while (!odi_cas_acquire(&idle->state, &state, after, S3));
    return picks_up;
}

void odi_idle_wake_all(odi_idle *idle)
{
    uint64_t state = odi_load_relaxed(&idle->state); /* relaxed, rechecked by the CAS */

    while (!odi_cas_release(&idle->state, &state, with_next_epoch(state), S3)) {
    }
    odi_futex_wake(&idle->epoch, INT_MAX);
}

void odi_idle_rouse(odi_idle *idle, int number)
{
    uint64_t state = odi_load_relaxed(&idle->state); /* relaxed, rechecked by the CAS */

    /* The new epoch turns back a thread on its way to sleep. relaxed: the roused thread learns the reason
     * through T1's fences. */
    while (!odi_cas_relaxed(&idle->state, &state, with_next_epoch(state))) {
    }
    odi_futex_wake_named(&idle->epoch, INT_MAX, UINT32_C(1) << (number % 32));
}

bool odi_idle_renew(odi_idle *idle, uint32_t *epoch)
{
    uint64_t state = odi_load_acquire(&idle->state, S3);

    *epoch = epoch_of(state);
    return (state & TOKEN_MASK) != TOKEN_FLYING;
}

uint32_t odi_idle_sleepers(odi_idle *idle)
{
    return sleepers_of(odi_load_relaxed(&idle->state)); /* relaxed: a hint */
}
