/* A thief that sleeps between its look and its compare-and-swap, while the owner passes as many
 * entries through the deque as a narrow index can count: the file itself, with the sleep put
 * in front of the swap. */
#include "Support/watchdog.h"

#include "base/atomic.h"

static void meanwhile(void);

#undef odi_cas_release
#define odi_cas_release(p, expected, desired, edge)                                       \
    (meanwhile(), atomic_compare_exchange_strong_explicit(                                \
                      (p), (expected), (desired), memory_order_release, memory_order_relaxed))
#define odi_deque_init frozen_init
#define odi_deque_adopt frozen_adopt
#define odi_deque_free frozen_free
#define odi_deque_make_ring frozen_make_ring
#define odi_deque_push frozen_push
#define odi_deque_take frozen_take
#define odi_deque_steal frozen_steal
#define odi_deque_size frozen_size
#define odi_deque_shrink frozen_shrink
#include "queue/deque.c"

static odi_deque deque;
static uint64_t pushed, taken;
static uint64_t rounds;

static void push(void)
{
    pushed++;
    assert_true(odi_deque_push(&deque, (odi_entry){pushed, pushed}));
}

/* There is always one entry in the deque, and a different one after each turn. */
static void meanwhile(void)
{
    odi_entry entry;

    for (uint64_t i = 0; i < rounds; i++) {
        push();
        assert_true(odi_deque_take(&deque, &entry));
        assert_int_equal(entry.code, ++taken);
    }
}

TEST(an_index_that_came_round_is_another_index)
{
    odi_entry stolen;

    odi_deque_init(&deque, 0, ODI_ANY_NODE);
    push();
    for (int bits = 8; bits <= 16; bits += 8) {
        rounds = UINT64_C(1) << bits;
        assert_int_equal(odi_deque_steal(&deque, &stolen, 1), 0);
    }
    rounds = 0;
    assert_int_equal(odi_deque_steal(&deque, &stolen, 1), 1);
    assert_int_equal(stolen.code, ++taken);
    odi_deque_free(&deque);
}

GUARDED_PROGRAM
