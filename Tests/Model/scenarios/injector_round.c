/* injector_round.c — a place of the directory serves its next round with a fresh block, while
 * the consumer of its last one has not yet put that on the spare list: the count of what is
 * consumed begins at zero (J5).
 *
 * Two slots per block and one place, so that the third entry meets the first one's place.
 */
#define ODI_INJECTOR_BLOCK 2
#define ODI_INJECTOR_DIRECTORY 1

#include "doubles/lock.h"

#include "queue/injector.c"

#include "doubles/injector.h"
#include "doubles/keep.h"

/* The first block is full, and one of its entries gone. */
static void prepare(void)
{
    make_injector();
    push();
    push();
    claim();
}

static void verify(void)
{
    claim_the_rest();
    if (pushed == 3) { /* it was not refused: the round is gone through to its end */
        push();
        claim();
        model_check(pushed == 4);
    }
    ledger_settle_unordered(pushed);
    model_check(odi_load_relaxed(&injector.directory[0].consumed) == 0);
}

MODEL_SCENARIO(injector_next_round, prepare, verify, push, claim, claim)
MODEL_REACHES(injector_next_round, pushed == 4, ledger[1].count == 1, ledger_has(2, 2))
