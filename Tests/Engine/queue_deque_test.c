/* queue/deque: the file itself, with rings so small that every few entries cross a boundary,
 * and indices that begin next to the wrap. */
#include "Support/counted_pages.h"
#include "Support/frozen_reader.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#define ODI_DEQUE_MINIMUM 4
#define ODI_DEQUE_MAXIMUM 64
#define ODI_STEAL_BATCH 4
#define odi_deque_init small_init
#define odi_deque_adopt small_adopt
#define odi_deque_free small_free
#define odi_deque_make_ring small_make_ring
#define odi_deque_push small_push
#define odi_deque_take small_take
#define odi_deque_take_wanted small_take_wanted
#define odi_deque_steal small_steal
#define odi_deque_size small_size
#define odi_deque_shrink small_shrink
#include "queue/deque.c"

#define START (INT64_MAX - 3)

static odi_deque deque;

static int set_up(void **state)
{
    odi_reader_join();
    odi_deque_init(&deque, START, ODI_ANY_NODE);
    return 0;
}

static int tear_down(void **state)
{
    odi_reclaim_drain();
    odi_deque_free(&deque);
    odi_reader_leave();
    return atomic_load(&pages_out) == 0 ? 0 : -1;
}

static odi_entry entry_of(uint64_t number)
{
    return (odi_entry){number + 1, ~number};
}

static bool is_entry(odi_entry entry, uint64_t number)
{
    return entry.code == number + 1 && entry.context == ~number;
}

static void push_all(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_true(odi_deque_push(&deque, entry_of(i)));
}

static void take_all(uint64_t from, uint64_t to)
{
    odi_entry entry;

    for (uint64_t i = from; i < to; i++) {
        assert_true(odi_deque_take(&deque, &entry));
        assert_true(is_entry(entry, i));
    }
}

static size_t steal(odi_entry *entries, size_t most)
{
    odi_read_begin();
    size_t count = odi_deque_steal(&deque, entries, most);
    odi_read_end();
    return count;
}

static int64_t capacity(void)
{
    odi_ring *ring = odi_load_relaxed(&deque.ring);

    return ring != NULL ? ring->capacity : 0;
}

#define DEQUE_TEST(name) TEST_WITH(name, set_up, tear_down)

DEQUE_TEST(an_empty_deque_gives_nothing)
{
    odi_entry entries[4];

    for (int round = 0; round < 3; round++) {
        assert_false(odi_deque_take(&deque, entries)); /* M3: no underflow */
        assert_int_equal(steal(entries, 4), 0);
        assert_int_equal(odi_deque_size(&deque), 0);
    }
    assert_int_equal(capacity(), 0);
    push_all(0, 1);
    take_all(0, 1);
    assert_false(odi_deque_take(&deque, entries));
    assert_int_equal(steal(entries, 4), 0);
}

DEQUE_TEST(indices_pass_the_wrap_with_everything_in_place)
{
    push_all(0, 8); /* bottom passes INT64_MAX at the fourth */
    assert_true(odi_load_relaxed(&deque.bottom) < 0);
    assert_true(odi_load_relaxed(&deque.top) > 0);
    assert_int_equal(odi_deque_size(&deque), 8);
    take_all(0, 8);
    assert_true(odi_load_relaxed(&deque.top) < 0);
    assert_int_equal(odi_deque_size(&deque), 0);
}

DEQUE_TEST(growth_keeps_order_from_any_offset)
{
    for (uint64_t offset = 0; offset < 10; offset++) {
        odi_reclaim_drain();
        odi_deque_free(&deque);
        odi_deque_init(&deque, START, ODI_ANY_NODE);
        for (uint64_t i = 0; i < offset; i++) {
            push_all(i, i + 1);
            take_all(i, i + 1);
        }
        push_all(100, 140);
        take_all(100, 140);
    }
    assert_int_equal(capacity(), 64);
}

DEQUE_TEST(a_full_ring_grows_only_when_nothing_was_taken)
{
    push_all(0, 4);
    for (uint64_t i = 0; i < 100; i++) { /* the owner's look at top is lazy, not wrong */
        take_all(i, i + 1);
        push_all(i + 4, i + 5);
    }
    assert_int_equal(capacity(), 4);
    assert_int_equal(odi_load_relaxed(&deque.growths), 1);
}

DEQUE_TEST(a_ring_at_its_maximum_refuses_and_changes_nothing)
{
    push_all(0, 64);
    for (int i = 0; i < 3; i++)
        assert_false(odi_deque_push(&deque, entry_of(999)));
    assert_int_equal(odi_deque_size(&deque), 64);
    take_all(0, 1);
    push_all(64, 65);
    assert_false(odi_deque_push(&deque, entry_of(999)));
    take_all(1, 65);
}

DEQUE_TEST(a_thief_gets_half_rounded_up_and_at_most_what_it_asks)
{
    static const struct {
        size_t there, asked, got;
    } cases[] = {{1, 4, 1}, {2, 4, 1}, {3, 4, 2}, {4, 4, 2}, {5, 4, 3}, {7, 4, 4},
                 {8, 4, 4}, {20, 4, 4}, {20, 1, 1}, {1, 1, 1}, {20, 2, 2}, {20, 0, 0}};
    uint64_t first = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        odi_entry entries[4];

        push_all(first, first + cases[i].there);
        assert_int_equal(steal(entries, cases[i].asked), cases[i].got);
        for (size_t j = 0; j < cases[i].got; j++)
            assert_true(is_entry(entries[j], first + j));
        take_all(first + cases[i].got, first + cases[i].there);
        first += cases[i].there;
    }
}

