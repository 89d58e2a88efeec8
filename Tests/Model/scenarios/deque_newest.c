/* deque_newest.c — the owner takes its newest entry back while thieves take the oldest ones. A steal takes one
 * entry at most, so that three of them are more than a thief can reach.
 */
#define ODI_DEQUE_MINIMUM 4
#define ODI_STEAL_BATCH 1

#include "queue/deque.c"

#include "doubles/deque.h"
#include "doubles/keep.h"

static void steal_one(void)
{
    odi_entry entry;

    odi_read_begin();
    if (odi_deque_steal(&deque, &entry, 1) == 1)
        ledger_note(entry);
    odi_read_end();
}

static void take_back(void)
{
    odi_entry entry;

    if (take_newest(&deque, &entry))
        ledger_note(entry);
}

static void prepare_some(unsigned count)
{
    odi_deque_init(&deque, INT64_MAX - 1, ODI_ANY_NODE);
    while (count-- > 0)
        push();
}

static void prepare_two(void) { prepare_some(2); }
static void prepare_three(void) { prepare_some(3); }

static void verify(void)
{
    while (odi_deque_size(&deque) > 0)
        take();
    ledger_settle_unordered(pushed);
}

static void take_one(void) { take_back(); }
static void take_two(void) { take_back(); take_back(); }

static void take_and_push(void)
{
    take_back();
    push();
    take_back();
}

static void steal_twice(void) { steal_one(); steal_one(); }

MODEL_SCENARIO(deque_newest_of_two, prepare_two, verify, take_one, steal_one, steal_one)
MODEL_REACHES(deque_newest_of_two, ledger[0].count == 0, ledger[1].count == 0)
MODEL_SCENARIO(deque_newest_twice, prepare_three, verify, take_two, steal_twice, steal_one)
MODEL_REACHES(deque_newest_twice, ledger[0].count == 0, ledger[0].count == 2, ledger[1].count == 2)
MODEL_SCENARIO(deque_newest_again, prepare_two, verify, take_and_push, steal_twice)
MODEL_REACHES(deque_newest_again, ledger[0].count == 2, ledger[1].count == 2)

/* What lies below it was pushed a moment ago: who learns of that by the lower bottom reads it all the same (D1). */
static void prepare_ring(void)
{
    prepare_some(0);
    model_check(odi_deque_make_ring(&deque));
}
static void push_two_and_take(void)
{
    push();
    push();
    take_back();
}
MODEL_SCENARIO(deque_newest_of_pushed, prepare_ring, verify, push_two_and_take, steal_twice)
MODEL_REACHES(deque_newest_of_pushed, ledger_has(0, 1), ledger[1].count == 1)
