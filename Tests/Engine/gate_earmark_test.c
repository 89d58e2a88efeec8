/* gate/earmark.c: closures of a target that wait for a queue on it. Each of these hung, because all
 * places of the target were held by callers that waited for what needs one. */
#include "Support/crowd.h"
#include "Support/queues.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include <pthread.h>

/* ---- who runs on the target ---- */

static struct {
    od_queue *target, *on_it;
    crowd runners; /* all that needs a place of the target and does not wait */
    atomic_ullong synced, ran;
    atomic_int began;
    atomic_bool go, exclusive;
    bool alone; /* they sync as barriers */
} place;

static void begin_places(int32_t width)
{
    place.target = queue_of(width);
    place.on_it = NULL;
    place.alone = false;
    crowd_begin(&place.runners);
    atomic_store(&place.synced, 0);
    atomic_store(&place.ran, 0);
    atomic_store(&place.began, 0);
    atomic_store(&place.go, false);
}

static void come(void) { crowd_enter(&place.runners); }
static void go(void) { crowd_leave(&place.runners); }

static void run_on_it(void *unused)
{
    come();
    atomic_fetch_add(&place.ran, 1);
    go();
}

static void sync_onto(od_queue *queue, bool alone)
{
    od_scope scope;

    go();
    if (alone)
        od_queue_sync_barrier_begin(queue, &scope);
    else
        od_queue_sync_begin(queue, &scope);
    come();
    atomic_fetch_add(&place.synced, 1);
    od_queue_sync_end(&scope);
}

static void sync_when_all_have_begun(void *unused)
{
    come();
    atomic_fetch_add(&place.began, 1);
    while (!atomic_load(&place.go))
        sched_yield();
    sync_onto(place.on_it, place.alone);
    go();
}

/* So many jobs of the queue have a place, and wait there for `go`. */
static void hold_all(od_queue *queue, int holders)
{
    add_many(queue, holders, sync_when_all_have_begun, NULL);
    assert_comes_true(atomic_load(&place.began) == holders);
}

/* All places of the target are held, and jobs on it wait, when the holders sync. */
static void fill_and_sync(int holders, int jobs)
{
    hold_all(place.target, holders);
    add_many(place.on_it, jobs, run_on_it, NULL);
    atomic_store(&place.go, true);
}

static void assert_all_ran(uint64_t synced, uint64_t ran, int32_t width)
{
    wait_for_queues(place.on_it, place.target);
    assert_int_equal(atomic_load(&place.synced), synced);
    assert_int_equal(atomic_load(&place.ran), ran);
    assert_in_range(atomic_load(&place.runners.most), 1, width);
}

static bool owes_nothing(od_queue *queue)
{
    return LOOK(queue, queue->gate.earmarks == 0 && queue->gate.used == 0 && queue->more->first_awaited == NULL);
}

static void end_places(void)
{
    assert_comes_true(owes_nothing(place.target)); /* a drainer may be on its way out */
    release_queues(place.on_it, place.target);
}

QUEUE_TEST(holders_of_all_places_sync_onto_a_queue_on_theirs)
{
    const int32_t widths[] = {1, 2, 3, OD_UNLIMITED};

    for (int32_t holders = 2; holders <= 3; holders++) {
        for (int each = 0; each < 4; each++) {
            begin_places(holders);
            place.on_it = queue_on(place.target, widths[each], "on it");
            fill_and_sync(holders, 10);
            assert_all_ran((uint64_t)holders, 10, holders);
            end_places();
        }
    }
}

QUEUE_TEST(holders_of_all_places_sync_as_barriers)
{
    begin_places(2);
    place.on_it = queue_on(place.target, OD_UNLIMITED, "on it");
    place.alone = true;
    fill_and_sync(2, 10);
    assert_all_ran(2, 10, 2);
    end_places();
}

QUEUE_TEST(holders_of_all_places_sync_through_a_chain)
{
    for (int32_t width = 1; width <= 2; width++) {
        begin_places(2);
        od_queue *mid = queue_on(place.target, width, "mid");

        place.on_it = queue_on(mid, 1, "high");
        add_many(mid, 3, run_on_it, NULL);
        fill_and_sync(2, 10);
        assert_true(od_queue_wait(mid, HANG_NS));
        assert_all_ran(2, 13, 2);
        od_queue_release(mid);
        end_places();
    }
}

/* They hold a place of their own queue, one of its target, and one of that one's. */
QUEUE_TEST(holders_of_places_of_two_targets_sync_onto_a_sibling)
{
    od_queue *holders;

    begin_places(2);
    od_queue *mid = queue_on(place.target, 2, "mid");
    holders = queue_on(mid, 2, "holders");
    place.on_it = queue_on(mid, 1, "sibling");
    hold_all(holders, 2);
    for (int i = 0; i < 10; i++)
        add(i % 2 ? mid : place.on_it, run_on_it, NULL);
    atomic_store(&place.go, true);
    wait_for_queues(holders, mid);
    assert_all_ran(2, 10, 2);
    assert_comes_true(owes_nothing(mid));
    release_queues(holders, mid);
    end_places();
}

static void *sync_from_outside(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(place.on_it, &scope);
    come();
    atomic_fetch_add(&place.synced, 1);
    go();
    od_queue_sync_end(&scope);
    return unused;
}

