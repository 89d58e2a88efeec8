/* lock.c — one thread at a time, and what the last one wrote is readable.
 *
 * A turn of the bounded spin is cut (README.md, "Waiting"), so the sleeping path is explored
 * only from where the spin ends: odi_lock_acquire_slow with ODI_LOCK_SPINS at 0.
 */
#define ODI_LOCK_SPINS 0

#include "sleep/lock.c"

#include "doubles/futex.h"
#include "model/scenario.h"

static odi_lock lock;
static int inside, entered;

static void section(void)
{
    odi_lock_acquire(&lock);
    model_check(inside == 0);
    inside = 1;
    entered++;
    inside = 0;
    odi_lock_release(&lock);
}

static void verify_two(void)
{
    model_check(entered == 2);
}
static void verify_three(void)
{
    model_check(entered == 3);
}

MODEL_SCENARIO(lock_two, NULL, verify_two, section, section)
MODEL_SCENARIO(lock_three, NULL, verify_three, section, section, section)
