/* forks.c — fork, join, steal, migrate and leapfrog (worker/forks.c, include/od_fork.h): every
 * branch runs once, where it may.
 *
 * A branch is a plain function that notes its number; `up` to four of them exist. An owner's
 * stack is made by `prepare`, and its thread goes on from there.
 */
#include "worker/forks.c"

#include "worker/join.c"

#include "doubles/forking.h"

enum { BRANCHES = 4 };

static od_fork_slot *branch[BRANCHES];
static int number[BRANCHES] = {0, 1, 2, 3};
static int written[BRANCHES]; /* plain: the joiner must see what the branch wrote */
static unsigned ran[BRANCHES][MODEL_ROWS];

/* ---- branches ---- */

static void body(void *raw)
{
    int which = *(int *)raw;

    ran[which][model_thread()]++;
    written[which] = which + 1;
}

static void fork_branch(int which) { branch[which] = od_fork(body, &number[which]); }

static void join_branch(int which)
{
    od_join(branch[which], body, &number[which]);
    model_check(written[which] == which + 1);
}

static void settle(int branches)
{
    for (int which = 0; which < branches; which++)
        model_check(model_sum(ran[which]) == 1); /* 0: lost, 2: doubled */
}

static void as_owner_0(void (*act)(void))
{
    own(0);
    be(0);
    act();
}

static void steal_and_run(unsigned me) { steal_and_run_of(me, 0); }

/* ---- one shared fork: join against steal ---- */

static void nothing(void) {}
static void prepare_empty(void)
{
    as_owner_0(nothing);
    own(1);
    own(2);
}
static void fork_and_join(void)
{
    be(0);
    fork_branch(0);
    join_branch(0);
}
static void thief_1(void) { steal_and_run(1); }
static void thief_2(void) { steal_and_run(2); }
static void verify_1(void) { settle(1); }
MODEL_SCENARIO(forks_root, prepare_empty, verify_1, fork_and_join, thief_1)
MODEL_REACHES(forks_root, ran[0][0] == 1, model_slept(0))

/* The stack is used again at the same places while thieves are about. */
static void fork_and_join_twice(void)
{
    be(0);
    fork_branch(0);
    join_branch(0);
    fork_branch(1);
    join_branch(1);
}
static void verify_2(void) { settle(2); }
MODEL_SCENARIO(forks_reuse, prepare_empty, verify_2, fork_and_join_twice, thief_1, thief_2)
MODEL_REACHES(forks_reuse, ran[0][0] == 1, ran[1][0] == 1, ran[0][1] == 1 && ran[1][2] == 1)

/* ---- private forks: pop against a thief that helps itself ---- */

static void fork_two(void)
{
    fork_branch(0);
    fork_branch(1);
}
static void prepare_private(void)
{
    as_owner_0(fork_two);
    model_check(split_of(odi_load_relaxed(&forks[0].word)) == 1);
    own(1);
    own(2);
}
static void pop_both(void)
{
    be(0);
    join_branch(1);
    join_branch(0);
}
static void help_oneself(unsigned me)
{
    odi_forks_want(&forks[0]);
    migrate(&forks[0]);
    steal_and_run(me);
    steal_and_run(me);
}
static void migrant_1(void) { help_oneself(1); }
MODEL_SCENARIO(forks_migrate, prepare_private, verify_2, pop_both, migrant_1)
MODEL_REACHES(forks_migrate, ran[0][0] == 1, ran[1][0] == 1)

/* The owner's stack goes down and up again meanwhile: its third fork is at the second's place. */
static void pop_fork_pop(void)
{
    be(0);
    join_branch(1);
    fork_branch(2);
    join_branch(2);
    join_branch(0);
}
static void verify_3(void) { settle(3); }
MODEL_SCENARIO(forks_migrate_reuse, prepare_private, verify_3, pop_fork_pop, migrant_1)
MODEL_REACHES(forks_migrate_reuse, ran[0][0] == 1, ran[1][0] == 1, ran[2][0] == 1)

