/* timer/wheel: against an oracle that looks at every node, with a clock made of a number. */
#include "Support/prng.h"
#include "Support/watchdog.h"

#include <inttypes.h>

#include "timer/wheel.h"

enum { NODES = 512 };

typedef struct {
    odi_wheel_node node; /* first */
    uint64_t tick, order;
    bool in;
} entry;

static odi_wheel wheel;
static entry entries[NODES];
static uint64_t now, orders;

static int set_up(void **state)
{
    memset(&wheel, 0, sizeof wheel);
    memset(entries, 0, sizeof entries);
    now = orders = 0;
    return 0;
}

static void arm(entry *it, uint64_t tick)
{
    it->tick = tick < now ? now : tick;
    it->order = orders++;
    it->in = true;
    odi_wheel_arm(&wheel, &it->node, tick, now);
    assert_true(it->node.tick <= it->tick); /* never late */
}

static void cancel(entry *it)
{
    it->in = false;
    odi_wheel_cancel(&wheel, &it->node);
}

/* What has to come next: the least tick, and of one tick what was armed first. A tick in the
 * past counts as the wheel's time, which is never after the oracle's. */
static entry *earliest(void)
{
    entry *best = NULL;

    for (int i = 0; i < NODES; i++) {
        entry *it = &entries[i];

        if (it->in && (best == NULL || it->node.tick < best->node.tick ||
                       (it->node.tick == best->node.tick && it->order < best->order)))
            best = it;
    }
    return best;
}

/* Lets time pass and takes what is due, comparing with the oracle. */
static void pass_to(uint64_t then)
{
    now = then;
    for (;;) {
        entry *due = earliest();
        odi_wheel_node *taken = odi_wheel_take(&wheel, now);

        if (due == NULL || due->node.tick > now) {
            assert_null(taken);
            break;
        }
        assert_ptr_equal(taken, &due->node);
        assert_true(due->tick <= now); /* never early */
        due->in = false;
    }
    entry *next = earliest();
    if (next == NULL)
        assert_int_equal(odi_wheel_next(&wheel), ODI_WHEEL_NEVER);
    else
        assert_true(odi_wheel_next(&wheel) <= next->node.tick);
}

/* Each digit's highest value is followed by a carry into the next. */
TEST_WITH(every_digit_rolls_over, set_up, NULL)
{
    for (int level = 0; level < ODI_WHEEL_LEVELS - 1; level++) {
        uint64_t edge = UINT64_C(1) << (level + 1) * ODI_WHEEL_DIGIT;

        pass_to(edge - 2);
        for (uint64_t i = 0; i < 6; i++)
            arm(&entries[i], edge - 2 + i);
        for (uint64_t i = 0; i < 6; i++)
            pass_to(edge - 2 + i);
        assert_int_equal(wheel.count, 0);
    }
}

TEST_WITH(the_end_of_time_is_never_reached_but_can_be_waited_for, set_up, NULL)
{
    arm(&entries[0], ODI_WHEEL_NEVER - 1);
    arm(&entries[1], ODI_WHEEL_NEVER / 2);
    pass_to(ODI_WHEEL_NEVER / 2);
    assert_int_equal(wheel.count, 1);
    pass_to(ODI_WHEEL_NEVER - 2);
    assert_int_equal(wheel.count, 1);
    pass_to(ODI_WHEEL_NEVER - 1);
    assert_int_equal(wheel.count, 0);
}

/* A sleeper goes by `next`: if it woke at the beginning of each slot on the way, a far timer
 * would cost a wake per level. */
TEST_WITH(a_far_timer_needs_no_look_before_it_is_due, set_up, NULL)
{
    uint64_t tick = UINT64_C(0x123456789abc);

    arm(&entries[0], tick);
    for (int looks = 0; wheel.count > 0; looks++) {
        assert_int_equal(looks, 0);
        assert_int_equal(odi_wheel_next(&wheel), tick);
        pass_to(odi_wheel_next(&wheel));
    }
}

TEST_WITH(who_cancels_the_first_leaves_at_most_a_look_per_level, set_up, NULL)
{
    uint64_t tick = UINT64_C(0x12345678ffff);
    int looks = 0;

    arm(&entries[0], tick - 60000);
    arm(&entries[1], tick);
    cancel(&entries[0]);
    for (; wheel.count > 0; looks++)
        pass_to(odi_wheel_next(&wheel));
    assert_in_range(looks, 1, 1 + ODI_WHEEL_LEVELS);
}

TEST_WITH(empty_returns_everything_once, set_up, NULL)
{
    prng random = prng_for(9, 0);
    int count = 0;

    for (int i = 0; i < NODES; i++)
        arm(&entries[i], (uint64_t)prng_below(&random, 1u << 31) << prng_below(&random, 22));
    for (odi_wheel_node *node = odi_wheel_empty(&wheel); node != NULL; node = node->next) {
        entry *it = (entry *)node;

        assert_true(it->in);
        it->in = false;
        count++;
    }
    assert_int_equal(count, NODES);
    assert_null(odi_wheel_empty(&wheel));
    assert_int_equal(odi_wheel_next(&wheel), ODI_WHEEL_NEVER);
    arm(&entries[0], 7);
    pass_to(7);
}

/* Random arms, cancels and steps of time of every size. */
static void run_random(uint64_t seed, int steps)
{
    prng random = prng_for(seed, 0);

    set_up(NULL);
    now = prng_one_in(&random, 2) ? 0 : (uint64_t)prng_below(&random, 1u << 31) << 8;
    for (int i = 0; i < steps; i++) {
        entry *it = &entries[prng_below(&random, NODES)];
        uint64_t distance = (uint64_t)prng_below(&random, 1u << 31) >> prng_below(&random, 31)
                                                                   << prng_below(&random, 12);

        switch (prng_below(&random, 8)) {
        case 0:
            if (odi_wheel_next(&wheel) != ODI_WHEEL_NEVER && odi_wheel_next(&wheel) > now)
                pass_to(odi_wheel_next(&wheel) - prng_below(&random, 2));
            break;
        case 1:
            if (now + distance < ODI_WHEEL_NEVER - (UINT64_C(1) << 44))
                pass_to(now + distance);
            break;
        case 2:
        case 3:
            if (it->in)
                cancel(it);
            break;
        case 4: /* in the past */
            if (!it->in)
                arm(it, now - (distance < now ? distance : now));
            break;
        case 5: { /* with another one, which may have been armed long ago */
            const entry *other = &entries[prng_below(&random, NODES)];

            if (!it->in && other->in)
                arm(it, other->tick);
            break;
        }
        default:
            if (!it->in)
                arm(it, now + distance);
        }
    }
    pass_to(ODI_WHEEL_NEVER - 1);
    assert_int_equal(wheel.count, 0);
}

TEST_WITH(random_operations_agree_with_a_list, set_up, NULL)
{
    for (uint64_t seed = 0; seed < UNLESS_SANITIZED(200, 40); seed++)
        run_random(seed, 2000);
}

GUARDED_PROGRAM
