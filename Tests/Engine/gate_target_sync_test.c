/* gate/target.c: sync callers of queues on queues: where one is then, what is waited for, and which would wait
 * for itself. */
#include "Support/scenes.h"
#include "Support/watchdog.h"

/* ---- where one is ---- */

SCENE(a_job_is_on_all_targets_of_its_queue,
      "W in 0 1 2: queue t width W; queue m width 1 on t; queue q width 2 on m; "
      "add q {q.here = 1; q.current = 1; m.current = 1; t.current = 1; a}; wait q; "
      "add m {q.current = 0; m.current = 1; t.current = 1; a}; wait m; inside q; q.here = 1; q.current = 1; "
      "m.current = 1; t.current = 1; outside; inside m!; q.current = 0; m.current = 1; t.current = 1; outside; "
      "t.current = 0; a = 2")

SCENE(a_shared_target_gives_no_order_but_is_around,
      "queue t shared; queue m width 2 on t; queue q width 1 on m; "
      "add q {q.here = 1; q.current = 1; m.current = 1; t.current = 1; a}; wait q; a = 1")

/* ---- whose turn it is ---- */

SCENE(sync_callers_take_turns_through_the_chain,
      "queue t width 1; queue m on t; queue q width 1 on m; "
      "thread 2 {repeat 150 {add t {come; a; go}; inside t; come; a; go}}; "
      "thread 2 {repeat 150 {add m {come; a; go}; inside m; come; a; go}}; "
      "thread 2 {repeat 150 {add q {come; a; go}; inside q; come; a; go}}; join; wait q; wait m; wait t; a = 1800; "
      "pool.most = 1")

/* The chain's upper queues are free: it is the target's turn that is waited for. */
SCENE(a_sync_caller_waits_for_what_runs_on_the_target,
      "queue t width 1; queue m on t; queue q width 1 on m; hold t Door; thread {inside q; in}; t.waiting -> 1; in = 0; "
      "open Door; join; in = 1")

SCENE_TRAPS(a_sync_that_would_wait_for_itself_traps_by_name,
            "queue test; queue high width 1 on test; inside test!; inside high",
            "TaskQueue.sync: a barrier of the target would wait for itself (\"high\" on \"test\")",
            "queue test width 1; queue mid on test; queue high width 1 on mid; add test {inside high}; wait test",
            "TaskQueue.sync: a closure of the target would wait for itself (\"high\" on \"test\")",
            "queue test width 1; queue high width 1 on test; queue sibling width 1 on test; inside sibling; "
            "inside high!",
            "TaskQueue.sync: a closure of the target would wait for itself (\"high\" on \"test\")",
            "queue test width 1; queue high width 1 on test; inside high; inside test",
            "TaskQueue.sync: a closure of the queue would wait for itself (\"test\")")

SCENE(a_closure_of_a_concurrent_target_may_sync_onto_a_queue_on_it,
      "queue t; queue q width 1 on t; add t 20 {a; inside q; in}; add q 20 b; wait t; wait q; in = 20; b = 20")

/* Each of the target's places may be held by one who would wait for room, or for his turn to run it himself. */
SCENE(a_full_queue_lets_in_who_is_on_its_target,
      "W in waits runs: queue t width 1; queue q width 1 limit 2 W on t; add t 4 {add q 20 {come; a; go}}; wait t; "
      "wait q; a = 80; pool.most = 1; queue u width 2; queue r width 1 limit 2 W on u; "
      "add u 4 {add r 20 {come; b; go}}; wait u; wait r; b = 80; pool.most = 1")

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
