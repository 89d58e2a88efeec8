/* gate/earmark.c: closures of a target that wait for a queue on it. Each of these hung, because all
 * places of the target were held by callers that waited for what needs one. */
#include "Support/scenes.h"
#include "Support/watchdog.h"

/* ---- who runs on the target ---- */

/* In the crowd are all who need a place of the target and do not wait. */
#define HOLDER "{come; Go; go; inside o; come; synced; outside; go}"
#define JOB "{come; a; go}"

SCENE(holders_of_all_places_sync_onto_a_queue_on_theirs,
      "W in 1 2 3 0: queue t width 2; queue o width W on t; add t 2 " HOLDER "; Go -> 2; add o 10 " JOB "; open Go; wait o; "
      "wait t; synced = 2; a = 10; pool.most <= 2; t.owes -> 0; anew; queue u width 3; queue p width W on u; "
      "add u 3 {come; All; go; inside p; come; inner; outside; go}; All -> 3; add p 10 {come; b; go}; open All; wait p; "
      "wait u; inner = 3; b = 10; pool.most <= 3; u.owes -> 0")

SCENE(holders_of_all_places_sync_as_barriers,
      "queue t width 2; queue o on t; add t 2 {come; Go; go; inside o!; come; synced; outside; go}; Go -> 2; "
      "add o 10 " JOB "; open Go; wait o; wait t; synced = 2; a = 10; pool.most <= 2; t.owes -> 0")

SCENE(holders_of_all_places_sync_through_a_chain,
      "W in 1 2: queue t width 2; queue m width W on t; queue o width 1 on m; add m 3 " JOB "; add t 2 " HOLDER "; Go -> 2; "
      "add o 10 " JOB "; open Go; wait m; wait o; wait t; synced = 2; a = 13; pool.most <= 2; t.owes -> 0")

/* They hold a place of their own queue, one of its target, and one of that one's. */
SCENE(holders_of_places_of_two_targets_sync_onto_a_sibling,
      "queue t width 2; queue m width 2 on t; queue h width 2 on m; queue o width 1 on m; add h 2 " HOLDER "; Go -> 2; "
      "add o 3 " JOB "; add m 5 " JOB "; add o 2 " JOB "; open Go; wait h; wait m; wait o; wait t; synced = 2; a = 10; "
      "pool.most <= 2; m.owes -> 0; t.owes -> 0")

/* It has the queue's place and waits for the target's, whose holders wait for the queue's. */
SCENE(a_caller_from_outside_is_lent_a_holders_place,
      "queue t width 2; queue o width 1 on t; add t 2 " HOLDER "; Go -> 2; thread {inside o; come; synced; go}; "
      "t.waiting -> 1; open Go; join; wait o; wait t; synced = 3; pool.most <= 2; t.owes -> 0")

/* More than are taken out of a line at once; the holders wait until they have left. */
SCENE(many_callers_from_outside_are_lent_holders_places,
      "queue t width 2; queue o width 70 on t; add t 2 {come; Go; go; inside o!; come; synced; outside; go}; Go -> 2; "
      "thread 70 {inside o; come; synced; go}; t.waiting -> 70; open Go; join; wait o; wait t; synced = 72; "
      "pool.most <= 2; t.owes -> 0")

/* The holders go on while some are left: each of these comes into the line again. */
SCENE(callers_that_are_left_when_holders_go_on_stand_in_the_line,
      "10 times: queue t width 2; queue o width 30 on t; add t 2 " HOLDER "; Go -> 2; thread 40 {inside o; come; synced; go}; "
      "t.waiting -> 30; open Go; join; wait o; wait t; synced = 42; pool.most <= 2; t.owes -> 0")

/* The holders come first; the caller's turn in the queue comes while they wait there. */
SCENE(a_caller_that_comes_later_is_lent_one_too,
      "queue t width 3; queue o width 1 on t; hold o Door; thread {inside o; come; synced; go}; o.waiting -> 1; "
      "add t 2 " HOLDER "; Go -> 2; open Go; t.away -> 2; width t 2; open Door; join; wait o; wait t; synced = 3; "
      "pool.most <= 3; t.owes -> 0")

/* ---- what the target promises meanwhile ---- */

/* A barrier of the target is behind the holders, and before what they wait for. */
SCENE(what_a_holder_waits_for_passes_a_barrier_that_waits_for_the_holder,
      "W in 2 0: queue t width W; queue o width 1 on t; add t 2 " HOLDER "; Go -> 2; "
      "add t {come; pool.inside = 1; go; alone} barrier; add o 10 " JOB "; open Go; wait o; wait t; synced = 2; a = 10; "
      "alone = 1; pool.most <= 2; t.owes -> 0")

/* It might wait for what the holder does next. */
SCENE(a_new_closure_takes_no_holders_place,
      "queue t width 2; queue o width 1 on t; add t 2 " HOLDER "; Go -> 2; add o Door; add t new; open Go; Door -> 1; "
      "t.away -> 2; settle; new = 0; open Door; wait o; wait t; synced = 2; new = 1; pool.most <= 2; t.owes -> 0")

SCENE(a_suspended_target_holds_what_holders_wait_for,
      "queue t width 2; queue o width 1 on t; add t 2 " HOLDER "; Go -> 2; add o 10 " JOB "; suspend t; open Go; "
      "t.away -> 2; settle; a = 0; resume t; wait o; wait t; synced = 2; a = 10; pool.most <= 2; t.owes -> 0")

/* Both have a place; neither would get a second one. */
SCENE(closures_of_a_limited_queue_sync_onto_it,
      "queue q width 2; add q 2 {Go; inside q; in}; Go -> 2; open Go; wait q; in = 2")

GUARDED_PROGRAM