/* It has the queue's place and waits for the target's, whose holders wait for the queue's. */
QUEUE_TEST(a_caller_from_outside_is_lent_a_holders_place)
{
    pthread_t thread;

    begin_places(2);
    place.on_it = queue_on(place.target, 1, "on it");
    hold_all(place.target, 2);
    pthread_create(&thread, NULL, sync_from_outside, NULL);
    assert_comes_true(waiting_in(place.target) == 1);
    atomic_store(&place.go, true);
    pthread_join(thread, NULL);
    assert_all_ran(3, 0, 2);
    end_places();
}

/* More than are taken out of a line at once; the holders wait until they have left. */
QUEUE_TEST(many_callers_from_outside_are_lent_holders_places)
{
    enum { CALLERS = ODI_SIEVE_MOST + 6 };
    pthread_t threads[CALLERS];

    begin_places(2);
    place.on_it = queue_on(place.target, CALLERS, "on it");
    place.alone = true;
    hold_all(place.target, 2);
    start_threads(threads, CALLERS, sync_from_outside);
    assert_comes_true(waiting_in(place.target) == CALLERS);
    atomic_store(&place.go, true);
    join_threads(threads, CALLERS);
    assert_all_ran(2 + CALLERS, 0, 2);
    end_places();
}

/* The holders come first; the caller's turn in the queue comes while they wait there. */
QUEUE_TEST(a_caller_that_comes_later_is_lent_one_too)
{
    gate door = {0};
    pthread_t thread;

    begin_places(3);
    place.on_it = queue_on(place.target, 1, "on it");
    hold_a_job(place.on_it, &door);
    pthread_create(&thread, NULL, sync_from_outside, NULL);
    assert_comes_true(waiting_in(place.on_it) == 1);
    hold_all(place.target, 2);
    atomic_store(&place.go, true);
    assert_comes_true(away_from(place.target) == 2);
    od_queue_set_width(place.target, 2); /* the caller finds no place of its own */
    gate_open(&door);
    pthread_join(thread, NULL);
    assert_all_ran(3, 0, 3);
    end_places();
}

/* ---- what the target promises meanwhile ---- */

static void write_alone(void *unused)
{
    come();
    if (atomic_load(&place.runners.inside) != 1)
        atomic_store(&place.exclusive, false);
    go();
}

/* A barrier of the target is behind the holders, and before what they wait for. */
QUEUE_TEST(what_a_holder_waits_for_passes_a_barrier_that_waits_for_the_holder)
{
    const int32_t widths[] = {2, OD_UNLIMITED};

    for (int each = 0; each < 2; each++) {
        begin_places(widths[each]);
        place.on_it = queue_on(place.target, 1, "on it");
        atomic_store(&place.exclusive, true);
        hold_all(place.target, 2);
        add_barrier(place.target, write_alone, NULL);
        add_many(place.on_it, 10, run_on_it, NULL);
        atomic_store(&place.go, true);
        assert_all_ran(2, 10, 2);
        assert_true(atomic_load(&place.exclusive));
        end_places();
    }
}

static atomic_int newcomers;

static void come_new(void *unused) { atomic_fetch_add(&newcomers, 1); }

/* It might wait for what the holder does next. */
QUEUE_TEST(a_new_closure_takes_no_holders_place)
{
    gate door = {0};

    begin_places(2);
    place.on_it = queue_on(place.target, 1, "on it");
    hold_all(place.target, 2);
    add(place.on_it, gate_job, &door);
    add(place.target, come_new, NULL);
    atomic_store(&place.go, true);
    assert_comes_true(atomic_load(&door.waiting) == 1); /* on an earmarked place */
    assert_comes_true(away_from(place.target) == 2);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&newcomers), 0);
    gate_open(&door);
    assert_all_ran(2, 0, 2);
    assert_int_equal(atomic_load(&newcomers), 1);
    end_places();
}

QUEUE_TEST(a_suspended_target_holds_what_holders_wait_for)
{
    begin_places(2);
    place.on_it = queue_on(place.target, 1, "on it");
    hold_all(place.target, 2);
    add_many(place.on_it, 10, run_on_it, NULL);
    od_queue_suspend(place.target);
    atomic_store(&place.go, true);
    assert_comes_true(away_from(place.target) == 2);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&place.ran), 0);
    od_queue_resume(place.target);
    assert_all_ran(2, 10, 2);
    end_places();
}

static void sync_onto_the_own_queue(void *unused)
{
    od_scope scope;

    atomic_fetch_add(&place.began, 1);
    while (!atomic_load(&place.go))
        sched_yield();
    od_queue_sync_begin(place.target, &scope);
    atomic_fetch_add(&place.synced, 1);
    od_queue_sync_end(&scope);
}

/* Both have a place; neither would get a second one. */
QUEUE_TEST(closures_of_a_limited_queue_sync_onto_it)
{
    begin_places(2);
    add_many(place.target, 2, sync_onto_the_own_queue, NULL);
    assert_comes_true(atomic_load(&place.began) == 2);
    atomic_store(&place.go, true);
    end_queue(place.target);
    assert_int_equal(atomic_load(&place.synced), 2);
}

GUARDED_PROGRAM
