/* queues.h — a pool of three workers for each queue test, and common operations of these tests. */
#ifndef SUPPORT_QUEUES_H
#define SUPPORT_QUEUES_H

#include <unistd.h>

#include "Support/looks.h"
#include "Support/pools.h"
#include "gate/queue.h"

#define QUEUE_TEST(name) TEST_WITH(name, set_up, tear_down)

static od_pool *pool;

/* Widths that many tests try. */
static const int32_t widths[] = {OD_UNLIMITED, 1, 2};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static inline int set_up(void **state)
{
    pool = pool_of(3);
    return 0;
}

static inline int tear_down(void **state)
{
    return od_pool_free(pool) == OD_OK ? 0 : -1;
}

static inline od_queue *queue_of(int32_t width)
{
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, width, "test");

    if (queue == NULL)
        abort();
    return queue;
}

static inline od_queue *queue_with(od_queue_options options)
{
    od_queue *queue;

    options.band = OD_BAND_DEFAULT;
    queue = od_queue_create_with(pool, &options);
    if (queue == NULL)
        abort();
    return queue;
}

static inline od_queue *queue_on(od_queue *target, int32_t width, const char *label)
{
    return queue_with((od_queue_options){.width = width, .label = label, .target = target});
}

static inline od_queue *inactive_queue(int32_t width, const char *label)
{
    return queue_with((od_queue_options){.width = width, .label = label, .inactive = true});
}

/* Whether the queue's memory is reused. The memory released last is reused first, and other queues may be
 * released after it. The taken queues are kept until its memory appears. */
static inline bool serves_again(od_queue *queue)
{
    enum { ALL = 100000 };
    static od_queue *taken[ALL];
    static int many = 1000; /* grows each time, because this thread first takes what it released */
    bool came = false;
    int count = 0;

    assert_true((many += 64) <= ALL);
    while (!came && count < many) {
        taken[count] = queue_of(2);
        assert_null(od_queue_context(taken[count])); /* not the context of the memory's previous queue */
        came = taken[count++] == queue;
    }
    while (count > 0)
        od_queue_release(taken[--count]);
    return came;
}

static inline void add(od_queue *queue, void (*function)(void *), void *context)
{
    od_queue_async(queue, NULL, OD_QUEUE_BAND, function, context);
}

static inline void let_all_run_that_can(void) { assert_true(all_has_run_that_can(pool)); }

static inline void add_barrier(od_queue *queue, void (*function)(void *), void *context)
{
    od_queue_async_with(queue, NULL, OD_QUEUE_BAND, OD_BARRIER, function, context);
}

#endif
