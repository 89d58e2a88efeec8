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
