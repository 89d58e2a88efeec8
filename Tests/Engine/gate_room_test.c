/* gate/room.c: chains and rings of full queues go on, with all threads asleep or a single one. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

#include <pthread.h>

enum { STAGES = 3, ITEMS = 600 };

static struct {
    od_queue *stages[STAGES];
    od_pool *pool;
    pthread_mutex_t lock;
    bool locks, ring;
    atomic_int done, laps;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static od_queue *stage(int32_t width, uint32_t limit)
{
    od_queue_options options = {.band = OD_BAND_DEFAULT, .width = width, .label = "stage", .pending_limit = limit,
                                .overflow = OD_OVERFLOW_WAITS};
    od_queue *queue = od_queue_create_with(line.pool, &options);

    assert_non_null(queue);
    return queue;
}

static void in_stage(void *raw);

/* The lock is that of a stage whose submitters keep their order, and which the next stage does not take. */
static void pass_on(int next, uintptr_t word)
{
    bool locks = line.locks && next == STAGES - 1;

    if (locks)
        pthread_mutex_lock(&line.lock);
    assert_int_equal(od_queue_async(line.stages[next], NULL, OD_QUEUE_BAND, in_stage, (void *)word), OD_OK);
    if (locks)
        pthread_mutex_unlock(&line.lock);
}

/* The word: the stage, and what is left of its laps. */
static void in_stage(void *raw)
{
    uintptr_t word = (uintptr_t)raw, at = word & 3, laps = word >> 2;

    usleep(20);
    if (at + 1 < STAGES)
        pass_on((int)at + 1, laps << 2 | (at + 1));
    else if (laps > 0)
        pass_on(0, (laps - 1) << 2);
    else
        atomic_fetch_add(&line.done, 1);
}

static void run_line(int workers, int spares, int32_t width, uint32_t limit, bool locks, uintptr_t laps)
{
    od_pool_options options = options_for(workers);

    options.spare_workers = spares;
    line.pool = pool_with(options, (odi_pool_world){0});
    line.locks = locks;
    atomic_store(&line.done, 0);
    for (int each = 0; each < STAGES; each++)
        line.stages[each] = stage(each == STAGES - 1 ? 1 : width, limit);
    for (int item = 0; item < ITEMS; item++)
        assert_int_equal(od_queue_async(line.stages[0], NULL, OD_QUEUE_BAND, in_stage, (void *)(laps << 2)), OD_OK);
    assert_comes_true(atomic_load(&line.done) == ITEMS);
    for (int each = 0; each < STAGES; each++)
        od_queue_release(line.stages[each]);
    assert_int_equal(od_pool_free(line.pool), OD_OK);
}

QUEUE_TEST(a_chain_of_full_queues_goes_on_when_every_thread_waits_for_room)
{
    for (int each = 0; each < WIDTHS; each++)
        run_line(2, 4, widths[each], 8, false, 0);
}

QUEUE_TEST(a_chain_of_full_queues_goes_on_when_submitters_hold_a_lock)
{
    for (int each = 0; each < WIDTHS; each++)
        run_line(2, 4, widths[each], 8, true, 0);
}

QUEUE_TEST(a_chain_of_full_queues_goes_on_with_a_single_thread)
{
    for (int each = 0; each < WIDTHS; each++)
        run_line(1, 0, widths[each], 1, false, 0);
}

QUEUE_TEST(a_ring_of_full_queues_goes_on)
{
    for (int each = 0; each < WIDTHS; each++) {
        run_line(2, 64, widths[each], 1, false, 3);
        run_line(1, 0, widths[each], 4, false, 3);
    }
}

/* Both go round in a circle of two, of which neither may wait. */
static gate door;
static od_queue *ends[2];

static void fill_other(void *raw)
{
    od_queue *other = ends[1 - (int)(uintptr_t)raw];

    gate_job(&door);
    for (int each = 0; each < 4; each++)
        add(other, no_job, NULL);
}

QUEUE_TEST(two_serial_queues_that_fill_each_other_go_on_beyond_their_limits)
{
    door = (gate){0};
    for (int each = 0; each < 2; each++)
        ends[each] = queue_with((od_queue_options){.width = 1, .label = "end", .pending_limit = 1});
    for (int each = 0; each < 2; each++)
        add(ends[each], fill_other, (void *)(uintptr_t)each);
    assert_comes_true(atomic_load(&door.waiting) == 2);
    gate_open(&door);
    assert_comes_true(od_queue_pending(ends[0]) + od_queue_pending(ends[1]) == 0);
    assert_true(LOOK(ends[0], ends[0]->more->beyond) + LOOK(ends[1], ends[1]->more->beyond) > 0);
    for (int each = 0; each < 2; each++)
        od_queue_release(ends[each]);
}

static od_queue *goals[2];

static void fill_goal(void *raw)
{
    gate_job(&door);
    for (int each = 0; each < 4; each++)
        add(goals[(uintptr_t)raw], no_job, NULL);
}

QUEUE_TEST(a_circle_through_a_target_goes_on_beyond_a_limit)
{
    od_queue *target = queue_of(1);

    door = (gate){0};
    goals[0] = queue_with((od_queue_options){.width = 1, .label = "beside", .pending_limit = 1});
    goals[1] = queue_with((od_queue_options){.width = 1, .label = "above", .pending_limit = 1, .target = target});
    add(target, fill_goal, (void *)(uintptr_t)0);
    add(goals[0], fill_goal, (void *)(uintptr_t)1);
    assert_comes_true(atomic_load(&door.waiting) == 2);
    gate_open(&door);
    assert_comes_true(od_queue_pending(target) + od_queue_pending(goals[0]) + od_queue_pending(goals[1]) == 0);
    for (int each = 0; each < 2; each++)
        od_queue_release(goals[each]);
    od_queue_release(target);
}

GUARDED_PROGRAM
