/* Of two workers one computes with jobs behind it, and the other never runs out of its own. */
#include "Support/pools.h"
#include "Support/watchdog.h"

static od_pool *pool;
static atomic_bool computing, begin, over;
static atomic_ullong flooded, behind;

enum { BEHIND = 20 };

static void compute(void *unused)
{
    atomic_store(&computing, true);
    while (!atomic_load(&begin))
        sched_yield();
    for (int i = 0; i < BEHIND; i++)
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &behind);
    while (!atomic_load(&over))
        sched_yield();
}

static void flood(void *unused)
{
    atomic_fetch_add(&flooded, 1);
    if (!atomic_load(&over))
        od_pool_submit(pool, OD_BAND_DEFAULT, flood, NULL);
}

TEST(jobs_behind_one_that_computes_do_not_starve_beside_a_flood)
{
    pool = pool_of(2);
    od_pool_submit(pool, OD_BAND_DEFAULT, compute, NULL);
    assert_comes_true(atomic_load(&computing));
    od_pool_submit(pool, OD_BAND_DEFAULT, flood, NULL);
    assert_comes_true(atomic_load(&flooded) > 1000);
    atomic_store(&begin, true);
    assert_comes_true(atomic_load(&behind) == BEHIND);
    atomic_store(&over, true);
    od_pool_free(pool);
}

GUARDED_PROGRAM
