/* One pool under load on arm64: jobs from three threads outside and from inside jobs, each
 * run exactly once, with sleeps in between so that workers park and are woken. */
#include "Support/check.h"
#include "Support/watchdog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "include/od_pool.h"

enum { SUBMITTERS = 3, ROUNDS = 40, BURST = 50, CHILDREN = 2 };
enum { PARENTS = SUBMITTERS * ROUNDS * BURST, JOBS = PARENTS * (1 + CHILDREN) };

static atomic_uchar runs[JOBS];
static od_pool *pool;

static void child(void *number)
{
    atomic_fetch_add(&runs[(size_t)number], 1);
}

static void parent(void *number)
{
    atomic_fetch_add(&runs[(size_t)number], 1);
    for (size_t i = 0; i < CHILDREN; i++)
        od_pool_submit(pool, OD_BAND_DEFAULT, child,
                       (void *)(PARENTS + (size_t)number * CHILDREN + i));
}

static void *submitter(void *first)
{
    size_t number = (size_t)first;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++)
            od_pool_submit(pool, (od_band)(i % 2 ? OD_BAND_DEFAULT : OD_BAND_UTILITY), parent,
                           (void *)number++);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    return NULL;
}

TEST(each_job_runs_once)
{
    od_pool_options options;
    pthread_t threads[SUBMITTERS];
    od_stop_report report;

    od_pool_options_init(&options);
    options.workers = 3;
    assert_int_equal(od_pool_create(&options, &pool, NULL, 0), OD_OK);
    for (size_t i = 0; i < SUBMITTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submitter,
                                        (void *)(i * ROUNDS * BURST)), 0);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(od_pool_stop(pool, INT64_C(60000000000), &report), OD_OK);
    assert_int_equal(report.ran, JOBS);
    assert_int_equal(report.stuck, 0);
    assert_int_equal(report.cancelled, 0);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(runs[i], 1);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

int main(int count, char **names)
{
    watchdog_allow(200, "arm64 stress", "the same program");
    return run_listed(__FILE__, count, names);
}
