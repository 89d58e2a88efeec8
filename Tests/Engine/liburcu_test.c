/* A program that uses liburcu's memb flavour itself: its registrations of a thread and the engine's nest. */
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include <sys/wait.h>
#include <urcu/static/urcu-memb.h>
#include <urcu/urcu-memb.h>

CHILDREN_MAY_START_THREADS

static bool is_registered(void)
{
    return URCU_TLS(urcu_memb_reader).registered;
}

static void read_once(void)
{
    urcu_memb_read_lock();
    urcu_memb_read_unlock();
}

static atomic_int read_in_jobs;

static void read_in_job(void *unused)
{
    bool before = is_registered();

    urcu_memb_register_thread();
    read_once();
    urcu_memb_synchronize_rcu();
    urcu_memb_unregister_thread();
    atomic_fetch_add(&read_in_jobs, before && is_registered());
}

TEST(a_job_may_register_its_thread_as_a_reader)
{
    enum { JOBS = 20 };
    od_pool *pool = pool_of(2);

    atomic_store(&read_in_jobs, 0);
    submit_many(pool, JOBS, read_in_job, NULL);
    assert_comes_true(all_done(pool) == JOBS);
    assert_int_equal(atomic_load(&read_in_jobs), JOBS); /* the worker stays registered */
    assert_int_equal(od_pool_free(pool), OD_OK);
}

TEST(a_registered_reader_may_stop_a_pool)
{
    od_pool *pool = pool_of(2);

    submit_many(pool, 1, no_job, NULL);
    urcu_memb_register_thread();
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_true(is_registered());
    read_once();
    urcu_memb_unregister_thread();
    assert_false(is_registered());
}

static atomic_int status_of_child;

static void fork_as_reader(void *unused)
{
    urcu_memb_register_thread();
    pid_t child = fork();
    if (child == 0) {
        read_once();
        urcu_memb_unregister_thread();
        _exit(0);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    urcu_memb_unregister_thread();
    atomic_store(&status_of_child, status);
}

TEST(a_reader_in_a_job_may_fork)
{
    od_pool *pool = pool_of(1);

    atomic_store(&status_of_child, -1);
    submit_many(pool, 1, fork_as_reader, NULL);
    assert_comes_true(all_done(pool) == 1);
    assert_int_equal(atomic_load(&status_of_child), 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

GUARDED_PROGRAM
