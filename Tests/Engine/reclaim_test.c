/* reclaim/: nothing is freed under a reader, nobody waits for one, and the reclaimer comes
 * and goes. */
#include "Support/clock.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <urcu/static/urcu-memb.h>

#include "base/atomic.h"
#include "os/membarrier.h"
#include "os/thread.h"
#include "reclaim/grace.h"
#include "reclaim/reclaim.h"

/* liburcu's own word: -1 while whoever waits for a grace period sleeps for a reader. */
static bool a_grace_period_waits(void)
{
    return __atomic_load_n(&urcu_memb_gp.futex, __ATOMIC_RELAXED) == -1;
}

typedef struct {
    odi_retired retired; /* first */
    atomic_int *destroyed;
} object;

static void destroy(odi_retired *retired)
{
    object *it = (object *)retired;

    atomic_fetch_add(it->destroyed, 1);
    free(it);
}

static void retire_one(atomic_int *destroyed)
{
    object *it = malloc(sizeof *it);

    it->destroyed = destroyed;
    odi_retire(&it->retired, destroy);
}

TEST(what_is_retired_is_destroyed_once_by_the_end_of_a_drain)
{
    atomic_int destroyed = 0;

    odi_reclaim_drain(); /* nothing: returns at once */
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < round; i++)
            retire_one(&destroyed);
        odi_reclaim_drain();
        assert_int_equal(atomic_load(&destroyed), round * (round + 1) / 2);
    }
}

TEST(one_grace_period_serves_all_that_a_burst_retires)
{
    atomic_int destroyed = 0;
    uint64_t before = odi_reclaim_grace_periods();

    for (int i = 0; i < 1000; i++)
        retire_one(&destroyed);
    odi_reclaim_drain();
    assert_int_equal(atomic_load(&destroyed), 1000);
    assert_in_range(odi_reclaim_grace_periods() - before, 1, 100);
}

TEST(the_reclaimers_thread_is_gone_when_its_list_is_empty)
{
    atomic_int destroyed = 0;

    retire_one(&destroyed);
    odi_reclaim_drain();
    assert_comes_true(thread_count() == threads_at_rest());
}

static gate frozen;

static void *freeze(void *unused)
{
    odi_reader_join();
    odi_reader_join(); /* pairs nest */
    odi_read_begin();
    odi_read_begin();
    gate_pass(&frozen);
    odi_read_end();
    odi_read_end();
    odi_reader_leave();
    odi_reader_leave();
    return NULL;
}

TEST(behind_a_frozen_reader_nothing_is_freed_and_nobody_waits)
{
    atomic_int destroyed = 0;
    pthread_t reader;

    frozen = (gate){0};
    pthread_create(&reader, NULL, freeze, NULL);
    assert_comes_true(atomic_load(&frozen.waiting) == 1);
    for (int i = 0; i < 1000; i++) {
        retire_one(&destroyed); /* returns: the test would hang otherwise */
        odi_reader_join();
        odi_read_begin();
        odi_read_end();
        odi_reader_leave();
    }
    assert_comes_true(a_grace_period_waits());
    assert_int_equal(atomic_load(&destroyed), 0);
    gate_open(&frozen);
    pthread_join(reader, NULL);
    odi_reclaim_drain();
    assert_int_equal(atomic_load(&destroyed), 1000);
}

static struct {
    atomic_int ids[3], over;
} drains;

static void *drain_and_say(void *number)
{
    atomic_store(&drains.ids[(intptr_t)number], odi_thread_id());
    odi_reclaim_drain();
    atomic_fetch_add(&drains.over, 1);
    return NULL;
}

TEST(each_of_several_that_drain_is_woken)
{
    pthread_t reader, threads[3];
    atomic_int destroyed = 0;

    memset(&drains, 0, sizeof drains);
    frozen = (gate){0};
    pthread_create(&reader, NULL, freeze, NULL);
    assert_comes_true(atomic_load(&frozen.waiting) == 1);
    retire_one(&destroyed);
    start_threads(threads, 3, drain_and_say);
    for (int i = 0; i < 3; i++)
        assert_comes_true(atomic_load(&drains.ids[i]) != 0 && odi_thread_sleeps(atomic_load(&drains.ids[i])) != 0);
    gate_open(&frozen);
    assert_comes_true(atomic_load(&drains.over) == 3);
    join_threads(threads, 3);
    pthread_join(reader, NULL);
    assert_int_equal(atomic_load(&destroyed), 1);
}

typedef struct {
    odi_retired retired; /* first */
    atomic_int *left;
} chain;

static void destroy_link(odi_retired *retired)
{
    chain *it = (chain *)retired;

    if (atomic_fetch_sub(it->left, 1) > 1)
        odi_retire(&it->retired, destroy_link);
}

TEST(what_a_destruction_retires_is_destroyed_too)
{
    atomic_int left = 10;
    chain it = {.left = &left};

    odi_retire(&it.retired, destroy_link);
    odi_reclaim_drain();
    assert_int_equal(atomic_load(&left), 0);
}

TEST(without_a_thread_the_drain_reclaims_itself)
{
    atomic_int destroyed = 0;

    assert_comes_true(thread_count() == threads_at_rest());
    atomic_store(&before_thread, no_thread);
    for (int i = 0; i < 10; i++)
        retire_one(&destroyed);
    assert_int_equal(atomic_load(&destroyed), 0);
    odi_reclaim_drain();
    assert_int_equal(atomic_load(&destroyed), 10);
    atomic_store(&before_thread, NULL);
    retire_one(&destroyed); /* and later there is one again */
    assert_comes_true(atomic_load(&destroyed) == 11);
}

