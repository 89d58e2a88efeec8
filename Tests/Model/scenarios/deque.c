/* deque.c — the worker's deque: its owner against thieves, through a growth, over the wrap.
 *
 * The first ring has two slots, and the indices begin at INT64_MAX - 2, so that every
 * scenario that moves three entries crosses the wrap.
 */
#define ODI_DEQUE_MINIMUM 2

#include "queue/deque.c"

#include "doubles/deque.h"
#include "doubles/keep.h"

static unsigned stolen[MODEL_ROWS];
static size_t largest[MODEL_ROWS]; /* in one steal */

static void steal(size_t most)
{
    odi_entry entries[4];
    size_t count;

    odi_read_begin();
    count = odi_deque_steal(&deque, entries, most);
    model_check(count <= most);
    for (size_t i = 0; i < count; i++)
        ledger_note(entries[i]);
    stolen[model_thread()] += (unsigned)count;
    if (count > largest[model_thread()])
        largest[model_thread()] = count;
    odi_read_end();
}

/* The first ring exists already: one entry went through it. */
static void prepare(void)
{
    odi_entry entry;

    odi_deque_init(&deque, INT64_MAX - 2, ODI_ANY_NODE);
    odi_deque_push(&deque, (odi_entry){1, 1});
    odi_deque_take(&deque, &entry);
}

static void verify(void)
{
    odi_entry entry;

    while (odi_deque_take(&deque, &entry))
        ledger_note(entry);
    ledger_settle(pushed);
}

/* Both thieves, or neither, have something. */
static bool both_got_some(void) { return stolen[1] > 0 && stolen[2] > 0; }
static bool nobody_got_any(void) { return model_sum(stolen) == 0; }

/* The third entry has never been in the first ring. */
static bool was_stolen_behind_growth(void) { return ledger_has(1, 2) || ledger_has(2, 2); }

static void one_thief(void) { steal(2); }
static void two_steals(void) { steal(2); steal(2); }

/* One entry, one owner, two thieves. */
static void last_entry_owner(void) { push(); take(); }
MODEL_SCENARIO(deque_last_entry, prepare, verify, last_entry_owner, one_thief, one_thief)
MODEL_REACHES(deque_last_entry, nobody_got_any(), stolen[1] == 1)

/* Three entries do not fit the first ring. */
static void growth_owner(void)
{
    push();
    push();
    push();
    take();
}
MODEL_SCENARIO(deque_growth, prepare, verify, growth_owner, one_thief, one_thief)
MODEL_REACHES(deque_growth, nobody_got_any(), both_got_some(), was_stolen_behind_growth())

/* The slots of the old ring are written again after they were taken. */
static void reuse_owner(void)
{
    push();
    take();
    push();
    take();
    push();
    take();
}
MODEL_SCENARIO(deque_reuse, prepare, verify, reuse_owner, one_thief, one_thief)
MODEL_REACHES(deque_reuse, nobody_got_any(), both_got_some(), was_stolen_behind_growth())

/* Four entries at once, so that a thief takes two in one steal. */
static void prepare_four(void)
{
    prepare();
    for (int i = 0; i < 4; i++)
        push();
}
static void batch_owner(void)
{
    take();
    take();
    push();
}
MODEL_SCENARIO(deque_batch, prepare_four, verify, batch_owner, two_steals, one_thief)
MODEL_REACHES(deque_batch, nobody_got_any(), both_got_some(), largest[1] == 2)

/* The bar: 4 pushes, 3 takes, one growth; two thieves with two steals each. */
static void bar_owner(void)
{
    push();
    push();
    push();
    take();
    push();
    take();
    take();
}
MODEL_SCENARIO(deque_bar, prepare, verify, bar_owner, two_steals, two_steals)
MODEL_REACHES(deque_bar, nobody_got_any(), both_got_some(), was_stolen_behind_growth())

/* Shrinking while thieves look. */
static void prepare_large(void)
{
    prepare_four();
    for (int i = 0; i < 3; i++)
        take();
}
static void shrink_owner(void)
{
    take();
    odi_deque_shrink(&deque);
    push();
    take();
}
MODEL_SCENARIO(deque_shrink, prepare_large, verify, shrink_owner, one_thief, one_thief)
MODEL_REACHES(deque_shrink, nobody_got_any(), both_got_some(), ledger_has(1, 4))