/* What is left below a pop was forked a moment ago, and its thief is another one than who helps himself (F1, F8). */
static void prepare_root_out(void)
{
    as_owner_0(nothing);
    be(0);
    fork_branch(0);
    model_check(odi_forks_steal(&forks[0]) == branch[0]);
    own(1);
    own(2);
}
static void fork_two_and_pop(void)
{
    be(0);
    fork_branch(1);
    fork_branch(2);
    join_branch(2);
}
static void want_and_migrate(void) { odi_forks_want(&forks[0]); migrate(&forks[0]); }
static void verify_each_at_most_once(void) { model_check(model_sum(ran[1]) <= 1 && model_sum(ran[2]) == 1); }
MODEL_SCENARIO(forks_migrate_below_a_pop, prepare_root_out, verify_each_at_most_once, fork_two_and_pop, want_and_migrate, thief_2)
MODEL_REACHES(forks_migrate_below_a_pop, ran[1][2] == 1)

/* The owner has waited for a branch that is over, and forgets it: nobody takes it for one that is forked still (F2). */
static void prepare_done(void)
{
    prepare_root_out();
    be(0);
    fork_branch(1);
    odi_forks_want(&forks[0]);
    od_fork_asked();
    be(1);
    steal_and_run(1);
    model_check(ran[1][MODEL_ROWS - 1] == 1);
}
static void join_one(void) { be(0); join_branch(1); }
static void verify_done_once(void) { model_check(model_sum(ran[1]) == 1); }
MODEL_SCENARIO(forks_migrate_what_is_over, prepare_done, verify_done_once, join_one, migrant_1)
MODEL_ONLY_END(forks_migrate_what_is_over, odi_load_relaxed(&forks[0].owner.limit) == ODI_FORKS_ASKED)

static void want_and_steal(void) { odi_forks_want(&forks[0]); steal_and_run(2); }
MODEL_SCENARIO(forks_ask_and_migrate, prepare_private, verify_2, pop_both, migrant_1, want_and_steal)
MODEL_REACHES(forks_ask_and_migrate, ran[0][0] == 1, ran[1][0] == 1, ran[0][1] == 1 && ran[1][2] == 1,
              ran[0][2] == 1 && ran[1][1] == 1)

/* An owner that is elsewhere answers no request: who has asked long enough helps itself to what is private. */
static void ask_for_long(void)
{
    odi_steal_request request = {0};

    be(1);
    odi_forks_ask(&forks[0], &request, 0);
    odi_forks_ask(&forks[0], &request, PATIENCE_NS);
    steal_and_run(1);
    steal_and_run(1);
}
MODEL_SCENARIO(forks_ask_in_vain, prepare_private, verify_2, ask_for_long)
MODEL_ONLY_END(forks_ask_in_vain, ran[0][0] == 1 && ran[1][0] == 1)

/* ---- several branches of one closure: each is told its number, and leaves its result ---- */

static __attribute__((swiftcall)) void
tell(__attribute__((swift_indirect_result)) void *result, uint64_t which,
     __attribute__((swift_context)) void *context)
{
    model_check(context == number && which < BRANCHES);
    ran[which][model_thread()]++;
    *(uint64_t *)result = 7 + which;
}

static void fork_numbered(uint32_t which)
{
    branch[which] = od_fork_push_numbered((uint64_t)(uintptr_t)tell, number, which);
}

static void join_numbered(uint32_t which)
{
    uint64_t result;

    if (od_fork_pop(branch[which]))
        tell(&result, which, number);
    else {
        if (od_join_numbered_back())
            tell(&result, which, number);
        else
            result = branch[which]->code;
        od_join_end();
    }
    model_check(result == 7 + which);
}

