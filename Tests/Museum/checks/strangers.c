/* A job that waits holds whatever it holds: what runs on its stack meanwhile may need just
 * that. Its own deque's jobs go to a worker that takes its place. */
#include "Support/pools.h"
#include "Support/watchdog.h"

static od_pool *pool;
static od_queue *queue;
static _Thread_local bool inside;
static atomic_int ran, nested;

static void stranger(void *unused)
{
    atomic_fetch_add(&nested, inside);
    atomic_fetch_add(&ran, 1);
}

static void wait_for_a_turn(void *unused)
{
    od_scope scope;

    inside = true;
    od_pool_submit(pool, OD_BAND_DEFAULT, stranger, NULL);
    od_queue_sync_begin(queue, &scope);
    od_queue_sync_end(&scope);
    inside = false;
}

TEST(who_waits_runs_no_strangers_job)
{
    od_scope scope;

    pool = pool_of(1);
    queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "taken");
    od_queue_sync_begin(queue, &scope);
    od_pool_submit(pool, OD_BAND_DEFAULT, wait_for_a_turn, NULL);
    assert_comes_true(atomic_load(&ran) == 1); /* although the job before it waits */
    od_queue_sync_end(&scope);
    assert_comes_true(all_done(pool) == 2);
    assert_int_equal(atomic_load(&nested), 0);
    od_queue_release(queue);
    od_pool_free(pool);
}

GUARDED_PROGRAM
