/* A stop that comes before the first worker's thread has begun. */
#include "Support/pools.h"
#include "Support/watchdog.h"

TEST(a_stop_right_behind_the_first_job_ends)
{
    enum { ROUNDS = 100 };

    for (int round = 0; round < ROUNDS; round++) {
        od_pool *pool = pool_of(1);
        od_stop_report report;
        atomic_ullong ran = 0;

        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        int64_t before = odi_clock_now();
        od_pool_stop(pool, SECONDS(6), &report);
        assert_in_range(odi_clock_now() - before, 0, SECONDS(5)); /* not by its deadline */
        assert_int_equal(atomic_load(&ran), 1);
        assert_int_equal(report.ran, 1);
        od_pool_free(pool);
    }
}

GUARDED_PROGRAM
