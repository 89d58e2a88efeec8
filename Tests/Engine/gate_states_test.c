/* job/gate: every state that three gates on each other come to, in every order of their steps: no more
 * inside than the width, barriers alone and in their place, nobody left behind, and no step without end.
 *
 * The search is depth first over whole values. A state that was seen is known by 128 bits of a hash. A step
 * that leads to a state on the present path would be a circle: there is none, so every run ends, and in
 * each state in which nothing can be done all has been.
 */
#include "Support/gate_world.h"

enum { DEEPEST = 400, ROOM = 1 << 24 };

typedef struct {
    uint64_t low, high; /* high: its last bit says that the state is on the path */
} mark;

static struct {
    mark marks[ROOM];
    size_t count;
    world path[DEEPEST];
    uint8_t next[DEEPEST]; /* the step to be tried */
    size_t places[DEEPEST];
} search;

static mark mark_of(const world *now)
{
    const unsigned char *bytes = (const void *)now;
    mark it = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};

    for (size_t i = 0; i < sizeof *now; i++) {
        it.low = (it.low ^ bytes[i]) * UINT64_C(0x100000001b3);
        it.high = (it.high + bytes[i]) * UINT64_C(0xff51afd7ed558ccd);
        it.high ^= it.high >> 29;
    }
    it.high &= ~UINT64_C(1);
    it.low |= it.low == 0;
    return it;
}

static size_t place_of(mark it)
{
    size_t place = (size_t)it.high >> 8 & (ROOM - 1);

    while (search.marks[place].low != 0 &&
           (search.marks[place].low != it.low || (search.marks[place].high & ~UINT64_C(1)) != it.high))
        place = (place + 1) & (ROOM - 1);
    return place;
}

static void tell(int depth, const char *fault)
{
    print_message("%s, after the steps", fault);
    for (int each = 0; each < depth; each++)
        print_message(" %d", search.next[each] - 1);
    print_message("\n");
}

/* Drainers are like each other: those that are there stand first, in an order. */
static void sort(world *now)
{
    for (int each = 1; each < DRAINERS; each++) {
        for (int i = each; i > 0 && memcmp(&now->drainers[i - 1], &now->drainers[i], sizeof(drainer)) < 0; i--) {
            drainer other = now->drainers[i];

            now->drainers[i] = now->drainers[i - 1];
            now->drainers[i - 1] = other;
        }
    }
}

/* False: the state was seen before, or is wrong. */
static bool enters(int depth, bool *wrong)
{
    mark it = mark_of(&search.path[depth]);
    size_t place = place_of(it);
    const char *fault = fault_of(&search.path[depth], false);

    if (search.marks[place].low != 0) {
        *wrong = search.marks[place].high & 1;
        if (*wrong)
            tell(depth, "it goes round in a circle");
        return false;
    }
    assert_true(++search.count < ROOM / 4 * 3);
    *wrong = fault != NULL;
    if (*wrong)
        tell(depth, fault);
    it.high |= 1;
    search.marks[place] = it;
    search.places[depth] = place;
    search.next[depth] = 0;
    return !*wrong;
}

static bool explore(const gate_plan *scenario)
{
    bool wrong = false, moved[DEEPEST];
    int depth = 0;

    plan = scenario;
    search.count = 0;
    memset(search.marks, 0, sizeof search.marks);
    world_begin(&search.path[0]);
    moved[0] = false;
    (void)enters(0, &wrong);
    while (depth >= 0 && !wrong) {
        if (search.next[depth] == STEPS) {
            const char *fault = moved[depth] ? NULL : fault_of(&search.path[depth], true);

            wrong = fault != NULL;
            if (wrong)
                tell(depth, fault);
            search.marks[search.places[depth]].high &= ~UINT64_C(1);
            depth--;
            continue;
        }
        assert_true(depth + 1 < DEEPEST);
        search.path[depth + 1] = search.path[depth];
        if (!world_step(&search.path[depth + 1], search.next[depth]++))
            continue;
        const char *fault = fault_between(&search.path[depth], &search.path[depth + 1]);
        wrong = fault != NULL;
        if (wrong) {
            tell(depth + 1, fault);
            break;
        }
        sort(&search.path[depth + 1]);
        moved[depth] = true;
        if (enters(depth + 1, &wrong))
            moved[++depth] = false;
    }
    return !wrong;
}

#define THREAD(what, where) {what, NOBODY, where, false}
#define CLOSURE(what, where, onto) {what, where, onto, false}
#define LATER(what, where) {what, where, 0, true}

static void explores(const gate_plan *scenario, size_t least)
{
    bool fine = explore(scenario);

    print_message("%zu states\n", search.count);
    assert_true(fine);
    assert_true(search.count >= least);
}

