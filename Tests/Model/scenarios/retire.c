/* retire.c — a ring goes out of use while thieves read it: reclaim.c frees it, not too early,
 * not twice, and the deque may retire again afterwards.
 *
 * reclaim.c runs as it is, over grace periods made of an asymmetric fence (doubles/grace.h).
 */
#define ODI_DEQUE_MINIMUM 2

#include "reclaim/reclaim.c"

#include "queue/deque.c"

#include "doubles/clock.h"
#include "doubles/deque.h"
#include "doubles/futex.h"
#include "doubles/grace.h"
#include "doubles/thread.h"

static void thief(void)
{
    odi_entry entries[2];
    size_t count;

    odi_reader_join();
    odi_read_begin();
    count = odi_deque_steal(&deque, entries, 2);
    odi_read_end();
    for (size_t i = 0; i < count; i++)
        ledger_note(entries[i]);
}

static void prepare(void)
{
    odi_entry entry;

    odi_deque_init(&deque, INT64_MAX - 2, ODI_ANY_NODE);
    odi_deque_push(&deque, (odi_entry){1, 1});
    odi_deque_take(&deque, &entry);
    grace_readers = 1u << 1 | 1u << 2;
}

static void verify(void)
{
    odi_entry entry;

    while (odi_deque_take(&deque, &entry))
        ledger_note(entry);
    ledger_settle(pushed);
}

static void growth_owner(void)
{
    push();
    push();
    push();
}

/* One growth; thieves; the reclaimer that the growth started. */
MODEL_SCENARIO(retire_growth, prepare, verify, growth_owner, thief, thief, model_started_thread)
MODEL_REACHES(retire_growth, ledger[1].count == 0, ledger[1].count > 0 && ledger[2].count > 0, ledger_has(1, 2))

/* A shrink and a growth: the second retirement meets the first, or follows it. */
static void prepare_large(void)
{
    prepare();
    grace_readers = 1u << 1;
    for (int i = 0; i < 3; i++)
        push();
    for (int i = 0; i < 3; i++)
        take();
    odi_store_relaxed(&retired_list, NULL); /* the growth's retirement is over */
    odi_store_relaxed(&threads_started, 0);
    odi_store_relaxed(&started[0].ready, false);
}
static void shrink_owner(void)
{
    odi_deque_shrink(&deque);
    push();
    push();
    push();
}
MODEL_SCENARIO(retire_twice, prepare_large, verify, shrink_owner, thief, model_started_thread,
               model_second_started_thread)
MODEL_REACHES(retire_twice, ledger[1].count > 0, odi_load_relaxed(&threads_started) == 2)

/* The deque goes away while its last retirement is under way. */
static odi_deque *passing;

static void prepare_passing(void)
{
    odi_entry entry;

    passing = model_malloc(sizeof *passing);
    odi_deque_init(passing, 0, ODI_ANY_NODE);
    odi_deque_push(passing, ledger_entry(0));
    odi_deque_take(passing, &entry);
}
static void passing_owner(void)
{
    for (int i = 0; i < 3; i++)
        model_check(odi_deque_push(passing, ledger_entry(0)));
    odi_deque_free(passing);
    model_free(passing);
}
MODEL_SCENARIO(retire_then_free, prepare_passing, NULL, passing_owner, model_started_thread)
MODEL_ONLY_END(retire_then_free, odi_load_relaxed(&retired_list) == NULL)
