/* sleep/: the event count's protocol step by step, and the lock. (That no wake is lost the explorer shows.) */
#include "Support/clock.h"
#include "Support/idle_token.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "os/futex.h"
#include "os/thread.h"
#include "sleep/idle.h"
#include "sleep/lock.h"

static odi_idle idle;

static int set_up(void **state)
{
    odi_idle_init(&idle, UINT32_MAX - 1); /* the epoch rolls over in every test */
    return 0;
}

static void wait_from(uint32_t epoch, int64_t deadline_ns)
{
    odi_idle_wait(&idle, epoch, deadline_ns, 0);
}

/* ---- step by step ---- */

#define IDLE_TEST(name) TEST_WITH(name, set_up, NULL)

IDLE_TEST(one_worker_searches_at_a_time)
{
    assert_true(odi_idle_nobody(&idle));
    assert_true(odi_idle_try_search(&idle));
    assert_false(odi_idle_try_search(&idle));
    assert_true(token_is_out(&idle));
    assert_false(odi_idle_nobody(&idle));
    assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_COVERED);
    odi_idle_found(&idle);
    assert_false(token_is_out(&idle));
    assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_NOBODY);
}

IDLE_TEST(a_signal_flies_to_one_sleeper_and_covers_what_follows)
{
    uint32_t first = odi_idle_announce(&idle, false);
    uint32_t second = odi_idle_announce(&idle, false);
    assert_int_equal(odi_idle_sleepers(&idle), 2);
    assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_WOKE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_COVERED);
    wait_from(first, ODI_FOREVER); /* the epoch has moved: both return at once */
    wait_from(second, ODI_FOREVER);
    assert_true(odi_idle_leave(&idle));  /* picks the token up */
    assert_false(odi_idle_leave(&idle)); /* finds it held */
    assert_int_equal(odi_idle_sleepers(&idle), 0);
    assert_true(token_is_out(&idle));
    odi_idle_found(&idle);
    assert_true(odi_idle_nobody(&idle));
}

IDLE_TEST(a_searcher_that_goes_to_sleep_gives_the_token_back)
{
    assert_true(odi_idle_try_search(&idle));
    (void)odi_idle_announce(&idle, true);
    assert_false(token_is_out(&idle));
    assert_int_equal(odi_idle_sleepers(&idle), 1);
    assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_WOKE);
    assert_true(odi_idle_leave(&idle));
    odi_idle_found(&idle);
}

IDLE_TEST(a_sleeper_that_was_not_signalled_leaves_without_the_token)
{
    uint32_t epoch = odi_idle_announce(&idle, false);
    wait_from(epoch, odi_clock_now()); /* its deadline */
    assert_false(odi_idle_leave(&idle));
    assert_true(odi_idle_nobody(&idle));
}

IDLE_TEST(the_epoch_rolls_over_without_touching_the_sleepers)
{
    for (int round = 0; round < 5; round++) {
        uint32_t epoch = odi_idle_announce(&idle, false);

        assert_int_equal(odi_idle_sleepers(&idle), 1);
        assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_WOKE);
        wait_from(epoch, ODI_FOREVER);
        assert_true(odi_idle_leave(&idle));
        odi_idle_found(&idle);
        assert_int_equal(odi_idle_sleepers(&idle), 0);
    }
    odi_idle_wake_all(&idle);
    assert_true(odi_idle_nobody(&idle));
}

IDLE_TEST(waking_all_or_rousing_turns_back_who_is_on_the_way_to_sleep)
{
    for (int rouses = 0; rouses <= 1; rouses++) {
        uint32_t epoch = odi_idle_announce(&idle, false);
        rouses ? odi_idle_rouse(&idle, 0) : odi_idle_wake_all(&idle);
        wait_from(epoch, ODI_FOREVER);
        assert_false(odi_idle_leave(&idle)); /* nobody gave it the token */
    }
}

typedef struct {
    int number;
    atomic_int id;
    atomic_bool back;
} sleeper;

static void *sleep_as_numbered(void *raw)
{
    sleeper *it = raw;
    uint32_t epoch = odi_idle_announce(&idle, false);

    atomic_store(&it->id, odi_thread_id());
    odi_idle_wait(&idle, epoch, ODI_FOREVER, it->number);
    (void)odi_idle_leave(&idle);
    atomic_store(&it->back, true);
    return NULL;
}