static void fork_two_numbered(void)
{
    fork_numbered(1);
    fork_numbered(0);
}
static void fork_and_join_numbered(void)
{
    be(0);
    fork_two_numbered();
    join_numbered(0);
    join_numbered(1);
}
static void thief_twice(void) { steal_and_run(1); steal_and_run(1); }
MODEL_SCENARIO(forks_numbered, prepare_empty, verify_2, fork_and_join_numbered, thief_twice)
MODEL_REACHES(forks_numbered, ran[1][0] == 1)

/* The same with private ones, a thief that helps itself, and another. */
static void prepare_numbered(void)
{
    as_owner_0(fork_two_numbered);
    own(1);
    own(2);
}
static void join_both_numbered(void)
{
    be(0);
    join_numbered(0);
    join_numbered(1);
}
MODEL_SCENARIO(forks_numbered_migrate, prepare_numbered, verify_2, join_both_numbered, migrant_1, thief_2)
MODEL_REACHES(forks_numbered_migrate, ran[0][0] == 1, ran[1][0] == 1, ran[1][1] == 1 && ran[0][2] == 1)

/* ---- whose work ---- */

/* Whoever takes a root knows whose work it is. */
static void body_at_work(void *raw)
{
    model_check(od_thread_work() == number);
    body(raw);
}
static void fork_at_work(void)
{
    be(0);
    od_thread_set_work(number);
    branch[0] = od_fork(body_at_work, &number[0]);
    od_join(branch[0], body_at_work, &number[0]);
}
/* The thief waits for a root of its own, which somebody has: what it forks above inherits that work while it lasts. */
static void prepare_waiting_thief(void)
{
    prepare_empty();
    be(1);
    fork_branch(1);
    model_check(odi_forks_steal(&forks[1]) == branch[1]);
}
static void migrate_and_steal(void)
{
    be(1);
    migrate(&forks[0]);
    steal_and_run(1);
    model_check(odi_load_relaxed(&forks[1].note_count) == 0);
}
MODEL_SCENARIO(forks_root_at_work, prepare_waiting_thief, verify_1, fork_at_work, migrate_and_steal)
MODEL_REACHES(forks_root_at_work, ran[0][0] == 1)

/* What is forked above a root inherits what the owner had begun by then, though notes come and go above
 * it; and the root what there was below. */
static void body_within(void *raw)
{
    model_check(od_thread_work() == &number[1]);
    body(raw);
}
static void body_without(void *raw)
{
    model_check(od_thread_work() == &number[3]);
    body(raw);
}
static void begin_and_end(int which)
{
    void *outer = od_work_enter(&number[which]);

    if (which == 1)
        branch[1] = od_fork(body_within, &number[1]);
    else {
        /* A note in the place of one that is over, above the fork that thieves look for. */
        od_work_leave(od_work_enter(&number[0]));
        return od_work_leave(outer);
    }
    begin_and_end(2);
    od_join(branch[1], body_within, &number[1]);
    od_work_leave(outer);
}
static void prepare_work(void)
{
    as_owner_0(nothing);
    be(0);
    od_thread_set_work(&number[3]);
    branch[0] = od_fork(body_without, &number[0]);
    /* Stale notes, as low as the root: what is read too early looks like one's own. */
    for (uint32_t i = 0; i < 3; i++)
        odi_store_relaxed(&forks[0].notes[i].work, (void *)&forks);
    own(1);
    own(2);
}
static void work_within_work(void)
{
    be(0);
    od_thread_set_work(&number[3]);
    begin_and_end(1);
    od_join(branch[0], body_without, &number[0]);
    model_check(od_thread_work() == &number[3] && odi_load_relaxed(&forks[0].note_count) == 0);
}
MODEL_SCENARIO(forks_inherit_work, prepare_work, verify_2, work_within_work, migrant_1)
MODEL_REACHES(forks_inherit_work, ran[0][0] == 1, ran[1][0] == 1)

