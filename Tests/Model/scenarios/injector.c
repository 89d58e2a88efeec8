/* injector.c — work from outside: producers and consumers across the ends of blocks.
 *
 * Blocks of two slots and a directory of four, so that a few entries install, finish, recycle
 * and install again.
 */
#define ODI_INJECTOR_BLOCK 2
#define ODI_INJECTOR_DIRECTORY 4
#ifndef ODI_INJECTOR_SPARES
#define ODI_INJECTOR_SPARES 8
#endif

#include "doubles/lock.h"

#include "queue/injector.c"

#include "doubles/keep.h"
#include "doubles/ledger.h"
#include "doubles/pages.h"

static odi_injector injector;
static unsigned accepted[MODEL_ROWS]; /* per thread, so that counting orders nothing */

static void push(unsigned n)
{
    model_check(odi_injector_push(&injector, ledger_entry(n)));
    accepted[model_thread()]++;
}

static odi_entry_node nodes[MODEL_ROWS];

static void push_node(unsigned n)
{
    model_check(odi_injector_push_node(&injector, ledger_entry(n), &nodes[model_thread()]));
    accepted[model_thread()]++;
}

static void claim(size_t most)
{
    odi_entry entries[4];
    size_t count;

    odi_read_begin();
    count = odi_injector_claim(&injector, entries, most);
    odi_read_end();
    for (size_t i = 0; i < count; i++)
        ledger_note(entries[i]);
}

static void prepare(void) { model_check(odi_injector_init(&injector, 0, 0)); }

static void verify(void)
{
    odi_entry entries[4];
    size_t count;

    while ((count = odi_injector_claim(&injector, entries, 4)) > 0)
        for (size_t i = 0; i < count; i++)
            ledger_note(entries[i]);
    ledger_settle_unordered(model_sum(accepted));
    model_check(odi_injector_size(&injector) == 0);
}

/* Who ends a block has four operations, others one; and who has no spare block takes a fresh one. */
static bool gave_spare(unsigned thread) { return model_met(thread, "consumed") >= 4; }
static bool took_spare(unsigned thread) { return model_met(thread, "block_new") > 0; }

static void push_0(void) { push(0); }
static void push_1(void) { push(1); }
static void node_0(void) { push_node(0); }
static void node_1(void) { push_node(1); }
static void push_0_1(void) { push(0); push(1); }
static void push_2(void) { push(2); }
static void push_2_3(void) { push(2); push(3); }
static void push_0_1_2(void) { push(0); push(1); push(2); }
static void claim_1(void) { claim(1); }
static void claim_2(void) { claim(2); }
static void claim_1_twice(void) { claim(1); claim(1); }

/* Two producers install the first block together; a consumer looks. */
MODEL_SCENARIO(injector_install, prepare, verify, push_0, push_1, claim_2)
MODEL_REACHES(injector_install, ledger[2].count == 0, ledger[2].count == 2,
              model_met(0, "install") > 0 && model_met(1, "install") > 0)

/* Who counts a producer's second entry finds its first: that is not being written any more (J6). */
static bool counts_both;

static void count_and_look(void)
{
    counts_both = odi_injector_size(&injector) == 2;
    model_check(!counts_both || odi_injector_has_claimable(&injector));
}
MODEL_SCENARIO(injector_counts, prepare, verify, push_0_1, count_and_look)
MODEL_REACHES(injector_counts, counts_both)

/* Two bring nodes along; a consumer looks. */
MODEL_SCENARIO(injector_nodes, prepare, verify, node_0, node_1, claim_1_twice)
MODEL_REACHES(injector_nodes, ledger[2].count == 0, ledger[2].count == 2)

/* One producer crosses into the second block, two consumers share the first: hand-over. */
MODEL_SCENARIO(injector_hand_over, prepare, verify, push_0_1_2, claim_2, claim_1)
MODEL_REACHES(injector_hand_over, ledger[1].count == 2, ledger[2].count == 1, gave_spare(1), gave_spare(2))

/* A block that two consumers finish is recycled, and the next producer installs it again. */
static void prepare_full(void)
{
    prepare();
    odi_injector_push(&injector, ledger_entry(0));
    odi_injector_push(&injector, ledger_entry(1));
    accepted[MODEL_ROWS - 1] = 2;
}
MODEL_SCENARIO(injector_recycle, prepare_full, verify, push_2_3, claim_1, claim_1)
MODEL_REACHES(injector_recycle, took_spare(0), gave_spare(1))

/* The same with a consumer that comes back. */
MODEL_SCENARIO(injector_recycle_again, prepare_full, verify, push_2_3, claim_1_twice, claim_1)
MODEL_REACHES(injector_recycle_again, ledger[1].count + ledger[2].count == 3, took_spare(0), ledger_has(1, 2), ledger_has(2, 2))

/* Two producers and a consumer through two blocks. */
MODEL_SCENARIO(injector_two_blocks, prepare, verify, push_0_1, push_2, claim_2)
MODEL_REACHES(injector_two_blocks, ledger[2].count == 0, ledger_has(2, 2), gave_spare(2))

/* Who has pushed and finds a search under way, and who gives the search back: the one misses the
 * give-back, or the other sees the ticket (S2). The slot may be there later. */
static odi_atomic(uint32_t) searching;
static bool relies, sees;

static void prepare_search(void)
{
    prepare();
    odi_store_relaxed(&searching, 1);
    model_hint(&searching, sizeof searching);
    model_hint(&injector.tail, sizeof injector.tail);
}
static void push_and_rely(void)
{
    push(0);
    relies = odi_load_seqcst(&searching, S2) != 0;
}
static void node_and_rely(void)
{
    push_node(0);
    relies = odi_load_seqcst(&searching, S2) != 0;
}
static void give_back(void)
{
    (void)odi_and_acqrel(&searching, 0, S2);
    odi_fence_seqcst(S2);
    sees = odi_injector_size(&injector) > 0;
}
static void verify_seen(void) { verify(); model_check(!relies || sees); }
MODEL_SCENARIO(injector_ticket_counts, prepare_search, verify_seen, push_and_rely, give_back)
MODEL_REACHES(injector_ticket_counts, relies, sees)
MODEL_SCENARIO(injector_node_counts, prepare_search, verify_seen, node_and_rely, give_back)
MODEL_REACHES(injector_node_counts, relies, sees)

/* A producer has its place before the close, and then what it pushes is claimed by who closes, or is refused. */
static void push_while_open(void)
{
    for (unsigned n = 0; n < 3 && odi_injector_push(&injector, ledger_entry(n)); n++)
        accepted[model_thread()]++;
}
static void close_and_claim(void)
{
    odi_entry entry;

    odi_injector_close(&injector);
    while (!odi_injector_is_used_up(&injector)) {
        odi_read_begin();
        size_t count = odi_injector_claim(&injector, &entry, 1);
        odi_read_end();
        if (count > 0)
            ledger_note(entry);
        else
            odi_spin_pause();
    }
}
static void verify_closed(void)
{
    ledger_settle_unordered(model_sum(accepted));
    model_check(odi_injector_is_used_up(&injector));
    model_check(!odi_injector_push(&injector, ledger_entry(3)));
}
MODEL_SCENARIO(injector_close, prepare, verify_closed, push_while_open, close_and_claim)
MODEL_REACHES(injector_close, accepted[0] == 0, accepted[0] == 3)
