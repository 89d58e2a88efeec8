/* held_worker.h — a pool with one worker and no spare, held at a door while a test prepares its jobs. The
 * order in which the worker then runs the jobs is exact. Jobs are letters. */
#ifndef SUPPORT_HELD_WORKER_H
#define SUPPORT_HELD_WORKER_H

#include "Support/looks.h"
#include "Support/pools.h"

#define HELD(name) TEST_WITH(name, hold_the_worker, free_the_pool)

enum { DEFAULTS = 20, MOST_LETTERS = 64 };

static struct {
    od_pool *pool;
    gate door;
    char order[MOST_LETTERS + 1];
    atomic_int ran;
} scene;

static inline void note(void *letter)
{
    int at = atomic_fetch_add(&scene.ran, 1);

    if (at < MOST_LETTERS)
        scene.order[at] = (char)(uintptr_t)letter;
}

static inline int hold_the_worker(void **state)
{
    memset(&scene, 0, sizeof scene);
    scene.pool = lone_worker();
    od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, gate_job, &scene.door);
    return COMES_TRUE(atomic_load(&scene.door.waiting) == 1) ? 0 : -1;
}

static inline int free_the_pool(void **state)
{
    return od_pool_free(scene.pool) == OD_OK ? 0 : -1;
}

static inline od_queue *background(int32_t width)
{
    return od_queue_create(scene.pool, OD_BAND_BACKGROUND, width, "background");
}

static inline void add(od_queue *queue, int32_t band, char letter)
{
    od_queue_async(queue, NULL, band, note, (void *)(uintptr_t)letter);
}

static inline void flood_the_middle(void)
{
    for (int i = 0; i < DEFAULTS; i++)
        od_pool_submit(scene.pool, OD_BAND_DEFAULT, note, (void *)(uintptr_t)'d');
}

/* Opens the door, checks the order and releases the queue. `order` lists the letters that ran, without the
 * default band's jobs. The first `before` letters ran before all of those jobs, the others after them. */
static inline void assert_order(od_queue *queue, const char *order, size_t before)
{
    char expected[MOST_LETTERS + 1] = "";
    size_t letters = strlen(order);

    gate_open(&scene.door);
    assert_comes_true((size_t)atomic_load(&scene.ran) == DEFAULTS + letters);
    assert_true(od_queue_wait(queue, HANG_NS)); /* not earlier, because a wait overrides bands */
    memcpy(expected, order, before);
    memset(expected + before, 'd', DEFAULTS);
    memcpy(expected + before + DEFAULTS, order + before, letters - before);
    assert_string_equal(scene.order, expected);
    od_queue_release(queue);
}

/* Whether a raise's drain request has reached the pool in the waiter's band. */
static inline bool a_pass_waits(void)
{
    return odi_injector_size(
               &scene.pool->team.sites[0].injectors[OD_BAND_USER_INTERACTIVE]) > 0;
}

#endif