/* While the owner answers with half of what is private, one thief helps itself to all of it and
 * another asks anew: the request looks as it did, and is about more. Whatever is exposed lies
 * below the limit, or a pop would take it for private. */
static void fork_a_third(void)
{
    be(0);
    fork_branch(2);
}
static void want_anew(void) { odi_forks_want(&forks[0]); }
static void verify_limit(void)
{
    uint32_t split = split_of(odi_load_relaxed(&forks[0].word));

    model_check(odi_load_relaxed(&forks[0].owner.limit) >= (uintptr_t)&forks[0].slots[split]);
}
MODEL_SCENARIO(forks_answer_and_migrate, prepare_private, verify_limit, fork_a_third, want_and_migrate, want_anew)
MODEL_REACHES(forks_answer_and_migrate, split_of(odi_load_relaxed(&forks[0].word)) == 2,
              split_of(odi_load_relaxed(&forks[0].word)) == 3)

/* ---- a thief goes to sleep: the next fork is seen, or announced ---- */

static bool saw_work;

static void go_to_sleep(void)
{
    odi_forks_want(&forks[0]);
    odi_fence_heavy(F2);
    saw_work = odi_forks_hold_work(&forks[0]);
}
static void prepare_stolen_root(void)
{
    as_owner_0(nothing);
    be(0);
    fork_branch(0);
    odi_store_relaxed(&published, 0);
    /* Somebody has the root: nothing is to be had. */
    model_check(odi_forks_steal(&forks[0]) == branch[0]);
}
static void fork_one_more(void)
{
    be(0);
    fork_branch(1);
}
static void verify_seen(void)
{
    model_check(saw_work || odi_load_relaxed(&published) == 1);
}
MODEL_SCENARIO(forks_sleep, prepare_stolen_root, verify_seen, fork_one_more, go_to_sleep)
MODEL_REACHES(forks_sleep, saw_work)

/* ---- waiting ---- */

/* Thread 1 has thread 0's root. Thread 0 sleeps in the join until it is done. */
static void prepare_taken(void)
{
    prepare_empty();
    be(0);
    fork_branch(0);
    model_check(odi_forks_steal(&forks[0]) == branch[0]);
}
static void run_taken(void) { be(1); odi_forks_run(&forks[1], &forks[0], branch[0]); }
static void sleep_until_done(void)
{
    od_fork_slot *slot = branch[0];

    be(0);
    odi_store_release(&forks[0].owner.head, slot + 1, F1);
    while (!is_over(slot))
        sleep_in_join(&forks[0], slot);
    model_check(written[0] == 1);
}
MODEL_SCENARIO(forks_sleeping_join, prepare_taken, verify_1, sleep_until_done, run_taken)
MODEL_REACHES(forks_sleeping_join, model_slept(0))

/* The branch that thread 1 runs forks two more: the sleeper is woken for one of them, or for
 * the end. It takes back at most what it may. */
static void forking_body(void *unused)
{
    ran[0][model_thread()]++;
    fork_branch(1);
    join_branch(1);
    written[0] = 1;
}
static void prepare_taken_forking(void)
{
    prepare_empty();
    be(0);
    branch[0] = od_fork(forking_body, &number[0]);
    model_check(odi_forks_steal(&forks[0]) == branch[0]);
}
static void sleep_or_leapfrog(void)
{
    od_fork_slot *slot = branch[0];

    odi_steal_request request = {0};

    be(0);
    odi_store_release(&forks[0].owner.head, slot + 1, F1);
    for (int turn = 0; turn < 2 && !is_over(slot); turn++) {
        if (!leapfrog(&forks[0], slot, &request))
            sleep_in_join(&forks[0], slot);
    }
    model_assume(is_over(slot)); /* no more turns than these */
    model_check(written[0] == 1);
}
static void verify_leapfrogged(void)
{
    settle(2);
    model_check(odi_counted(&forks[0].stolen) == ran[1][0]); /* whoever runs it, a joiner too */
}
MODEL_SCENARIO(forks_sleeping_leapfrog, prepare_taken_forking, verify_leapfrogged, sleep_or_leapfrog, run_taken)
MODEL_REACHES(forks_sleeping_leapfrog, ran[1][0] == 1, model_slept(0))

