/* lane/borrow.c: what a waiting holder's thread runs on top of it, because nobody else could, comes onto
 * the target by the place that the holder lends. All were found by reading, and hung. */
#include "Support/lanes.h"
#include "Support/looks.h"
#include "Support/watchdog.h"

#include <pthread.h>

static struct {
    od_queue *target, *awaited; /* awaited: on the target; the holder waits for it */
    od_queue *entered;          /* by the job on top: the target, or another queue on it */
    od_queue *open;
    atomic_bool on_top_began, on_top_ran, holder_ran;
    gate outside;               /* on the target, on the place that is not the holder's */
    gate first, second;         /* in the awaited queue */
} scene;

static void set_scene(int32_t awaited_width)
{
    pool = lone_worker();
    scene.outside = scene.first = scene.second = (gate){0};
    atomic_store(&scene.on_top_began, false);
    atomic_store(&scene.on_top_ran, false);
    atomic_store(&scene.holder_ran, false);
    scene.target = queue_of(2);
    scene.awaited = queue_on(scene.target, awaited_width, "awaited");
    scene.open = queue_of(OD_UNLIMITED);
}

static void clear_scene(void)
{
    assert_true(od_queue_wait(scene.awaited, HANG_NS));
    assert_true(od_queue_wait(scene.target, HANG_NS));
    od_queue_release(scene.open);
    od_queue_release(scene.awaited);
    od_queue_release(scene.target);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void on_top(void *unused)
{
    od_stay stay;

    (void)unused;
    atomic_store(&scene.on_top_began, true);
    od_queue_sync_begin(scene.entered, &stay);
    atomic_store(&scene.on_top_ran, true);
    od_queue_sync_end(&stay);
}

/* On the target. What it submits goes into the deque of the only worker, which is its own. */
static void holder(void *unused)
{
    od_stay stay;

    (void)unused;
    add(scene.open, on_top, NULL);
    od_queue_sync_begin(scene.awaited, &stay);
    atomic_store(&scene.holder_ran, true);
    od_queue_sync_end(&stay);
}

static void *stay_on_target(void *unused)
{
    od_stay stay;

    od_queue_sync_begin(scene.target, &stay);
    gate_pass(&scene.outside);
    od_queue_sync_end(&stay);
    return unused;
}

/* One of the target's two places is the holder's, and lent; the other is kept from outside until the
 * job on top has been in. */
static void come_in_while_the_holder_waits(bool through_another)
{
    pthread_t thread;

    set_scene(1);
    od_queue *other = queue_on(scene.target, 1, "other");
    scene.entered = through_another ? other : scene.target;
    od_queue_suspend(scene.awaited);
    assert_int_equal(pthread_create(&thread, NULL, stay_on_target, NULL), 0);
    assert_comes_true(atomic_load(&scene.outside.waiting) == 1);
    add(scene.target, holder, NULL);
    assert_comes_true(atomic_load(&scene.on_top_ran));
    assert_false(atomic_load(&scene.holder_ran));
    od_queue_resume(scene.awaited);
    assert_comes_true(atomic_load(&scene.holder_ran));
    gate_open(&scene.outside);
    pthread_join(thread, NULL);
    od_queue_release(other);
    clear_scene();
}

static void a_job_on_top_of_a_holder_comes_onto_the_target(void **state)
{
    (void)state;
    come_in_while_the_holder_waits(false);
}

static void a_job_on_top_of_a_holder_comes_in_through_another_queue(void **state)
{
    (void)state;
    come_in_while_the_holder_waits(true);
}

/* ---- while the holder wants its place back ---- */

static void *pass_through(void *door)
{
    od_stay stay;

    od_queue_sync_begin(scene.awaited, &stay);
    gate_pass(door);
    od_queue_sync_end(&stay);
    return NULL;
}

static gate before_sync;

static void holder_after_the_others(void *unused)
{
    gate_pass(&before_sync);
    holder(unused);
}

/* Two from outside hold both places of the queue that the holder waits for, and need its place of the
 * target, one after the other. The first leaves: the holder has its turn, and the second its place of the target. */
static void a_job_on_top_comes_in_while_the_holder_wants_its_place_back(void **state)
{
    pthread_t thread, first, second;

    (void)state;
    set_scene(2);
    before_sync = (gate){0};
    scene.entered = scene.target;
    assert_int_equal(pthread_create(&thread, NULL, stay_on_target, NULL), 0);
    assert_comes_true(atomic_load(&scene.outside.waiting) == 1);
    add(scene.target, holder_after_the_others, NULL);
    assert_comes_true(atomic_load(&before_sync.waiting) == 1);
    assert_int_equal(pthread_create(&first, NULL, pass_through, &scene.first), 0);
    assert_comes_true(running_in(scene.awaited) == 1);
    assert_int_equal(pthread_create(&second, NULL, pass_through, &scene.second), 0);
    assert_comes_true(running_in(scene.awaited) == 2);
    gate_open(&before_sync);
    assert_comes_true(atomic_load(&scene.first.waiting) == 1 ||
                      atomic_load(&scene.second.waiting) == 1);
    bool first_is_in = atomic_load(&scene.first.waiting) == 1;
    gate_open(first_is_in ? &scene.first : &scene.second);
    gate *left = first_is_in ? &scene.second : &scene.first;
    assert_comes_true(atomic_load(&left->waiting) == 1);
    assert_comes_true(atomic_load(&scene.on_top_began));
    gate_open(left);
    assert_comes_true(atomic_load(&scene.on_top_ran));
    assert_comes_true(atomic_load(&scene.holder_ran));
    gate_open(&scene.outside);
    pthread_join(thread, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    clear_scene();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_on_top_of_a_holder_comes_onto_the_target),
        cmocka_unit_test(a_job_on_top_of_a_holder_comes_in_through_another_queue),
        cmocka_unit_test(a_job_on_top_comes_in_while_the_holder_wants_its_place_back),
    };
    return run_guarded(tests);
}
