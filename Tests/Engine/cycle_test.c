/* gate/cycle: syncs of serial queues that wait for each other are named, and others are not. */
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "gate/cycle.h"

CHILDREN_MAY_START_THREADS

enum { MOST = 4, LONGEST = 48 };

static struct {
    od_queue *queues[LONGEST];
    int count;
    atomic_int inside;
} circle;

/* Each from a thread of its own: in queue i, then onto queue i + 1. */
static void *sync_onto_the_next(void *raw)
{
    int i = (int)(intptr_t)raw;
    od_scope own, next;

    od_queue_sync_begin(circle.queues[i], &own);
    atomic_fetch_add(&circle.inside, 1);
    while (atomic_load(&circle.inside) < circle.count)
        sched_yield();
    od_queue_sync_begin(circle.queues[(i + 1) % circle.count], &next);
    od_queue_sync_end(&next);
    od_queue_sync_end(&own);
    return NULL;
}

static void a_circle_of(void *raw)
{
    static const char *const labels[MOST] = {"anna", "bert", "carl", "dora"};
    od_pool *pool = pool_of(1);

    circle.count = (int)(intptr_t)raw;
    for (int i = 0; i < circle.count; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 1, labels[i % MOST]);
    run_on_threads(circle.count, sync_onto_the_next);
}

TEST(a_circle_is_named)
{
    for (intptr_t count = 2; count <= MOST; count++) {
        outcome it = in_a_child(a_circle_of, (void *)count, 60);

        assert_non_null(strstr(it.said, "overdrive: TaskQueue.sync: a circle of serial queues (\""));
        assert_non_null(strstr(it.said, "\" waits for \""));
        assert_non_null(strstr(it.said, "\"anna\""));
        assert_non_null(strstr(it.said, "\"bert\""));
        assert_true(count < 3 || strstr(it.said, "\", which waits for \"") != NULL);
        assert_true(count < 4 || strstr(it.said, "\"dora\"") != NULL);
        assert_non_null(strstr(it.said, "\", which runs the caller). Use async in one of them.\n"));
    }
}

TEST(a_circle_is_named_as_far_as_a_sentence_goes)
{
    outcome it = in_a_child(a_circle_of, (void *)(intptr_t)LONGEST, 60);

    assert_non_null(strstr(it.said, "\" waits for \""));
}

static void *wait_for_the_first(void *unused)
{
    od_scope own, first;

    od_queue_sync_begin(circle.queues[1], &own);
    od_queue_sync_begin(circle.queues[0], &first);
    od_queue_sync_end(&first);
    od_queue_sync_end(&own);
    return unused;
}

static void resume_late(void *queue)
{
    odi_clock_sleep(MILLISECONDS(200)); /* longer than a sync waits before it looks for a circle */
    od_queue_resume(queue);
}

static void wait_for_the_second(void *pool)
{
    od_scope second;

    od_queue_suspend(circle.queues[1]);
    od_pool_submit(pool, OD_BAND_DEFAULT, resume_late, circle.queues[1]);
    od_queue_sync_begin(circle.queues[1], &second);
    od_queue_sync_end(&second);
}

/* In the parent the second one's holder waits for what the caller holds. */
TEST(a_child_looks_for_no_circle_among_its_parents_threads)
{
    od_pool *pool = pool_of(1);
    pthread_t thread;
    od_scope scope;

    for (int i = 0; i < 2; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "held");
    od_queue_sync_begin(circle.queues[0], &scope);
    pthread_create(&thread, NULL, wait_for_the_first, NULL);
    assert_comes_true(waiting_in(circle.queues[0]) == 1);
    assert_child_succeeds(wait_for_the_second, pool);
    od_queue_sync_end(&scope);
    pthread_join(thread, NULL);
    end_pool(pool, circle.queues[0], circle.queues[1]);
}

enum { CLIMBERS = 4, CLIMBS = 3000, CLIMBS_SANITIZED = 500 };

static void *climb(void *raw)
{
    prng random = prng_for(21, (uint64_t)(uintptr_t)raw);

    for (int i = 0; i < UNLESS_SANITIZED(CLIMBS, CLIMBS_SANITIZED); i++) {
        od_scope scopes[MOST];
        int depth = 0;

        /* Always upwards, so that there is never a circle. */
        for (int step = 0; step < MOST; step++) {
            if (prng_one_in(&random, 2))
                od_queue_sync_begin(circle.queues[step], &scopes[depth++]);
        }
        while (depth > 0)
            od_queue_sync_end(&scopes[--depth]);
    }
    atomic_fetch_add(&circle.inside, 1);
    return NULL;
}

static void climb_job(void *raw) { climb(raw); }

TEST(who_only_waits_in_one_direction_goes_on)
{
    od_pool *pool = pool_of(2);
    pthread_t threads[CLIMBERS];

    for (int i = 0; i < MOST; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "up");
    atomic_store(&circle.inside, 0);
    for (intptr_t i = 0; i < CLIMBERS; i++) {
        pthread_create(&threads[i], NULL, climb, (void *)i);
        od_pool_submit(pool, OD_BAND_DEFAULT, climb_job, (void *)(i + CLIMBERS));
    }
    join_threads(threads, CLIMBERS);
    assert_comes_true(atomic_load(&circle.inside) == 2 * CLIMBERS);
    for (int i = 0; i < MOST; i++)
        od_queue_release(circle.queues[i]);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

GUARDED_PROGRAM
