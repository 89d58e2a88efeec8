/* gate/semaphore: permits in line, deadlines, cancelling, and workers. */
#include "Support/pools.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "gate/semaphore.h"

CHILDREN_MAY_START_THREADS

SCENE(permits_are_counted,
      "pool 1; semaphore s 2; take s; take s; short s; s.value = 0; signal s no; signal s no; s.value = 2")

/* Semaphores are made anew from what was released: a program that makes one per request grows no further. */
TEST(what_is_released_serves_again)
{
    od_semaphore *first = od_semaphore_create(0);
    bool again = false;

    od_semaphore_release(first);
    for (int round = 0; round < 1000 && !again; round++) {
        od_semaphore *next = od_semaphore_create(0);

        again = next == first;
        od_semaphore_release(next);
    }
    assert_true(again);
}

/* ---- order ---- */

enum { IN_LINE = 8 };

SCENE(a_signal_wakes_the_longest_waiter,
      "pool 1; semaphore s 0; thread {take s; a}; s.listed -> 1; thread {take s; b}; s.listed -> 2; thread {take s; c}; "
      "s.listed -> 3; thread {take s; d}; s.listed -> 4; thread {take s; e}; s.listed -> 5; thread {take s; f}; "
      "s.listed -> 6; signal s yes; a -> 1; signal s yes; b -> 1; signal s yes; c -> 1; signal s yes; d -> 1; "
      "signal s yes; e -> 1; signal s yes; f -> 1; join; order abcdef")

/* libdispatch's is stolen in most rounds. */
SCENE(a_permit_for_a_waiter_is_not_stolen,
      "pool 1; semaphore s 0; repeat 100 {thread {take s; a}; s.listed -> 1; signal s yes; short s; join}; a = 100")

/* ---- races: what is signalled is granted once, or is left ---- */

enum { RACERS = 4, LAPS = 20000, LAPS_SANITIZED = 3000 };

static struct {
    od_semaphore *semaphore;
    int laps;
    atomic_llong signalled, granted, called;
    atomic_bool over;
} race;

static void start_race(int64_t permits)
{
    race.semaphore = od_semaphore_create(permits);
    race.laps = UNLESS_SANITIZED(LAPS, LAPS_SANITIZED);
    atomic_store(&race.signalled, 0);
    atomic_store(&race.granted, 0);
    atomic_store(&race.called, 0);
    atomic_store(&race.over, false);
}

static void *signal_laps(void *raw)
{
    prng random = prng_for(11, (uint64_t)(uintptr_t)raw);

    for (int lap = 0; lap < race.laps; lap++) {
        od_semaphore_signal(race.semaphore);
        atomic_fetch_add(&race.signalled, 1);
        for (uint32_t i = prng_below(&random, 60); i > 0; i--)
            odi_spin_pause();
    }
    return NULL;
}

static void *wait_with_short_deadlines(void *raw)
{
    prng random = prng_for(12, (uint64_t)(uintptr_t)raw);

    while (!atomic_load(&race.over)) {
        int64_t timeout = prng_one_in(&random, 4) ? 0 : (int64_t)prng_below(&random, 20000);

        if (od_semaphore_wait(race.semaphore, timeout))
            atomic_fetch_add(&race.granted, 1);
    }
    return NULL;
}

TEST(deadlines_that_race_with_signals_lose_no_permit)
{
    pthread_t waiters[RACERS];

    start_race(0);
    start_threads(waiters, RACERS, wait_with_short_deadlines);
    run_on_threads(RACERS, signal_laps);
    atomic_store(&race.over, true);
    join_threads(waiters, RACERS);
    assert_int_equal(atomic_load(&race.signalled), (long long)RACERS * race.laps);
    assert_int_equal(atomic_load(&race.granted) + od_semaphore_value(race.semaphore),
                     (long long)RACERS * race.laps);
    assert_null(race.semaphore->first);
    assert_int_equal(race.semaphore->owed, 0);
    od_semaphore_release(race.semaphore);
}

static void *wait_laps(void *raw)
{
    for (int lap = 0; lap < race.laps; lap++) {
        if (od_semaphore_wait(race.semaphore, HANG_NS))
            atomic_fetch_add(&race.granted, 1);
    }
    return NULL;
}

TEST(no_wake_up_is_lost)
{
    pthread_t waiters[RACERS];

    start_race(0);
    start_threads(waiters, RACERS, wait_laps);
    run_on_threads(RACERS, signal_laps);
    join_threads(waiters, RACERS);
    assert_int_equal(atomic_load(&race.granted), (long long)RACERS * race.laps);
    assert_int_equal(od_semaphore_value(race.semaphore), 0);
    od_semaphore_release(race.semaphore);
}

/* ---- without a thread ---- */

static struct {
    int order[IN_LINE], count;
} calls;

static void note_call(void *raw) { calls.order[calls.count++] = (int)(intptr_t)raw; }

