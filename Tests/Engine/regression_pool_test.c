/* Pools that went wrong once: jobs that did not know whose they were, pools that went while
 * somebody was inside, and pools that stopped each other. */
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

#include "worker/work.h"

static void stop_pool(void *pool) { od_pool_stop(pool, INT64_MAX, NULL); }

TEST(a_worker_that_stops_another_pool_hands_its_place_over)
{
    od_pool *pool = pool_of(1), *stopped = pool_of(1);
    gate door = {0};

    hold_a_worker(stopped, &door);
    od_pool_submit(pool, OD_BAND_DEFAULT, stop_pool, stopped);
    assert_comes_true(blocked_in(pool) == 1);
    gate_open(&door);
    assert_comes_true(all_done(pool) == 1);
    assert_int_equal(blocked_in(pool), 0);
    od_pool_free(stopped);
    od_pool_free(pool);
}

/* Later the pool ran more jobs at a time than it has workers. */
TEST(what_was_allowed_for_a_job_asleep_in_the_kernel_goes_with_it)
{
    od_pool *pool = pool_of(1);
    gate door = {0};
    atomic_ullong ran = 0;

    hold_a_worker(pool, &door); /* it says nothing of its waiting */
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    assert_comes_true(odi_load_relaxed(&pool->team.attention) & ODI_MONITOR_OFF); /* relaxed: looked at again and again */
    assert_int_equal(LOCKED(&pool->team.lock, pool->team.allowance), 0);
    gate_open(&door);
    assert_comes_true(metrics_of(pool).active == 1);
    od_pool_free(pool);
}

static struct {
    _Atomic(od_pool *) pool;
    atomic_int asked, locked;
    atomic_bool held; /* who asks does not come back */
} watched;

static bool is_free(odi_lock *lock)
{
    uint16_t is_free = ODI_LOCK_FREE;

    if (!odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1))
        return false;
    odi_lock_release(lock);
    return true;
}

/* In front of the C library's: the engine asks the kernel what a thread does. */
int open(const char *path, int flags, ...)
{
    od_pool *pool = atomic_load(&watched.pool);

    if (pool != NULL && strstr(path, "/self/task/") != NULL) {
        atomic_fetch_add(&watched.asked, 1);
        while (atomic_load(&watched.held))
            odi_clock_sleep(MILLISECONDS(1));
        if (!COMES_TRUE(is_free(&pool->team.lock)))
            atomic_fetch_add(&watched.locked, 1);
    }
    return openat(AT_FDCWD, path, flags, 0);
}

/* With many blocked workers that takes milliseconds, for which nobody could start one. */
TEST(the_monitor_does_not_hold_the_lock_while_it_asks_the_kernel)
{
    od_pool *pool = pool_of(2);
    gate doors[4] = {0};

    atomic_store(&watched.pool, pool);
    for (int i = 0; i < 4; i++)
        hold_a_worker(pool, &doors[i]);
    open_gates(doors, 4);
    assert_comes_true(all_done(pool) == 4);
    od_pool_free(pool);
    atomic_store(&watched.pool, NULL);
    assert_true(atomic_load(&watched.asked) > 0);
    assert_int_equal(atomic_load(&watched.locked), 0);
}

/* On a machine that is as busy as that the monitor came to its end late, and so did the stop. */
TEST(a_stop_with_a_deadline_does_not_wait_for_the_monitor)
{
    od_pool *pool = lone_worker();
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "stuck");
    atomic_ullong ran = 0;
    od_stop_report report;
    gate door = {0};
    int asked = atomic_load(&watched.asked);

    hold_a_job(queue, &door);
    atomic_store(&watched.held, true);
    atomic_store(&watched.pool, pool);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran); /* behind it: the monitor looks */
    assert_comes_true(atomic_load(&watched.asked) > asked);
    assert_int_equal(od_pool_stop(pool, MILLISECONDS(2), &report), OD_OK);
    assert_report(&report, 0, 1, 1);
    assert_ptr_equal(report.stuck_queues[0], queue);
    atomic_store(&watched.pool, NULL);
    atomic_store(&watched.held, false);
    gate_open(&door);
    end_queue(queue);
    od_pool_free(pool);
    assert_int_equal(atomic_load(&ran), 0);
}

