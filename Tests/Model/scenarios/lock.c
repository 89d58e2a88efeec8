/* lock.c — one thread at a time, what the last one wrote is readable, and who was woken in vain too
 * often is the next.
 *
 * A turn of the bounded spin is cut (README.md, "Waiting"), so the sleeping path is explored
 * only from where the spin ends: odi_lock_acquire_slow with ODI_LOCK_SPINS at 0. A sleeper loses
 * patience when the scenario says so: at its first look, or after one wake-up in vain.
 */
#define ODI_LOCK_SPINS 0
#define ODI_LOCK_PATIENCE patience

static int patience;

#include "sleep/lock.c"

#include "doubles/futex.h"
#include "model/scenario.h"

static odi_lock lock;
static int inside, entered;

static void wait_for_ever(void)
{
    patience = INT32_MAX;
}
static void bear_nothing(void)
{
    patience = 0;
    odi_lock_acquire(&lock);
}
static void bear_one(void)
{
    patience = 1;
    odi_lock_acquire(&lock);
}

static void stay(void)
{
    model_check(inside == 0);
    inside = 1;
    entered++;
    inside = 0;
}

static void section(void)
{
    odi_lock_acquire(&lock);
    stay();
    odi_lock_release(&lock);
}

/* The lock is held at the beginning. Once and again, and not before the one that starves meanwhile. */
static void release_and_come_again(void)
{
    stay();
    bool starves = odi_load_relaxed(&lock.word) == ODI_LOCK_STARVED; /* relaxed: it stays so */
    int before = entered;
    odi_lock_release(&lock);

    odi_lock_acquire(&lock);
    model_check(!starves || entered > before);
    stay();
    odi_lock_release(&lock);
}

static void release(void)
{
    odi_lock_release(&lock);
}

static void come_three_times(void)
{
    odi_lock_release(&lock);
    odi_lock_acquire(&lock);
    release_and_come_again();
}

static void verify_two(void)
{
    model_check(entered == 2);
}
static void verify_three(void)
{
    model_check(entered == 3);
}

MODEL_SCENARIO(lock_two, wait_for_ever, verify_two, section, section)
MODEL_SCENARIO(lock_three, wait_for_ever, verify_three, section, section, section)
MODEL_SCENARIO(lock_is_handed_over, bear_nothing, verify_three, release_and_come_again, section)
MODEL_SCENARIO(lock_is_handed_to_one_of_two, bear_nothing, verify_two, release, section, section)
MODEL_SCENARIO(lock_is_handed_after_a_wake_in_vain, bear_one, verify_three, come_three_times, section)
