/* locked.c — the façade's lock: Sources/OverdriveCore/Waiting/Locked.swift, in C, as Swift's atomics do not compile here.
 *
 * One thread at a time, what the last one wrote is readable, nobody sleeps for ever; and of a forked child's threads one
 * learns that it takes over what a thread of the parent held.
 *
 * transcribes: Sources/OverdriveCore/Waiting/Locked.swift:acquire 8bfe32bc
 * transcribes: Sources/OverdriveCore/Waiting/Locked.swift:acquireHeld 1a37e1ea
 * transcribes: Sources/OverdriveCore/Waiting/Locked.swift:release 7d974da8
 * transcribes: Sources/OverdriveCore/Waiting/Locked.swift:sleep 41da0ffe
 * transcribes: Sources/OverdriveCore/Waiting/Locked.swift:wake 4de62b7e
 */
#include "base/atomic.h"
#include "doubles/lock.h"
#include "doubles/futex.h"
#include "model/scenario.h"

enum { PARENT = 2, MINE = 4, AWAITED = 1 };

static odi_atomic(uint32_t) word;

/* A bed: a mutex, and a condition variable as a count of its broadcasts. */
static odi_lock mutex;
static odi_atomic(uint32_t) broadcasts;

static void sleep_while(uint32_t value)
{
    odi_lock_acquire(&mutex);
    if (odi_load_relaxed(&word) == value) {
        uint32_t before = odi_load_relaxed(&broadcasts);

        odi_lock_release(&mutex);
        (void)odi_futex_wait(&broadcasts, before, ODI_FOREVER);
        odi_lock_acquire(&mutex);
    }
    odi_lock_release(&mutex);
}

static void wake(void)
{
    odi_lock_acquire(&mutex);
    (void)odi_add_relaxed(&broadcasts, 1);
    (void)odi_futex_wake(&broadcasts, INT32_MAX);
    odi_lock_release(&mutex);
}

static bool acquire_held(void)
{
    for (;;) {
        uint32_t found = odi_load_relaxed(&word);

        if ((found & ~(uint32_t)AWAITED) != MINE) {
            uint32_t expected = found;

            if (odi_cas_acquire(&word, &expected, MINE, none))
                return found != 0;
        } else {
            uint32_t expected = found;

            if (found & AWAITED || odi_cas_relaxed(&word, &expected, MINE | AWAITED))
                sleep_while(MINE | AWAITED);
        }
    }
}

static bool acquire(void)
{
    uint32_t nobody = 0;

    return odi_cas_acquire(&word, &nobody, MINE, none) ? false : acquire_held();
}

static void release(void)
{
    if (odi_swap_release(&word, 0, none) & AWAITED)
        wake();
}

static int inside, entered, anew; /* plain: the lock's */

static void section(void)
{
    anew += acquire();
    model_check(inside == 0);
    inside = 1;
    entered++;
    inside = 0;
    release();
}

static void is_free_again(int sections) { model_check(entered == sections && odi_load_relaxed(&word) == 0); }

static void two_have_been(void) { is_free_again(2); model_check(anew == 0); }
static void three_have_been(void) { is_free_again(3); model_check(anew == 0); }

static void held(void) { (void)acquire(); }
static void leaves(void)
{
    entered++;
    release();
}

MODEL_SCENARIO(locked_two, NULL, two_have_been, section, section)
MODEL_REACHES(locked_two, model_slept(0), model_slept(1))
MODEL_SCENARIO(locked_three, held, three_have_been, leaves, section, section)
MODEL_REACHES(locked_three, model_slept(1) && model_slept(2), model_slept(1) || model_slept(2))

/* ---- in a forked child ---- */

static void held_by_the_parent(void) { odi_store_relaxed(&word, PARENT); }
static void held_and_awaited_by_the_parent(void) { odi_store_relaxed(&word, PARENT | AWAITED); }
static void one_took_it_over(void) { is_free_again(2); model_check(anew == 1); }

MODEL_SCENARIO(locked_in_a_child, held_by_the_parent, one_took_it_over, section, section)
MODEL_REACHES(locked_in_a_child, model_slept(0), model_slept(1))
MODEL_SCENARIO(locked_and_awaited_in_a_child, held_and_awaited_by_the_parent, one_took_it_over, section, section)
MODEL_REACHES(locked_and_awaited_in_a_child, model_slept(0), model_slept(1))