IDLE_TEST(of_two_sleepers_the_one_with_the_lower_number_is_woken)
{
    sleeper two[] = {{.number = 1}, {.number = 0}};
    pthread_t threads[2];

    for (int each = 0; each < 2; each++) {
        pthread_create(&threads[each], NULL, sleep_as_numbered, &two[each]);
        assert_comes_true(odi_load_relaxed(&idle.asleep) >> two[each].number & 1); /* relaxed: looked at again and again */
        assert_comes_true(odi_thread_sleeps(atomic_load(&two[each].id)) != 0);
    }
    assert_int_equal(odi_idle_signal(&idle), ODI_SIGNAL_WOKE);
    assert_comes_true(atomic_load(&two[1].back));
    assert_false(atomic_load(&two[0].back));
    odi_idle_wake_all(&idle);
    join_threads(threads, 2);
    assert_int_equal(odi_idle_sleepers(&idle), 0);
}

/* More than 32 may sleep, and each of a name may be the one that is meant. */
IDLE_TEST(all_sleepers_of_a_name_are_roused)
{
    sleeper two[] = {{.number = 0}, {.number = 32}};
    pthread_t threads[2];

    for (int each = 0; each < 2; each++)
        pthread_create(&threads[each], NULL, sleep_as_numbered, &two[each]);
    for (int each = 0; each < 2; each++)
        assert_comes_true(atomic_load(&two[each].id) != 0 && odi_thread_sleeps(atomic_load(&two[each].id)) != 0);
    assert_comes_true(odi_load_relaxed(&idle.asleep) & 1); /* relaxed: looked at again and again */
    odi_idle_rouse(&idle, 0);
    assert_comes_true(atomic_load(&two[0].back) && atomic_load(&two[1].back));
    join_threads(threads, 2);
}

/* ---- the lock ---- */

static odi_lock lock; /* zeroed is valid */
static long guarded;
enum { LOCKERS = 4, TURNS = 50000, TURNS_SANITIZED = 10000 };

static void *count_under_the_lock(void *unused)
{
    for (int i = 0; i < UNLESS_SANITIZED(TURNS, TURNS_SANITIZED); i++) {
        odi_lock_acquire(&lock);
        long seen = guarded;
        if (i % 64 == 0)
            sched_yield(); /* a holder that is preempted makes the others sleep */
        guarded = seen + 1;
        odi_lock_release(&lock);
    }
    return NULL;
}

TEST(the_lock_admits_one_at_a_time_and_wakes_who_waits)
{
    run_on_threads(LOCKERS, count_under_the_lock);
    assert_int_equal(guarded, (long)LOCKERS * UNLESS_SANITIZED(TURNS, TURNS_SANITIZED));
    assert_int_equal(odi_load_relaxed(&lock.word), ODI_LOCK_FREE);
}

static odi_atomic(bool) sleeps_for_it;

static void *be_a_worker_at_the_lock(void *unused)
{
    odi_lock_sleeper = &sleeps_for_it;
    odi_lock_acquire(&lock);
    odi_lock_release(&lock);
    odi_lock_sleeper = NULL;
    return NULL;
}

/* Who sleeps for a lock is no job that blocks; afterwards it may be one again. */
TEST(a_worker_is_known_to_sleep_for_the_lock_until_it_has_it)
{
    pthread_t worker;

    odi_lock_acquire(&lock);
    pthread_create(&worker, NULL, be_a_worker_at_the_lock, NULL);
    assert_comes_true(odi_load_relaxed(&sleeps_for_it)); /* relaxed: a look */
    odi_lock_release(&lock);
    pthread_join(worker, NULL);
    assert_false(odi_load_relaxed(&sleeps_for_it)); /* relaxed: it has gone */
}

static atomic_bool was_in;

static void *wait_for_the_lock(void *unused)
{
    odi_lock_acquire(&lock);
    atomic_store(&was_in, true);
    odi_lock_release(&lock);
    return NULL;
}

/* Once who asked again and again what a queue runs kept its workers from the queue's lock for good. */
TEST(who_takes_a_lock_again_and_again_leaves_it_to_those_who_wait)
{
    pthread_t waiter;

    odi_lock_acquire(&lock);
    pthread_create(&waiter, NULL, wait_for_the_lock, NULL);
    int in_vain = 0;
    for (;; in_vain++) {
        /* relaxed, both: looks */
        assert_comes_true(odi_load_relaxed(&lock.mark) != 0);
        if (odi_load_relaxed(&lock.mark) & ODI_LOCK_STARVED)
            break;
        assert_true(in_vain < 4);
        odi_lock_wake(&lock); /* it finds that somebody else was there first */
    }
    assert_in_range(in_vain, 3, 4); /* not at once either: the kernel may have woken it once more */
    odi_lock_release(&lock);
    odi_lock_acquire(&lock);
    assert_true(atomic_load(&was_in));
    odi_lock_release(&lock);
    pthread_join(waiter, NULL);
}

GUARDED_PROGRAM
