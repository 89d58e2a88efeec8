/* queue/injector: the file itself, with blocks and a directory so small that every few
 * entries cross a boundary. */
#include "Support/frozen_reader.h"
#include "Support/prng.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#define ODI_INJECTOR_BLOCK 8
#define ODI_INJECTOR_DIRECTORY 4
#define ODI_INJECTOR_SPARES 2
#include "Support/small_injector.h"

static void push_all(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_true(odi_injector_push(&injector, entry_of(i)));
}

static bool has_claimable(void)
{
    odi_read_begin();
    bool has = odi_injector_has_claimable(&injector);
    odi_read_end();
    return has;
}

/* Claims [from, to), `most` at a time. */
static void claim_all(uint64_t from, uint64_t to, size_t most)
{
    odi_entry entries[64];

    while (from < to) {
        size_t count = claim(entries, to - from < most ? (size_t)(to - from) : most);

        assert_true(count > 0);
        for (size_t i = 0; i < count; i++, from++) {
            assert_true(entries[i].code == from + 1);
            assert_true(entries[i].context == ~from);
        }
    }
}

static uint32_t spares(void) { return injector.spare_count; }

INJECTOR_TEST(an_empty_injector_gives_nothing)
{
    odi_entry entry;

    assert_int_equal(claim(&entry, 1), 0);
    assert_false(has_claimable());
    assert_int_equal(odi_injector_size(&injector), 0);
    push_all(0, 1);
    assert_true(has_claimable());
    claim_all(0, 1, 1);
    assert_false(has_claimable());
    assert_int_equal(claim(&entry, 1), 0);
}

/* As where memory is too short for a block. */
INJECTOR_TEST(what_waits_in_nodes_is_counted_found_and_claimed)
{
    odi_entry_node nodes[4];
    odi_entry entry;

    for (uint64_t each = 0; each < 3; each++)
        assert_true(odi_injector_push_node(&injector, entry_of(each), &nodes[each]));
    assert_int_equal(odi_injector_size(&injector), 3);
    for (uint64_t each = 0; each < 4; each++) {
        assert_true(has_claimable());
        assert_int_equal(claim(&entry, 4), 1);
        assert_int_equal(entry.context, entry_of(each).context);
        if (each == 0)
            assert_true(odi_injector_push_node(&injector, entry_of(3), &nodes[3])); /* behind those that are left */
        memset(&nodes[each], 0, sizeof nodes[each]); /* it is its owner's */
    }
    assert_false(has_claimable());
    assert_int_equal(odi_injector_size(&injector), 0);
    assert_int_equal(claim(&entry, 1), 0);
}

/* The parent's block is left to the parent: here, to the test. */
INJECTOR_TEST(a_forked_child_begins_with_none_of_its_parents)
{
    odi_entry_node node;

    push_all(0, 6);
    claim_all(0, 3, 1);
    assert_true(odi_injector_push_node(&injector, entry_of(6), &node));
    odi_block *of_the_parent = block_for(odi_load_relaxed(&place_of(&injector, 0)->occupant), 0);

    odi_injector_forked(&injector);
    assert_false(has_claimable());
    assert_int_equal(odi_injector_size(&injector), 0);
    for (uint64_t from = 0; from < 35; from += 5) { /* once round the directory */
        push_all(from, from + 5);
        claim_all(from, from + 5, 3);
        assert_false(has_claimable());
    }
    odi_pages_free(of_the_parent, sizeof *of_the_parent);
}

INJECTOR_TEST(entries_come_out_in_order_across_blocks)
{
    for (size_t most = 1; most <= 12; most++) {
        uint64_t from = odi_load_relaxed(&injector.tail);

        for (uint64_t round = 0; round < 40; round++) { /* many times round the directory */
            push_all(from, from + 11);
            assert_int_equal(odi_injector_size(&injector), 11);
            claim_all(from, from + 11, most);
            from += 11;
        }
        assert_int_equal(odi_load_relaxed(&injector.tail), from);
    }
}

INJECTOR_TEST(a_claim_never_crosses_a_block)
{
    odi_entry entries[64];

    push_all(0, 20);
    assert_int_equal(claim(entries, 3), 3);
    assert_int_equal(claim(entries, 64), 5);
    assert_int_equal(claim(entries, 64), 8);
    assert_int_equal(claim(entries, 64), 4);
    assert_int_equal(claim(entries, 64), 0);
}

INJECTOR_TEST(a_full_directory_refuses_and_keeps_what_it_has)
{
    uint64_t pushed = 0;

    while (odi_injector_push(&injector, entry_of(pushed)))
        assert_in_range(++pushed, 1, 32);
    assert_in_range(pushed, 24, 32); /* at most a block less than the directory holds */
    for (int i = 0; i < 5; i++)
        assert_false(odi_injector_push(&injector, entry_of(999)));
    assert_int_equal(odi_injector_size(&injector), pushed);

    claim_all(0, 8, 8); /* one block further, one block of room */
    push_all(pushed, pushed + 8);
    assert_false(odi_injector_push(&injector, entry_of(999)));
    claim_all(8, pushed + 8, 5);
    push_all(pushed + 8, pushed + 20);
    claim_all(pushed + 8, pushed + 20, 3);
}

INJECTOR_TEST(a_closed_injector_refuses_and_gives_out_what_it_has)
{
    odi_entry entry;

    push_all(0, 20); /* into a third block */
    odi_injector_close(&injector);
    assert_int_equal(odi_injector_size(&injector), 20);
    assert_false(odi_injector_push(&injector, entry_of(999)));
    claim_all(0, 20, 3);
    assert_true(odi_injector_is_used_up(&injector));
    assert_int_equal(odi_injector_size(&injector), 0);
    assert_false(odi_injector_push(&injector, entry_of(999)));
    assert_int_equal(claim(&entry, 1), 0);
}

