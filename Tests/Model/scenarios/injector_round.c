/* injector_round.c — a place of the directory serves its next round with a fresh block, while
 * the consumer of its last one has not yet put that on the spare list: the count of what is
 * consumed begins at zero (J5).
 *
 * Two slots per block and one place, so that the third entry meets the first one's place.
 */
#define ODI_INJECTOR_BLOCK 2
#define ODI_INJECTOR_DIRECTORY 1

#include "queue/injector.c"

#include "doubles/keep.h"
#include "doubles/ledger.h"
#include "doubles/pages.h"

static odi_injector injector;
static unsigned pushed;

static void push(void)
{
    if (odi_injector_push(&injector, ledger_entry(pushed)))
        pushed++;
}

static void claim(void)
{
    odi_entry entry;

    if (odi_injector_claim(&injector, &entry, 1) > 0)
        ledger_note(entry);
}

/* The first block is full, and one of its entries gone. */
static void prepare(void)
{
    model_check(odi_injector_init(&injector, 0, 0));
    model_hint(&injector.spare_count, sizeof injector.spare_count); /* trims early or late */
    push();
    push();
    claim();
}

static void verify(void)
{
    odi_entry entry;

    while (odi_injector_claim(&injector, &entry, 1) > 0)
        ledger_note(entry);
    if (pushed == 3) { /* it was not refused: the round is gone through to its end */
        push();
        claim();
        model_check(pushed == 4);
    }
    ledger_settle_unordered(pushed);
    model_check(odi_load_relaxed(&injector.directory[0].consumed) == 0);
}

MODEL_SCENARIO(injector_next_round, prepare, verify, push, claim, claim)