/* Thread 1 ends the branch and begins another root: what thread 0 wins of that is given back. */
static void run_taken_then_another(void)
{
    run_taken();
    fork_branch(2);
    join_branch(2);
}
static bool has_leapt;

static void leapfrog_once(void)
{
    odi_steal_request request = {0};

    be(0);
    odi_store_release(&forks[0].owner.head, branch[0] + 1, F1);
    has_leapt = leapfrog(&forks[0], branch[0], &request);
}
static void verify_no_stranger(void) { settle(3); model_check(ran[2][0] == 0); }
MODEL_SCENARIO(forks_no_stranger, prepare_taken_forking, verify_no_stranger, leapfrog_once, run_taken_then_another)
MODEL_REACHES(forks_no_stranger, ran[1][0] == 1, has_leapt && ran[1][0] == 0)

/* ---- a thief that has just come: whoever learns of it from the slot can use it ---- */

/* Who ran what was in the place before has forked since: a stranger's. */
static void prepare_newcomer(void)
{
    as_owner_0(nothing);
    own(2);
    fork_branch(1);
    be(2);
    steal_and_run(2);
    fork_branch(2);
    be(0);
    join_branch(1);
    fork_branch(0);
    model_check(branch[0] == branch[1] && odi_forks_steal(&forks[0]) == branch[0]);
}
static void come_and_run_taken(void) { own(1); run_taken(); }
static void verify_newcomer(void) { settle(2); model_check(model_sum(ran[2]) == 0); }
MODEL_SCENARIO(forks_newcomer, prepare_newcomer, verify_newcomer, leapfrog_once, come_and_run_taken)
MODEL_REACHES(forks_newcomer, model_met(0, "odi_forks_steal") > 0)
static void come_into_being_and_run_taken(void)
{
    odi_forks *mine = model_calloc(1, sizeof *mine);

    make_stack(mine);
    od_forks_self = &mine->owner;
    odi_forks_run(mine, &forks[0], branch[0]);
}
MODEL_SCENARIO(forks_newcomer_is_slept_for, prepare_newcomer, verify_newcomer, sleep_until_done, come_into_being_and_run_taken)
MODEL_REACHES(forks_newcomer_is_slept_for, model_slept(0), model_met(0, "odi_forks_want") > 0)

/* ---- a thief whose branch does not end: the joiner that sleeps for it sees what it forks, or is rung (F2) ---- */

static void prepare_at_it(void)
{
    prepare_taken();
    odi_store_release(&branch[0]->thief, &forks[1], F10); /* as odi_forks_run does */
}
static void fork_in_it(void)
{
    be(1);
    fork_branch(1);
}
static void sleep_for_it(void)
{
    be(0);
    sleep_in_join(&forks[0], branch[0]);
}
MODEL_SCENARIO(forks_joiner_is_rung, prepare_at_it, NULL, sleep_for_it, fork_in_it)
MODEL_REACHES(forks_joiner_is_rung, model_slept(0), model_met(1, "ring") > 0)

/* In these the joiner that waits takes a turn, or goes to sleep by itself. In forks_migrate_reuse it would take twenty seconds, in
 * forks_reuse and forks_inherit_work more than thirty, and the others that wait in a join outgrow the explorer's tables. */
MODEL_SPINS(forks_root, MODEL_SPINS_BOTH)
MODEL_SPINS(forks_migrate, MODEL_SPINS_BOTH)
MODEL_SPINS(forks_numbered, MODEL_SPINS_BOTH)
MODEL_SPINS(forks_root_at_work, MODEL_SPINS_BOTH)
MODEL_SPINS(forks_no_stranger, MODEL_SPINS_BOTH)
