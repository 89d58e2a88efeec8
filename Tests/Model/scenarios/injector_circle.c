/* injector_circle.c — the directory's places are used again, one round later.
 *
 * One slot per block and two places, so that the third entry meets the first one's place.
 */
#define ODI_INJECTOR_BLOCK 1
#define ODI_INJECTOR_DIRECTORY 2

#include "queue/injector.c"

#include "doubles/keep.h"
#include "doubles/ledger.h"
#include "doubles/pages.h"

static odi_injector injector;
static unsigned pushed;

/* A push that is refused because the directory is full keeps nothing. */
static void push(void)
{
    if (odi_injector_push(&injector, ledger_entry(pushed)))
        pushed++;
}

static void claim(void)
{
    odi_entry entry;
    size_t count;

    odi_read_begin();
    count = odi_injector_claim(&injector, &entry, 1);
    odi_read_end();
    if (count > 0)
        ledger_note(entry);
}

static void prepare(void)
{
    model_check(odi_injector_init(&injector, 0, 0));
    model_hint(&injector.spare_count, sizeof injector.spare_count); /* trims early or late */
    push();
}

static void verify(void)
{
    odi_entry entry;

    while (odi_injector_claim(&injector, &entry, 1) > 0)
        ledger_note(entry);
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

static void pushes(void)
{
    push();
    push();
}
MODEL_SCENARIO(injector_circle_three, prepare, verify, pushes, claim, claim)
