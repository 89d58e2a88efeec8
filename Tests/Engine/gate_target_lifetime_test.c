/* gate/target.c: how a queue comes onto another, how long that one lives, and how both end. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

/* ---- setting a target ---- */

SCENE(an_inactive_queue_changes_its_target,
      "queue t width 1; queue u width 1; queue q width 1 inactive; target q t; add q a; target q u; suspend t; "
      "hold u Door; activate q; settle; a = 0; suspend u; open Door; settle; a = 0; resume u; wait q; a = 1; "
      "queue r width 1 inactive; queue v width 1; target r v; target r none; suspend v; activate r; add r b; wait r")

SCENE_TRAPS(circles_and_late_targets_trap_by_name,
            "pool 1; queue b width 1; pool 1; queue a width 1 inactive; target a b",
            "TaskQueue.setTarget: a target of another scheduler (\"a\" on \"b\")",
            "queue test width 1; queue u width 1; target test u",
            "TaskQueue.setTarget: the queue is active (\"test\")",
            "queue a width 1 inactive; queue b width 1 inactive; queue c width 1 inactive; target a b; target b c; "
            "target c a",
            "TaskQueue.setTarget: a circle of targets (\"c\" -> \"a\" -> \"b\" -> \"c\")",
            "queue a width 1 inactive; target a a",
            "TaskQueue.setTarget: a circle of targets (\"a\" -> \"a\")")

/* ---- lives, memory, ends ---- */

SCENE(a_target_lives_as_long_as_what_is_on_it,
      "50 times W in 0 1 2: queue t width W; queue q width 1 on t; queue r on q; add r 20 a; release t; release q; "
      "add r a; release r; a -> 21")

/* A line that nobody has entered ends no drainer that could end the queue's life. */
QUEUE_TEST(a_target_is_over_with_queues_that_never_ran_anything)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *target = queue_of(widths[i]), *unused = queue_on(target, widths[i], "unused");
        od_queue *idle = inactive_queue(1, "never active"), *moved = inactive_queue(1, "moved");

        od_queue_set_target(idle, target);
        od_queue_set_target(moved, target);
        od_queue_set_target(moved, NULL);
        od_queue_release(target);
        assert_false(serves_again(target));
        od_queue_release(unused);
        assert_false(serves_again(target));
        od_queue_release(idle);
        assert_true(serves_again(target));
        od_queue_release(moved);
    }
}

static uint32_t places_held;

static void hold_places(void *queue) { places_held = od_queue_hold(queue); }

/* The first 23 have a note each. */
QUEUE_TEST(of_a_long_chain_every_place_is_held_and_given_up)
{
    enum { CHAIN = 40 };
    od_queue *chain[CHAIN];

    for (int each = 0; each < CHAIN; each++)
        chain[each] = queue_on(each > 0 ? chain[each - 1] : NULL, 1, "one of many");
    run_in(chain[CHAIN - 1], hold_places, chain[CHAIN - 1]);
    for (int each = 0; each < CHAIN; each++)
        assert_true(running_in(chain[each]) >= 1); /* a drainer may wait there for its target */
    od_queue_unhold(chain[CHAIN - 1], places_held);
    for (int each = CHAIN; each-- > 0;) {
        run_in(chain[each], no_job, NULL);
        assert_comes_true(running_in(chain[each]) == 0);
    }
    for (int each = CHAIN; each-- > 0;)
        od_queue_release(chain[each]);
}

static void sync_onto(void *queue) { run_synced(queue, no_job, NULL); }

/* The caller earmarks its place of the outermost queue for whom it waits for. */
QUEUE_TEST(a_closure_may_sync_onto_a_queue_that_is_forty_targets_away)
{
    enum { CHAIN = 41 };
    od_queue *chain[CHAIN];

    for (int each = 0; each < CHAIN; each++)
        chain[each] = queue_on(each > 0 ? chain[each - 1] : NULL, each == 0 ? 2 : each == CHAIN - 1 ? 1 : OD_UNLIMITED, "one of many");
    od_queue_suspend(chain[0]);
    for (int each = 0; each < 2; each++) /* both places of the outermost */
        od_queue_async(chain[0], NULL, OD_QUEUE_BAND, sync_onto, chain[CHAIN - 1]);
    od_queue_async(chain[CHAIN - 1], NULL, OD_QUEUE_BAND, no_job, NULL); /* it is before the sync in the line */
    od_queue_resume(chain[0]);
    assert_true(od_queue_wait(chain[0], HANG_NS));
    assert_true(od_queue_wait(chain[CHAIN - 1], HANG_NS));
    for (int each = CHAIN; each-- > 0;)
        od_queue_release(chain[each]);
}

/* A task gives them up, whose queue has been let go of while it awaited. */
QUEUE_TEST(a_queue_on_another_is_over_when_what_was_held_of_it_is_given_up)
{
    static const int32_t of_targets[] = {OD_UNLIMITED, 2};

    for (int each = 0; each < 2; each++) {
        od_queue *target = queue_of(of_targets[each]), *queue = queue_on(target, 1, "let go of");

        run_in(queue, hold_places, queue);
        assert_comes_true(running_in(queue) == 1 && !has_passes(queue));
        od_queue_release(queue);
        assert_false(serves_again(queue));
        od_queue_unhold(queue, places_held);
        assert_true(serves_again(queue));
        end_queue(target);
        assert_comes_true(serves_again(target));
    }
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