#define SCENARIO(name, least, ...)                                  \
    TEST(name)                                                      \
    {                                                               \
        static const gate_plan here = {__VA_ARGS__};                \
                                                                    \
        explores(&here, least);                                     \
    }

SCENARIO(a_barrier_is_alone_and_waits_for_what_was_outside, 1000, {1, 2, 0}, true, 5,
         {CLOSURE(BODY, ROOT, 0), CLOSURE(BARRIER, ROOT, 0), LATER(BODY, ROOT), LATER(BARRIER, ROOT),
          CLOSURE(BODY, 0, 0)})

SCENARIO(cancelling_a_barrier_reopens_the_line, 1000, {2, 2, 2}, false, 5,
         {CLOSURE(BODY, 1, 0), CLOSURE(BARRIER, 1, 0), LATER(BODY, 1), THREAD(CANCELS, 1),
          THREAD(SYNC, 0)})

SCENARIO(holders_of_all_permits_sync_onto_a_child, 1000, {1, 1, 2}, false, 4,
         {CLOSURE(SYNC, ROOT, 0), CLOSURE(SYNC, ROOT, 0), CLOSURE(BODY, 0, 0), CLOSURE(BODY, ROOT, 0)})

SCENARIO(a_barrier_waits_for_a_holder_whose_child_is_busy, 1000, {1, 2, 2}, false, 5,
         {CLOSURE(SYNC, ROOT, 0), CLOSURE(BODY, 0, 0), CLOSURE(BARRIER, ROOT, 0), LATER(BODY, 0),
          THREAD(SYNC, 0)})

SCENARIO(sync_callers_and_barriers_on_every_gate, 1000, {1, 2, 2}, false, 4,
         {THREAD(SYNC, 0), THREAD(SYNC_BARRIER, 1), THREAD(SYNC_BARRIER, ROOT), CLOSURE(BODY, 0, 0)})

SCENARIO(suspended_while_a_holder_waits, 1000, {1, 1, 2}, false, 5,
         {CLOSURE(SYNC, ROOT, 0), CLOSURE(BODY, 0, 0), CLOSURE(SYNC, ROOT, 1), THREAD(SUSPENDS, ROOT),
          LATER(BODY, 1)})

SCENARIO(a_smaller_width_while_holders_wait, 1000, {1, 2, 2}, false, 5,
         {CLOSURE(SYNC, ROOT, 0), CLOSURE(SYNC, ROOT, 0), CLOSURE(BODY, 0, 0), THREAD(NARROWS, ROOT),
          LATER(BODY, ROOT)})

SCENARIO(a_larger_width_while_a_holder_waits, 1000, {2, 2, 2}, false, 5,
         {CLOSURE(SYNC, ROOT, 0), CLOSURE(BODY, ROOT, 0), THREAD(WIDENS, ROOT), THREAD(SYNC, 0),
          CLOSURE(BODY, 0, 0)})

SCENARIO(a_serial_root_of_wide_children, 1000, {0, 2, 1}, false, 5,
         {CLOSURE(BODY, 0, 0), CLOSURE(BODY, 0, 0), CLOSURE(BARRIER, 0, 0), THREAD(SYNC, 1),
          THREAD(SYNC_BARRIER, 0)})

SCENARIO(a_sync_barrier_waits_for_what_was_outside, 100, {1, 2, 0}, true, 4,
         {THREAD(SYNC_BARRIER, ROOT), THREAD(SYNC, ROOT), CLOSURE(BODY, ROOT, 0), LATER(BODY, 1)})

SCENARIO(nobody_enters_what_is_suspended, 1000, {1, 2, 2}, false, 4,
         {THREAD(SYNC, 1), THREAD(SYNC_BARRIER, ROOT), THREAD(SUSPENDS, ROOT), CLOSURE(BODY, 0, 0)})

SCENARIO(callers_through_a_child_that_holders_wait_for, 1000, {1, 2, 2}, false, 5,
         {CLOSURE(SYNC, ROOT, 0), CLOSURE(SYNC, ROOT, 0), THREAD(SYNC, 0), THREAD(SUSPENDS, ROOT),
          LATER(BODY, ROOT)})

SCENARIO(a_width_above_what_an_unlimited_gate_has, 1000, {1, 1, 3}, false, 6,
         {CLOSURE(BODY, ROOT, 0), CLOSURE(BODY, ROOT, 0), CLOSURE(BODY, ROOT, 0), CLOSURE(BODY, ROOT, 0),
          THREAD(SUSPENDS, ROOT), THREAD(SYNC, ROOT)})

TEST_PROGRAM
