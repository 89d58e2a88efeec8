/* share.c — numbers that several threads share, transcribed from
 * Sources/OverdriveCore/Parallel/Share.swift (`work`, `offer`, `help`, `take`), on the engine's own fork
 * and join (worker/forks.c, include/od_fork.h): each number is taken once, whoever took it, and when the
 * loop returns nobody uses its count any more and what was done with the numbers is there.
 *
 * A loop's count is memory that is freed when the loop returns. By how much a part is larger than the
 * last is a matter of time, and is not transcribed: each part is one number.
 *
 * transcribes: Sources/OverdriveCore/Parallel/Share.swift:work fd47612e
 * transcribes: Sources/OverdriveCore/Parallel/Share.swift:offer 2c38869a
 * transcribes: Sources/OverdriveCore/Parallel/Share.swift:help 7913ea8c
 * transcribes: Sources/OverdriveCore/Parallel/Share.swift:take b520e5bd
 */
#include "worker/forks.c"

#include "worker/join.c"

#include "doubles/forking.h"

enum { MOST = 3, LAST_HELPER = 1 };

typedef struct {
    odi_atomic(uint64_t) next;
    uint64_t count;
    int captured; /* plain: what the loop's closure reads */
} share;

typedef struct {
    share *of;
    int others;
} helper;

static share *loops[2];
static unsigned ran[MOST][MODEL_ROWS];
static int done_with[MOST]; /* plain: the loop's caller reads it */

static void body(const share *it, uint64_t number)
{
    model_check(number < MOST && it->captured == 7);
    ran[number][model_thread()]++;
    done_with[number] = (int)number + 1;
}

static void take(share *it)
{
    for (;;) {
        uint64_t taken = odi_add_relaxed(&it->next, 1);

        if (taken >= it->count)
            return;
        body(it, taken);
    }
}

static void help(void *raw);

static void offer(share *it, int others)
{
    helper next = {it, others};
    od_fork_slot *slot = od_fork(help, &next);

    take(it);
    if (!od_fork_pop(slot) && od_join_back())
        od_join_end();
}

static void help(void *raw)
{
    helper *me = raw;

    if (odi_load_relaxed(&me->of->next) >= me->of->count)
        return;
    if (me->others == LAST_HELPER)
        take(me->of);
    else
        offer(me->of, me->others + 1);
}

/* The first `alone` numbers are taken before anything is offered. */
static void work(share *it, uint64_t count, uint64_t alone)
{
    odi_store_relaxed(&it->next, 0);
    it->count = count;
    it->captured = 7;
    for (uint64_t number = 0; number < alone; number++)
        body(it, number);
    if (alone > 0)
        odi_store_relaxed(&it->next, alone);
    offer(it, 0);
    for (uint64_t number = 0; number < count; number++)
        model_check(done_with[number] == (int)number + 1);
    model_free(it);
}

static void prepare(void)
{
    for (unsigned row = 0; row < 3; row++)
        own(row);
    for (int loop = 0; loop < 2; loop++) {
        loops[loop] = model_calloc(1, sizeof *loops[loop]);
        /* A number is one taker's whenever it is taken, and what he does next waits for it. */
        model_hint(&loops[loop]->next, sizeof loops[loop]->next);
    }
}

static void thief_of_0(void) { be(1); steal_and_run_of(1, 0); }
static void thief_of_1(void) { be(2); steal_and_run_of(2, 1); }

/* So many numbers, of both loops. */
static unsigned taken_by(unsigned thread) { return ran[0][thread] + ran[1][thread] + ran[2][thread]; }

static void each_once(uint64_t count)
{
    for (uint64_t number = 0; number < count; number++)
        model_check(model_sum(ran[number]) == 1); /* 0: lost, 2: taken twice */
}

/* ---- the caller and a helper ---- */

static void three_at_once(void) { be(0); work(loops[0], 3, 0); }
static void verify_3(void) { each_once(3); }
MODEL_SCENARIO(share_helped, prepare, verify_3, three_at_once, thief_of_0)
MODEL_REACHES(share_helped, taken_by(1) == 0, taken_by(1) == 3)

/* ---- the caller has begun alone ---- */

static void one_alone_two_offered(void) { be(0); work(loops[0], 3, 1); }
MODEL_SCENARIO(share_begun_alone, prepare, verify_3, one_alone_two_offered, thief_of_0)
MODEL_REACHES(share_begun_alone, taken_by(1) == 0, taken_by(1) == 2)

/* ---- a helper's helper ---- */

static void two_at_once(void) { be(0); work(loops[0], 2, 0); }
static void verify_2(void) { each_once(2); }
MODEL_SCENARIO(share_helpers_helper, prepare, verify_2, two_at_once, thief_of_0, thief_of_1)
MODEL_REACHES(share_helpers_helper, taken_by(1) > 0, taken_by(2) > 0)

/* ---- a thief that may come too late for the first loop ---- */

static void two_loops(void)
{
    be(0);
    work(loops[0], 1, 0);
    work(loops[1], 2, 1);
}
static void verify_two_loops(void)
{
    model_check(model_sum(ran[0]) == 2 && model_sum(ran[1]) == 1);
}
MODEL_SCENARIO(share_one_loop_after_another, prepare, verify_two_loops, two_loops, thief_of_0)
MODEL_REACHES(share_one_loop_after_another, taken_by(1) == 0, ran[0][1] == 1, ran[1][1] == 1)