static bool is_number(odi_entry entry, const void *number)
{
    return is_entry(entry, *(const uint64_t *)number);
}

static void take_wanted(uint64_t number)
{
    odi_entry entry;

    assert_true(odi_deque_take_wanted(&deque, is_number, &number, &entry));
    assert_true(is_entry(entry, number));
}

DEQUE_TEST(the_owner_takes_back_what_it_wants_of_either_end)
{
    uint64_t middle = 5;
    odi_entry entry;

    assert_false(odi_deque_take_wanted(&deque, is_number, &middle, &entry));
    for (uint64_t count = 1; count < 20; count++) { /* within a thief's reach, and beyond */
        push_all(0, count);
        take_wanted(count - 1);
        assert_int_equal(odi_deque_size(&deque), count - 1);
        push_all(count - 1, count + 1);
        assert_false(count > 5 && odi_deque_take_wanted(&deque, is_number, &middle, &entry));
        take_wanted(0);
        take_wanted(count);
        take_all(1, count);
        assert_false(odi_deque_take(&deque, &entry));
    }
}

DEQUE_TEST(an_idle_deque_goes_back_to_a_small_ring)
{
    odi_entry entry;

    push_all(0, 60);
    odi_deque_shrink(&deque);
    assert_int_equal(capacity(), 64); /* not while it holds anything */
    take_all(0, 60);
    odi_reclaim_drain();
    odi_deque_shrink(&deque);
    assert_int_equal(capacity(), 4);
    assert_false(odi_deque_take(&deque, &entry));
    push_all(60, 100);
    take_all(60, 100);
    odi_deque_shrink(&deque);
    odi_deque_shrink(&deque);
}

DEQUE_TEST(shrinking_a_deque_without_a_ring_does_nothing)
{
    odi_deque_shrink(&deque);
    assert_int_equal(capacity(), 0);
    assert_true(odi_deque_make_ring(&deque));
    odi_deque_shrink(&deque);
    assert_int_equal(capacity(), 4);
}

/* ---- retirement ---- */

DEQUE_TEST(behind_a_frozen_reader_a_large_ring_stays)
{
    frozen_reader reader;

    freeze_a_reader(&reader);
    push_all(0, 64);
    take_all(0, 64);
    for (uint64_t round = 0; round < 1000; round++) { /* nobody waits, and what is retired has an end */
        odi_deque_shrink(&deque);
        push_all(round * 50, round * 50 + 50);
        take_all(round * 50, round * 50 + 50);
    }
    assert_true(odi_reclaim_is_behind());
    odi_deque_shrink(&deque);
    assert_int_equal(capacity(), 64);
    thaw(&reader);
    odi_reclaim_drain();
    odi_deque_shrink(&deque);
    assert_int_equal(capacity(), 4);
}

/* The owner moved to another node, while the reclaimer read from the deque how large an old
 * ring had been. */
DEQUE_TEST(a_ring_is_given_back_as_it_was_had_wherever_the_owner_lives_now)
{
    odi_entry entry = {1, 1};

    assert_true(odi_deque_push(&deque, entry));
    deque.node = 0; /* from here on rings are mapped, which this one is not */
    for (int i = 0; i < ODI_DEQUE_MINIMUM; i++)
        assert_true(odi_deque_push(&deque, entry));
    odi_reclaim_drain();
    deque.node = ODI_ANY_NODE;
}

static bool none_is_wanted(odi_entry entry, const void *unused) { return false; }

enum { OWNERS_CALLS = 5 };

static void *call_as_a_stranger(void *call)
{
    odi_entry entry;

    switch ((uintptr_t)call) {
    case 0: (void)odi_deque_take(&deque, &entry); break;
    case 1: (void)odi_deque_push(&deque, (odi_entry){1, 1}); break;
    case 2: (void)odi_deque_make_ring(&deque); break;
    case 3: (void)odi_deque_take_wanted(&deque, none_is_wanted, NULL, &entry); break;
    default: odi_deque_shrink(&deque);
    }
    return NULL;
}

static void adopt_and_let_a_stranger_call(void *call)
{
    pthread_t stranger;

    odi_deque_adopt(&deque);
    child_expects(odi_deque_push(&deque, (odi_entry){1, 1}));
    pthread_create(&stranger, NULL, call_as_a_stranger, call);
    pthread_join(stranger, NULL);
}

/* M16: whoever adopts it next may. */
DEQUE_TEST(an_owners_call_by_a_stranger_traps)
{
    odi_entry entry;

    for (uintptr_t call = 0; call < OWNERS_CALLS; call++)
        assert_child_traps(adopt_and_let_a_stranger_call, (void *)call, "deque->owner");
    odi_deque_adopt(&deque);
    assert_true(odi_deque_push(&deque, (odi_entry){1, 1}));
    assert_true(odi_deque_take(&deque, &entry));
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
