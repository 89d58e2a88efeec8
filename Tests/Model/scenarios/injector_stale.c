/* injector_stale.c — who comes late, with a ticket or a head that others have long passed,
 * is not told that the injector is full, or empty.
 *
 * One slot per block, and more places than there are entries: the directory is never full.
 */
#define ODI_INJECTOR_BLOCK 1
#define ODI_INJECTOR_DIRECTORY 4

#include "queue/injector.c"

#include "doubles/keep.h"
#include "doubles/ledger.h"
#include "doubles/pages.h"

static odi_injector injector;

static void push(unsigned n)
{
    model_check(odi_injector_push(&injector, ledger_entry(n)));
}

static void claim(void)
{
    odi_entry entry;

    if (odi_injector_claim(&injector, &entry, 1) > 0)
        ledger_note(entry);
}

static void prepare(void)
{
    model_check(odi_injector_init(&injector, 0, 0));
    model_hint(&injector.spare_count, sizeof injector.spare_count); /* trims early or late */
}

static void verify_two(void)
{
    odi_entry entry;

    while (odi_injector_claim(&injector, &entry, 1) > 0)
        ledger_note(entry);
    ledger_settle_unordered(2);
}

static void push_0(void)
{
    push(0);
}

/* Its entry is claimed and its block recycled while the other producer holds the same ticket. */
static void push_1_and_claim(void)
{
    push(1);
    claim();
}
MODEL_SCENARIO(injector_stale_ticket, prepare, verify_two, push_0, push_1_and_claim)

/* Two entries wait and one is claimed: whoever looks finds one. */
static void prepare_two(void)
{
    prepare();
    push(0);
    push(1);
}
static void look_for_any(void)
{
    model_check(odi_injector_has_claimable(&injector));
}
MODEL_SCENARIO(injector_stale_look, prepare_two, verify_two, claim, look_for_any)