static int fail_once(void)
{
    static atomic_int attempts;

    return atomic_fetch_add(&attempts, 1) < 1 ? EAGAIN : 0;
}

TEST(the_next_retirement_makes_up_for_a_reclaimer_that_did_not_start)
{
    atomic_int destroyed = 0;

    odi_reclaim_drain();
    atomic_store(&before_thread, fail_once);
    retire_one(&destroyed);
    retire_one(&destroyed);
    assert_comes_true(atomic_load(&destroyed) == 2);
    atomic_store(&before_thread, NULL);
}

enum { READERS = 3, AGES = 8, WRITES = 3000, WRITES_SANITIZED = 600 };

typedef struct {
    odi_retired retired; /* first */
    atomic_int age; /* 0: current, 1: unlinked, 2: destroyed, and one more per reuse */
} aged;

static struct {
    _Atomic(aged *) current;
    atomic_ullong histogram[AGES];
    atomic_bool done;
    atomic_int destroyed;
} torture;

static void end_of_age(odi_retired *retired)
{
    aged *it = (aged *)retired;

    atomic_store(&it->age, 2); /* kept: a reader that still looks at it shall see the age */
    atomic_fetch_add(&torture.destroyed, 1);
}

static void *torture_reader(void *unused)
{
    odi_reader_join();
    while (!atomic_load(&torture.done)) {
        odi_read_begin();
        aged *seen = atomic_load(&torture.current);
        for (int i = 0; i < 50; i++)
            odi_spin_pause();
        int age = atomic_load(&seen->age);
        odi_read_end();
        atomic_fetch_add(&torture.histogram[age < AGES ? age : AGES - 1], 1);
    }
    odi_reader_leave();
    return NULL;
}

TEST(no_reader_sees_an_object_that_is_older_than_one_grace_period)
{
    pthread_t readers[READERS];
    int writes = UNLESS_SANITIZED(WRITES, WRITES_SANITIZED);
    aged *all = calloc((size_t)writes + 1, sizeof *all);

    assert_non_null(all);
    atomic_store(&torture.current, &all[0]);
    start_threads(readers, READERS, torture_reader);
    for (int i = 1; i <= writes; i++) {
        aged *old = atomic_exchange(&torture.current, &all[i]);

        atomic_store(&old->age, 1);
        odi_retire(&old->retired, end_of_age);
        if (i % 16 == 0)
            odi_clock_sleep(100 * ODI_MICROSECOND);
    }
    odi_reclaim_drain();
    atomic_store(&torture.done, true);
    join_threads(readers, READERS);
    assert_int_equal(atomic_load(&torture.destroyed), writes);
    assert_true(atomic_load(&torture.histogram[0]) > 0);
    for (int age = 2; age < AGES; age++)
        assert_int_equal(atomic_load(&torture.histogram[age]), 0);
    free(all);
}

static atomic_int destroyed_by_many;

static void *retire_many(void *unused)
{
    for (int i = 0; i < UNLESS_SANITIZED(20000, 3000); i++)
        retire_one(&destroyed_by_many);
    return NULL;
}

TEST(threads_that_retire_at_once_lose_nothing)
{
    run_on_threads(4, retire_many);
    odi_reclaim_drain();
    assert_int_equal(atomic_load(&destroyed_by_many), 4 * UNLESS_SANITIZED(20000, 3000));
}

static int fail_now_and_then(void)
{
    static atomic_uint attempts;

    return atomic_fetch_add(&attempts, 1) % 7 != 0 ? EAGAIN : 0;
}

static void *retire_and_drain(void *unused)
{
    atomic_int destroyed = 0;
    bool all = true;

    while (atomic_load(&before_thread) == NULL) /* by then every one of these has started */
        sched_yield();
    for (int round = 1; round <= 500; round++) {
        retire_one(&destroyed);
        odi_reclaim_drain();
        all &= atomic_load(&destroyed) == round;
    }
    return all ? &destroyed_by_many : NULL;
}

/* Whose thread could not be started, and who drains meanwhile, is a matter of luck. */
TEST(drains_end_while_reclaimers_fail_to_start_now_and_then)
{
    pthread_t threads[4];

    start_threads(threads, 4, retire_and_drain);
    atomic_store(&before_thread, fail_now_and_then);
    for (int i = 0; i < 4; i++) {
        void *all;

        pthread_join(threads[i], &all);
        assert_non_null(all);
    }
    atomic_store(&before_thread, NULL);
}

static void retire_in_a_child(void *unused)
{
    static atomic_int destroyed;

    odi_reclaim_forked();
    odi_reader_join();
    odi_read_begin();
    static object kept = {.destroyed = &destroyed};
    odi_retire(&kept.retired, destroy);
    odi_read_end();
    odi_reader_leave();
    odi_reclaim_drain();
    child_expects(atomic_load(&destroyed) == 0);
}

TEST(a_forked_child_keeps_what_it_retires) { assert_child_succeeds(retire_in_a_child, NULL); }

static void wait_under_a_filter(void *unused)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    child_expects(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_expects(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    odi_grace_wait();
}

/* liburcu would end the process without a word of what to do. */
TEST(a_barrier_that_is_refused_later_is_named)
{
    if (odi_membarrier_refused || prctl(PR_GET_SECCOMP) < 0) /* no filter is to be had */
        skip();
    assert_child_traps(wait_under_a_filter, NULL, "refused a registered barrier");
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
