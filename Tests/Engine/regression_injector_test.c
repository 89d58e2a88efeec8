/* What went wrong once in an injector whose directory has come round: the file itself, with
 * blocks and a directory so small that this happens at once. */
#include "Support/clock.h"
#include "Support/watchdog.h"

#define ODI_INJECTOR_BLOCK 4
#define ODI_INJECTOR_DIRECTORY 4
#include "Support/small_injector.h"

static uint64_t pushed, claimed;

static void assert_claims_next(void)
{
    odi_entry entry;

    assert_int_equal(claim(&entry, 1), 1);
    assert_true(entry.context == ~claimed);
    claimed++;
}

/* As far as it goes without saying so. */
static void claim_the_first_block(void)
{
    odi_entry in_hand[ODI_INJECTOR_BLOCK];
    uint64_t head = 0;

    pushed = claimed = 0;
    for (; pushed < ODI_INJECTOR_BLOCK; pushed++)
        assert_true(odi_injector_push(&injector, entry_of(pushed)));
    assert_int_equal(look(&injector, head, in_hand, ODI_INJECTOR_BLOCK), ODI_INJECTOR_BLOCK);
    assert_true(odi_cas_relaxed(&injector.head, &head, head + ODI_INJECTOR_BLOCK));
    claimed = ODI_INJECTOR_BLOCK;
}

/* A consumer has claimed the first block and comes to a stop before it says so: the block is
 * still at its place when the directory's next round arrives there. */
INJECTOR_TEST(a_block_that_is_still_in_hand_is_not_taken_for_the_next_rounds)
{
    enum { ROUND_OF_ENTRIES = ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY };

    claim_the_first_block();
    while (pushed < ROUND_OF_ENTRIES) {
        assert_true(odi_injector_push(&injector, entry_of(pushed)));
        pushed++;
        assert_claims_next();
    }
    /* The next place is the block's in hand. */
    assert_false(odi_injector_push(&injector, entry_of(pushed)));
    assert_false(odi_injector_push(&injector, entry_of(pushed)));
    assert_int_equal(odi_injector_size(&injector), 0);

    consumed(&injector, 0, ODI_INJECTOR_BLOCK); /* it goes on */
    for (int i = 0; i < 3 * ROUND_OF_ENTRIES; i++) {
        assert_true(odi_injector_push(&injector, entry_of(pushed)));
        pushed++;
        assert_claims_next();
    }
}

/* The same with entries in all the other places: none is lost, and none comes twice. */
INJECTOR_TEST(behind_a_block_in_hand_a_full_directory_keeps_its_entries)
{
    claim_the_first_block();
    while (odi_injector_push(&injector, entry_of(pushed)))
        pushed++;
    assert_int_equal(pushed, ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY);
    while (claimed < pushed)
        assert_claims_next();
    consumed(&injector, 0, ODI_INJECTOR_BLOCK);
    assert_true(odi_injector_push(&injector, entry_of(pushed)));
    assert_claims_next();
}

GUARDED_PROGRAM
