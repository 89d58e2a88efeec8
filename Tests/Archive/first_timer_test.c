/* A program that was linked against the engine as a plain archive, from which a linker takes only what is
 * asked for by name: what is found by weak references alone must be there all the same. */
#include "Support/clock.h"
#include "Support/watchdog.h"

#include "include/od_pool.h"
#include "include/od_timer.h"

static atomic_int calls, ends;

static void call(void *unused, uint64_t missed)
{
    (void)unused, (void)missed;
    atomic_fetch_add(&calls, 1);
}

static void over(void *unused)
{
    atomic_fetch_add(&ends, 1);
}

TEST(the_first_timer_of_a_program_linked_from_an_archive_calls)
{
    od_pool *pool;
    od_timer_options options = {.delay_ns = 1000, .call = call, .over = over};

    assert_int_equal(od_pool_create(&(od_pool_options){.workers = 1}, &pool, NULL, 0), OD_OK);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "archive");
    od_timer *timer = od_timer_create(queue, &options);
    od_timer_start(timer);
    assert_comes_true(atomic_load(&ends) == 1);
    assert_int_equal(atomic_load(&calls), 1);
    od_timer_release(timer);
    od_queue_release(queue);
    od_pool_stop(pool, INT64_MAX, NULL);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

GUARDED_PROGRAM
