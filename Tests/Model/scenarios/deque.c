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

/* Thieves get something in some execution, and nothing in another. */
static void verify_either(void)
{
    verify();
    model_reaches(model_sum(stolen) == 0);
    model_reaches(model_sum(stolen) > 0);
}

/* A thief takes two at once. */
static void verify_batch(void)
{
    size_t most = 0;

    verify();
    for (unsigned row = 0; row < MODEL_ROWS; row++)
        most = largest[row] > most ? largest[row] : most;
    model_reaches(most == 2);
}

static void one_thief(void) { steal(2); }
static void two_steals(void) { steal(2); steal(2); }

/* One entry, one owner, two thieves. */
static void last_entry_owner(void) { push(); take(); }
MODEL_SCENARIO(deque_last_entry, prepare, verify_either, last_entry_owner, one_thief, one_thief)

/* Three entries do not fit the first ring. */
static void growth_owner(void)
{
    push();
    push();
    push();
    take();
}
MODEL_SCENARIO(deque_growth, prepare, verify_either, growth_owner, one_thief, one_thief)

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
MODEL_SCENARIO(deque_reuse, prepare, verify_either, reuse_owner, one_thief, one_thief)

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
MODEL_SCENARIO(deque_batch, prepare_four, verify_batch, batch_owner, two_steals, one_thief)

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
