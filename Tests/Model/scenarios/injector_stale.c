/* injector_stale.c — who comes late, with a ticket or a head that others have long passed,
 * is not told that the injector is full, or empty.
 *
 * One slot per block, and more places than there are entries: the directory is never full.
 */
#define ODI_INJECTOR_BLOCK 1
#define ODI_INJECTOR_DIRECTORY 4

#include "doubles/lock.h"

#include "queue/injector.c"

#include "doubles/injector.h"
#include "doubles/keep.h"

static void verify_two(void) { claim_the_rest(); ledger_settle_unordered(2); }
static void push_0(void) { push_entry(0); }

/* Its entry is claimed and its block recycled while the other producer holds the same ticket. */
static void push_1_and_claim(void) { push_entry(1); claim(); }
MODEL_SCENARIO(injector_stale_ticket, make_injector, verify_two, push_0, push_1_and_claim)
MODEL_REACHES(injector_stale_ticket, ledger_has(1, 0), ledger_has(1, 1))

/* Two entries wait and one is claimed: whoever looks finds one. */
static void prepare_two(void)
{
    make_injector();
    push_entry(0);
    push_entry(1);
}
static void look_for_any(void) { model_check(odi_injector_has_claimable(&injector)); }
MODEL_SCENARIO(injector_stale_look, prepare_two, verify_two, claim, look_for_any)
MODEL_REACHES(injector_stale_look, model_met(1, "look_from") == 2)
