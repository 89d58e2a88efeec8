/* What went wrong once in an injector whose directory has come round: the file itself, with
 * blocks and a directory so small that this happens at once. */
#include "Support/clock.h"
#include "Support/watchdog.h"

#define ODI_INJECTOR_BLOCK 4
#define ODI_INJECTOR_DIRECTORY 4
#define odi_injector_init small_init
#define odi_injector_free small_free
#define odi_injector_push small_push
#define odi_injector_claim small_claim
#define odi_injector_has_claimable small_has_claimable
#define odi_injector_pushed small_pushed
#include "queue/injector.c"

static odi_injector injector;

static int set_up(void **state)
{
    (void)state;
    odi_reader_join();
    return odi_injector_init(&injector, 0, ODI_ANY_NODE) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    odi_reclaim_drain();
    odi_injector_free(&injector);
    odi_reader_leave();
    return 0;
}

static odi_entry entry_of(uint64_t number)
{
    return (odi_entry){number + 1, number};
}

static uint64_t pushed, claimed;

static void assert_claims_next(void)
{
    odi_entry entry;

    odi_read_begin();
    size_t count = odi_injector_claim(&injector, &entry, 1);
    odi_read_end();
    assert_int_equal(count, 1);
    assert_int_equal(entry.context, claimed++);
}

/* A consumer has claimed the first block and comes to a stop before it says so: the block is
 * still at its place when the directory's next round arrives there. */
static void a_block_that_is_still_in_hand_is_not_taken_for_the_next_rounds(void **state)
{
    enum { ROUND_OF_ENTRIES = ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY };
    odi_entry in_hand[ODI_INJECTOR_BLOCK];

    (void)state;
    pushed = claimed = 0;
    for (; pushed < ODI_INJECTOR_BLOCK; pushed++)
        assert_true(odi_injector_push(&injector, entry_of(pushed)));
    uint64_t head = 0;
    assert_int_equal(look(&injector, head, in_hand, ODI_INJECTOR_BLOCK), ODI_INJECTOR_BLOCK);
    assert_true(odi_cas_relaxed(&injector.head, &head, head + ODI_INJECTOR_BLOCK));
    claimed = ODI_INJECTOR_BLOCK;

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
static void behind_a_block_in_hand_a_full_directory_keeps_its_entries(void **state)
{
    odi_entry in_hand[ODI_INJECTOR_BLOCK];

    (void)state;
    pushed = claimed = 0;
    for (; pushed < ODI_INJECTOR_BLOCK; pushed++)
        assert_true(odi_injector_push(&injector, entry_of(pushed)));
    uint64_t head = 0;
    assert_int_equal(look(&injector, head, in_hand, ODI_INJECTOR_BLOCK), ODI_INJECTOR_BLOCK);
    assert_true(odi_cas_relaxed(&injector.head, &head, head + ODI_INJECTOR_BLOCK));
    claimed = ODI_INJECTOR_BLOCK;

    while (odi_injector_push(&injector, entry_of(pushed)))
        pushed++;
    assert_int_equal(pushed, ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY);
    while (claimed < pushed)
        assert_claims_next();
    consumed(&injector, 0, ODI_INJECTOR_BLOCK);
    assert_true(odi_injector_push(&injector, entry_of(pushed)));
    assert_claims_next();
}

int main(void)
{
#define INJECTOR_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        INJECTOR_TEST(a_block_that_is_still_in_hand_is_not_taken_for_the_next_rounds),
        INJECTOR_TEST(behind_a_block_in_hand_a_full_directory_keeps_its_entries),
    };
    return run_guarded(tests);
}
