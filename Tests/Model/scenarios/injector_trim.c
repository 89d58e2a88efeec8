/* injector_trim.c — blocks that nobody needs are retired while consumers may still look at
 * them, with a directory so small that its places are used again.
 */
#define ODI_INJECTOR_BLOCK 1
#define ODI_INJECTOR_DIRECTORY 4
#define ODI_INJECTOR_SPARES 0

#include "doubles/lock.h"

#include "reclaim/reclaim.c"

#include "queue/injector.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/grace.h"
#include "doubles/injector.h"
#include "doubles/thread.h"

static void prepare(void)
{
    make_injector();
    push_entry(0);
    grace_readers = 1u << 0 | 1u << 1;
}

static void verify(void) { claim_the_rest(); ledger_settle_unordered(1); }

/* Two consumers race for one entry; the winner recycles its block, and the reclaimer frees it
 * while the loser may still look at it. */
MODEL_SCENARIO(trim_against_claim, prepare, verify, claim, claim, model_started_thread)
MODEL_REACHES(trim_against_claim, ledger[0].count == 1)

static void verify_two(void) { claim_the_rest(); ledger_settle_unordered(2); }

/* A producer takes the spare block, or finds it gone. */
static void push_1(void) { push_entry(1); }
static void prepare_one_reader(void) { prepare(); grace_readers = 1u << 0; }
MODEL_SCENARIO(trim_against_push, prepare_one_reader, verify_two, claim, push_1, model_started_thread)
MODEL_REACHES(trim_against_push, odi_load_relaxed(&threads_started) == 1, model_met(1, "block_new") > 0)
