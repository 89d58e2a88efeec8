/* gate/earmark.c: who has earmarked its place of a target and wants it back, while others run there. All three
 * were found by reading, and hung. */
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

/* ---- who takes part ---- */

static struct {
    od_queue *target, *serial, *other; /* the two are on the target */
    gate first_in_serial, first_in_target; /* where the first holder stays */
    gate second, third;                    /* in the target, before they sync */
    gate caller;                           /* in the other queue, on a place that was earmarked */
    atomic_bool second_is_back, all_go;
} scene;

static void set_scene(od_pool *alone)
{
    pool = alone;
    scene.first_in_serial = scene.first_in_target = (gate){0};
    scene.second = scene.third = scene.caller = (gate){0};
    atomic_store(&scene.second_is_back, false);
    atomic_store(&scene.all_go, false);
    scene.target = queue_of(3);
    scene.serial = queue_on(scene.target, 1, "serial");
    scene.other = queue_on(scene.target, 2, "other");
}

static void clear_scene(void)
{
    wait_for_queues(scene.other, scene.target);
    end_pool(pool, scene.serial, scene.other, scene.target);
}

static void *be_first(void *unused)
{
    od_scope target, serial;

    od_queue_sync_begin(scene.target, &target);
    od_queue_sync_begin(scene.serial, &serial);
    gate_pass(&scene.first_in_serial);
    od_queue_sync_end(&serial);
    gate_pass(&scene.first_in_target);
    od_queue_sync_end(&target);
    return unused;
}

static void sync_second(void)
{
    od_scope scope;

    od_queue_sync_begin(scene.serial, &scope);
    atomic_store(&scene.second_is_back, true);
    od_queue_sync_end(&scope);
}

static void *be_second(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(scene.target, &scope);
    gate_pass(&scene.second);
    sync_second();
    od_queue_sync_end(&scope);
    return unused;
}

static void *be_third(void *unused)
{
    od_scope target;

    od_queue_sync_begin(scene.target, &target);
    gate_pass(&scene.third);
    run_synced(scene.other, no_job, NULL);
    od_queue_sync_end(&target);
    return unused;
}

static void *call_other(void *unused)
{
    run_synced(scene.other, gate_job, &scene.caller);
    return unused;
}

/* ---- a drainer between two turns ---- */

/* Awake, so that no spare worker comes instead. */
static void wait_for_the_second(void *unused)
{
    while (!atomic_load(&scene.second_is_back) && !atomic_load(&scene.all_go)) {
    }
}

/* A drainer that went back in line kept its place, and stood in line behind a job that waited for the
 * holder. */
QUEUE_TEST(a_drainer_that_lines_up_leaves_its_place_to_who_wants_one_back)
{
    od_pool *before = pool;
    gate busy = {0}, job = {0};
    pthread_t threads[4];

    set_scene(pool_of(1));
    hold_a_worker(pool, &busy);
    pthread_create(&threads[0], NULL, be_first, NULL);
    assert_comes_true(atomic_load(&scene.first_in_serial.waiting) == 1);
    pthread_create(&threads[1], NULL, be_second, NULL);
    pthread_create(&threads[2], NULL, be_third, NULL);
    assert_comes_true(atomic_load(&scene.second.waiting) + atomic_load(&scene.third.waiting) == 2);
    pthread_create(&threads[3], NULL, call_other, NULL);
    assert_comes_true(running_in(scene.other) == 1 && waiting_in(scene.target) == 1);
    add(scene.other, gate_job, &job);
    assert_comes_true(running_in(scene.other) == 2 && waiting_in(scene.target) == 2);
    gate_open(&scene.third);
    assert_comes_true(atomic_load(&scene.caller.waiting) == 1);
    gate_open(&scene.second);
    assert_comes_true(away_from(scene.target) == 2);
    od_pool_submit(pool, OD_BAND_BACKGROUND, no_job, NULL); /* turns of one job */
    gate_open(&busy);
    assert_comes_true(atomic_load(&job.waiting) == 1);
    gate_open(&scene.first_in_serial);
    assert_comes_true(LOOK(scene.target, scene.target->more->back.first != NULL));
    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, wait_for_the_second, NULL);
    gate_open(&job);
    bool is_back = COMES_TRUE(atomic_load(&scene.second_is_back));
    atomic_store(&scene.all_go, true);
    gate_open(&scene.caller);
    gate_open(&scene.first_in_target);
    join_threads(threads, 4);
    clear_scene();
    pool = before;
    assert_true(is_back);
}

/* ---- queues that are waited for ---- */

/* One drainer serves both; each of its turns is one job, for the holders have all of the target's permits. */
SCENE(queues_that_holders_wait_for_take_turns,
      "lone; queue t width 2; queue serial width 1 on t; queue other width 2 on t; hold pool Busy; "
      "thread {inside t; Second; inside serial}; thread {inside t; Third; inside other}; Second -> 1; Third -> 1; "
      "add other o; add serial s; add other o; add serial s; add other o; add serial s; open Second Third; t.away -> 2; "
      "open Busy; join; wait other; wait serial; order sososo|ososos")

/* ---- a wider target ---- */

SCENE(places_of_a_target_that_grows_are_counted_anew,
      "queue t width 2; queue q width 3 on t; thread 2 {inside t; Third; inside q; in}; Third -> 2; add q 3 Busy; "
      "open Third; Busy -> 2; width t 3; Busy -> 3")

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