/* Whoever has closed it waits until it is used up, and then gives back what a refused node's owner frees. */
INJECTOR_TEST(a_closed_injector_is_not_used_up_while_a_node_waits_and_takes_no_other)
{
    odi_entry_node before, after;
    odi_entry entry;

    assert_true(odi_injector_push_node(&injector, entry_of(0), &before));
    odi_injector_close(&injector);
    assert_false(odi_injector_push_node(&injector, entry_of(1), &after));
    assert_int_equal(odi_injector_size(&injector), 1);
    assert_false(odi_injector_is_used_up(&injector));
    assert_int_equal(claim(&entry, 4), 1);
    assert_int_equal(entry.context, entry_of(0).context);
    assert_true(odi_injector_is_used_up(&injector));
    assert_int_equal(odi_injector_size(&injector), 0);
}

INJECTOR_TEST(a_used_up_block_serves_again)
{
    push_all(0, 8);
    assert_int_equal(spares(), 0);
    claim_all(0, 8, 8);
    assert_int_equal(spares(), 1);
    push_all(8, 9);
    assert_int_equal(spares(), 0);
    claim_all(8, 9, 1);
}

INJECTOR_TEST(a_partly_read_block_is_not_recycled)
{
    push_all(0, 16);
    claim_all(0, 7, 4);
    assert_int_equal(spares(), 0);
    claim_all(7, 8, 1);
    assert_int_equal(spares(), 1);
}

INJECTOR_TEST(more_spares_than_some_are_given_back)
{
    push_all(0, 24);
    claim_all(0, 24, 8); /* three spares: one more than two */
    assert_int_equal(spares(), 2);
    odi_reclaim_drain();
    push_all(24, 48);
    claim_all(24, 48, 8);
}

INJECTOR_TEST(behind_a_frozen_reader_spares_serve_on_and_memory_is_bounded)
{
    frozen_reader reader;
    uint64_t bursts = 0;

    freeze_a_reader(&reader);
    for (uint64_t from = 0; !odi_reclaim_is_behind(); from += 24) {
        push_all(from, from + 24); /* a block of three is retired each time, and stays */
        claim_all(from, from + 24, 8);
        bursts++;
    }
    for (uint64_t from = 24 * bursts; from < 24 * (bursts + 100); from += 24) {
        push_all(from, from + 24);
        claim_all(from, from + 24, 8);
        assert_int_equal(spares(), 3); /* the same three, round after round */
    }
    thaw(&reader);
    odi_reclaim_drain();
    assert_false(odi_reclaim_is_behind());
    assert_int_equal(spares(), 2); /* what stayed meanwhile goes, also where nobody comes any more */
}

enum { PRODUCERS = 3, CONSUMERS = 3, EACH = 40000, EACH_SANITIZED = 8000 };

static struct {
    uint64_t each;
    atomic_uchar *seen;
    atomic_ullong claimed, disorder, foreign, refused;
} traffic;

static void *produce(void *raw)
{
    uint64_t producer = (uint64_t)(uintptr_t)raw;

    for (uint64_t i = 0; i < traffic.each; i++) {
        while (!odi_injector_push(&injector, entry_of(producer << 32 | i))) {
            atomic_fetch_add(&traffic.refused, 1); /* the directory is full */
            sched_yield();
        }
    }
    return NULL;
}

static void *consume(void *raw)
{
    prng random = prng_for(5, (uint64_t)(uintptr_t)raw);
    uint64_t last[PRODUCERS] = {0};
    odi_entry entries[8];

    odi_reader_join();
    while (atomic_load(&traffic.claimed) < PRODUCERS * traffic.each) {
        size_t count = claim(entries, 1 + prng_below(&random, 8));

        for (size_t i = 0; i < count; i++) {
            uint64_t number = entries[i].code - 1, producer = number >> 32;
            uint64_t index = number & 0xffffffff;

            if (producer >= PRODUCERS || index >= traffic.each || entries[i].context != ~number) {
                atomic_fetch_add(&traffic.foreign, 1);
                continue;
            }
            if (index + 1 <= last[producer])
                atomic_fetch_add(&traffic.disorder, 1);
            last[producer] = index + 1;
            atomic_fetch_add(&traffic.seen[producer * traffic.each + index], 1);
        }
        atomic_fetch_add(&traffic.claimed, count);
        if (count == 0)
            sched_yield();
    }
    odi_reader_leave();
    return NULL;
}

INJECTOR_TEST(every_entry_is_claimed_once_and_each_producers_in_order)
{
    pthread_t consumers[CONSUMERS];

    traffic.each = UNLESS_SANITIZED(EACH, EACH_SANITIZED);
    traffic.seen = calloc(PRODUCERS * traffic.each, 1);
    assert_non_null(traffic.seen);
    start_threads(consumers, CONSUMERS, consume);
    run_on_threads(PRODUCERS, produce);
    join_threads(consumers, CONSUMERS);
    assert_int_equal(atomic_load(&traffic.foreign), 0);
    assert_int_equal(atomic_load(&traffic.disorder), 0);
    for (uint64_t i = 0; i < PRODUCERS * traffic.each; i++)
        assert_int_equal(atomic_load(&traffic.seen[i]), 1);
    free(traffic.seen);
}

GUARDED_PROGRAM