static struct {
    od_group *group;
    atomic_bool over;
    atomic_ullong waits;
} waiter;

static void *wait_again_and_again(void *unused)
{
    while (!atomic_load(&waiter.over)) {
        (void)od_group_wait(waiter.group, 1);
        (void)od_group_pending(waiter.group);
        atomic_fetch_add(&waiter.waits, 1);
    }
    return unused;
}

/* Who waits, or asks what is pending, looks at the pool of the group's last job. (A
 * sanitizer tells when that pool is gone.) */
TEST(a_group_may_be_waited_for_while_its_last_jobs_pool_goes)
{
    pthread_t thread;
    atomic_ullong ran = 0;

    waiter.group = od_group_create();
    assert_int_equal(pthread_create(&thread, NULL, wait_again_and_again, NULL), 0);
    assert_comes_true(atomic_load(&waiter.waits) > 0);
    for (int round = 0; round < 400; round++) {
        od_pool *pool = pool_of(1);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "gone");

        od_queue_async(queue, waiter.group, OD_QUEUE_BAND, count_job, &ran);
        end_pool(pool, queue);
    }
    atomic_store(&waiter.over, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&ran), 400);
    assert_true(od_group_wait(waiter.group, HANG_NS));
    od_group_release(waiter.group);
}

static void note_forks(void *raw) { atomic_store((atomic_bool *)raw, od_forks_self != NULL); }

/* A worker's stack of forks is as large as its stack, and ends at a page that is not to be touched:
 * without one its forks are offered to nobody. */
TEST(a_worker_has_forks_whose_stack_is_no_whole_number_of_pages)
{
    static const size_t sizes[] = {65537, 1000000, 3000000, 10000000, 8388609};

    for (size_t each = 0; each < sizeof sizes / sizeof sizes[0]; each++) {
        od_pool_options options = options_for(1);
        atomic_bool has_forks = false;

        options.stack_bytes = sizes[each];
        od_pool *pool = pool_with(options, (odi_pool_world){0});
        od_pool_submit(pool, OD_BAND_DEFAULT, note_forks, &has_forks);
        assert_comes_true(all_done(pool) == 1);
        assert_true(atomic_load(&has_forks));
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
}

static od_pool *refused;
static atomic_int slow_attempts;

static int refuse_the_second(void)
{
    return odi_load_acquire(&refused->team.slots[1], W3) != NULL ? EAGAIN : 0;
}

/* It sat down on the bench and held the token there, so that whatever came was left to its search. */
TEST(a_worker_in_the_place_of_a_first_spare_that_was_refused_works)
{
    gate door = {0};
    atomic_ullong ran = 0;

    refused = pool_of(2);
    refused->team.bench_ns = 10 * HANG_NS;
    atomic_store(&before_thread, refuse_the_second);
    hold_a_worker(refused, &door);
    atomic_store(&before_thread, NULL);
    odi_lock_acquire(&refused->team.lock);
    refused->team.next_start_ns = 0;
    odi_lock_release(&refused->team.lock);
    od_pool_submit(refused, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    gate_open(&door);
    od_pool_free(refused);
}

static int refuse_slowly(void)
{
    atomic_fetch_add(&slow_attempts, 1);
    odi_clock_sleep(MILLISECONDS(50));
    return EAGAIN;
}

static void *submit_during_the_attempt(void *said)
{
    while (atomic_load(&slow_attempts) == 0)
        odi_clock_sleep(100 * ODI_MICROSECOND);
    *(od_status *)said = od_pool_submit(refused, OD_BAND_DEFAULT, no_job, NULL);
    return NULL;
}

/* The second, which waited for the first one's attempt, was told that its job is accepted. */
TEST(of_two_that_begin_a_pool_without_threads_both_are_refused)
{
    od_status said = OD_OK;
    pthread_t second;

    refused = pool_of(2);
    pthread_create(&second, NULL, submit_during_the_attempt, &said);
    atomic_store(&before_thread, refuse_slowly);
    assert_int_equal(od_pool_submit(refused, OD_BAND_DEFAULT, no_job, NULL), OD_NO_THREAD);
    pthread_join(second, NULL);
    atomic_store(&before_thread, NULL);
    assert_int_equal(said, OD_NO_THREAD);
    assert_false(odi_team_has_work(&refused->team));
    od_pool_free(refused);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
