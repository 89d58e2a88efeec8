/* injector_circle.c — the directory's places are used again, one round later.
 *
 * One slot per block and two places, so that the third entry meets the first one's place.
 */
#define ODI_INJECTOR_BLOCK 1
#define ODI_INJECTOR_DIRECTORY 2

#include "doubles/lock.h"

#include "queue/injector.c"

#include "doubles/injector.h"
#include "doubles/keep.h"

static void prepare(void) { make_injector(); push(); }

static void verify(void)
{
    claim_the_rest();
    ledger_settle_unordered(pushed);
    model_check(odi_injector_size(&injector) == 0);
}

static void busy(void)
{
    push();
    claim();
    push();
}

/* A consumer that is slow to recycle its block, while another and a producer go once round. */
MODEL_SCENARIO(injector_circle, prepare, verify, busy, claim)
MODEL_REACHES(injector_circle, pushed == 3, ledger[1].count == 1)

static void pushes(void) { push(); push(); }
MODEL_SCENARIO(injector_circle_three, prepare, verify, pushes, claim, claim)
MODEL_REACHES(injector_circle_three, pushed == 3, ledger[1].count + ledger[2].count == 2)

/* A place is free, and the next one before its ticket comes: nobody is told that the directory is full, whatever
 * ticket he has seen first (J6). */
static void prepare_one_of_two(void)
{
    prepare();
    push();
    claim();
}
static void claim_and_push(void)
{
    claim();
    push_entry(2);
}
static void push_3(void) { push_entry(3); }
static void verify_none_refused(void)
{
    claim_the_rest();
    ledger_settle_unordered(4);
}
MODEL_SCENARIO(injector_circle_is_not_full, prepare_one_of_two, verify_none_refused, claim_and_push, push_3)
MODEL_REACHES(injector_circle_is_not_full, model_met(1, "install") > 0, model_met(0, "install") > 0 && model_met(1, "install") > 0)