TEST(functions_are_called_in_line_and_not_once_cancelled)
{
    od_semaphore *semaphore = od_semaphore_create(1);
    od_semaphore_waiter *waiters[IN_LINE];

    calls.count = 0;
    for (int i = 0; i < IN_LINE; i++) {
        waiters[i] = od_semaphore_waiter_create(note_call, (void *)(intptr_t)i);
        assert_int_equal(od_semaphore_wait_async(semaphore, waiters[i]),
                         i == 0 ? OD_SEMAPHORE_TAKEN : OD_SEMAPHORE_WAITS);
    }
    assert_false(od_semaphore_cancel(semaphore, waiters[0]));
    for (int i = 2; i < IN_LINE; i += 2)
        assert_true(od_semaphore_cancel(semaphore, waiters[i]));
    assert_false(od_semaphore_cancel(semaphore, waiters[2]));
    for (int i = 1; i < IN_LINE; i += 2)
        assert_true(od_semaphore_signal(semaphore));
    assert_false(od_semaphore_signal(semaphore));
    assert_int_equal(calls.count, IN_LINE / 2);
    for (int i = 0; i < calls.count; i++)
        assert_int_equal(calls.order[i], 2 * i + 1);
    for (int i = 0; i < IN_LINE; i++)
        od_semaphore_waiter_free(waiters[i]);
    od_semaphore_release(semaphore);
}

TEST(what_is_cancelled_first_does_not_begin)
{
    od_semaphore *semaphore = od_semaphore_create(0);
    od_semaphore_waiter *waiter = od_semaphore_waiter_create(note_call, NULL);

    calls.count = 0;
    assert_false(od_semaphore_cancel(semaphore, waiter));
    assert_int_equal(od_semaphore_wait_async(semaphore, waiter), OD_SEMAPHORE_CANCELLED);
    assert_int_equal(od_semaphore_value(semaphore), 0);
    assert_false(od_semaphore_signal(semaphore));
    assert_int_equal(calls.count, 0);
    od_semaphore_waiter_free(waiter);
    od_semaphore_release(semaphore);
}

typedef struct {
    od_semaphore_waiter *waiter;
    atomic_int outcomes;
} entrant;

static void called(void *raw)
{
    atomic_fetch_add(&((entrant *)raw)->outcomes, 1);
    atomic_fetch_add(&race.called, 1);
}

static entrant *entrants;
static atomic_int begun;

static void *begin_all(void *unused)
{
    for (int i = 0; i < race.laps; i++) {
        od_semaphore_outcome outcome = od_semaphore_wait_async(race.semaphore, entrants[i].waiter);
        atomic_fetch_add(&entrants[i].outcomes, outcome != OD_SEMAPHORE_WAITS);
        atomic_fetch_add(&race.granted, outcome == OD_SEMAPHORE_TAKEN);
        atomic_store(&begun, i + 1);
    }
    return NULL;
}

static void *cancel_all(void *unused)
{
    prng random = prng_for(13, 0);

    for (int i = 0; i < race.laps; i++) {
        /* Some before they begin, most while they are in line. */
        while (i > atomic_load(&begun) + 3)
            odi_spin_pause();
        if (!prng_one_in(&random, 2))
            continue;
        if (od_semaphore_cancel(race.semaphore, entrants[i].waiter))
            atomic_fetch_add(&entrants[i].outcomes, 1);
    }
    return NULL;
}

TEST(cancels_that_race_with_signals_lose_no_permit)
{
    pthread_t threads[3];
    bool once = true;

    start_race(0);
    entrants = calloc((size_t)race.laps, sizeof *entrants);
    for (int i = 0; i < race.laps; i++)
        entrants[i].waiter = od_semaphore_waiter_create(called, &entrants[i]);
    pthread_create(&threads[0], NULL, begin_all, NULL);
    pthread_create(&threads[1], NULL, cancel_all, NULL);
    pthread_create(&threads[2], NULL, signal_laps, (void *)1);
    join_threads(threads, 3);
    /* There was a permit for each: whoever was not cancelled has one. */
    for (int i = 0; i < race.laps; i++)
        once &= atomic_load(&entrants[i].outcomes) == 1;
    assert_true(once);
    assert_int_equal(atomic_load(&race.granted) + atomic_load(&race.called) +
                         od_semaphore_value(race.semaphore),
                     race.laps);
    assert_int_equal(race.semaphore->owed, 0);
    for (int i = 0; i < race.laps; i++)
        od_semaphore_waiter_free(entrants[i].waiter);
    free(entrants);
    od_semaphore_release(race.semaphore);
}

/* ---- workers ---- */

SCENE(a_worker_that_waits_hands_its_place_over,
      "pool 1; semaphore s 0; add pool 5 {take s; a}; add pool 5 {signal s}; a -> 5")

/* ---- misuse, and a forked child ---- */

SCENE_TRAPS(misuse_is_named,
            "pool 1; semaphore s 2; take s; release s",
            "CountingSemaphore.deinit: permits are missing (1 of 2 are there). Call signal() as often as wait().",
            "pool 1; semaphore s -1", "CountingSemaphore(value:): negative number of permits (-1). Choose 0 or more.")

static void find_no_permit(void *semaphore)
{
    child_expects(!od_semaphore_wait(semaphore, ODI_MILLISECOND));
    child_expects(od_semaphore_value(semaphore) == 0);
}

/* As if another thread of the parent were on its way into the line, and the signal had come before it. */
TEST(what_a_signal_owes_to_a_thread_of_the_parents_is_nobodys_in_a_child)
{
    od_semaphore *semaphore = od_semaphore_create(0);

    semaphore->owed = 1;
    assert_child_succeeds(find_no_permit, semaphore);
    semaphore->owed = 0;
    od_semaphore_release(semaphore);
}

SCENE(a_forked_child_has_no_waiters,
      "pool 1; semaphore s 0; thread {take s; a}; s.listed -> 1; child {s.value = 0; signal s no; take s; short s}; "
      "signal s yes; join; a = 1")

GUARDED_PROGRAM
