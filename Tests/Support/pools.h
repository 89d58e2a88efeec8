/* pools.h — pools for tests. Their deque indices start next to the wraparound. */
#ifndef SUPPORT_POOLS_H
#define SUPPORT_POOLS_H

#include <stdatomic.h>

#include "Support/check.h"
#include "Support/clock.h"
#include "Support/machines.h"
#include "include/od_queue.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "worker/worker.h"

#define NEXT_TO_THE_WRAP (INT64_MAX - 3)

static inline od_pool *pool_with(od_pool_options options, odi_pool_world world)
{
    od_pool *pool = NULL;
    char message[256] = "";

    if (world.first_index == 0)
        world.first_index = NEXT_TO_THE_WRAP;
    od_status status = odi_pool_create_in(&options, &world, &pool, message, sizeof message);
    if (status != OD_OK) {
        print_error("no pool: %s\n", message);
        abort();
    }
    return pool;
}

static inline od_pool_options options_for(int workers)
{
    od_pool_options options;

    od_pool_options_init(&options);
    options.name = "test";
    options.workers = workers;
    options.placement = OD_PLACEMENT_NONE;
    return options;
}

/* Returns a pool with this number of unpinned workers. */
static inline od_pool *pool_of(int workers)
{
    return pool_with(options_for(workers), (odi_pool_world){0});
}

/* Returns a pool without spares, so its workers are its only threads. */
static inline od_pool *pool_without_spares(int workers)
{
    od_pool_options options = options_for(workers);

    options.spare_workers = 0;
    return pool_with(options, (odi_pool_world){0});
}

/* Returns a pool with one worker, no spare and one node on any machine. A job behind another waits, and bands
 * run in order; neither holds across nodes. */
static inline od_pool *lone_worker(void)
{
    od_pool_options options = options_for(1);

    options.spare_workers = 0;
    return pool_with(options, (odi_pool_world){.topology = machine_of(1, 2, 1)});
}

static inline od_metrics metrics_of(od_pool *pool)
{
    od_metrics metrics;

    od_pool_metrics(pool, &metrics);
    return metrics;
}

static inline uint64_t all_done(od_pool *pool)
{
    od_metrics metrics = metrics_of(pool);

    return metrics.executed + metrics.cancelled;
}

/* Whether no worker is inside a job, so that data of the last jobs may be freed. */
static inline bool nothing_runs(od_pool *pool)
{
    bool nothing = true;

    for (int slot = 0; slot < pool->team.capacity; slot++) {
        odi_worker *worker = odi_load_acquire(&pool->team.slots[slot], W3);

        nothing &= worker == NULL || !(odi_load_acquire(&worker->jobs, W2) & 1);
    }
    return nothing;
}

/* Whether all threads of a stopped pool have ended, so that no job begins or submits. A worker that was
 * preempted between taking and beginning a job is in no job, and may begin it after the stop. */
static inline bool all_have_gone(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock);
    bool gone = pool->team.present == 0;
    odi_lock_release(&pool->team.lock);
    return gone;
}

/* Returns the number of workers with a thread, parked spares included. */
static inline int workers_present(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock);
    int present = pool->team.present - pool->monitor_present;
    odi_lock_release(&pool->team.lock);
    return present;
}

/* Whether at least this many workers sleep without work. They count as sleepers, which precedes their last
 * check, and sleep in the kernel if that is known. */
static inline bool idle_ones_sleep(od_pool *pool, int workers)
{
    int sleepers = 0, in_kernel = 0;

    for (int site = 0; site < pool->team.site_count; site++)
        sleepers += (int)odi_idle_sleepers(&pool->team.sites[site].idle);
    for (int slot = 0; slot < pool->team.capacity; slot++) {
        odi_worker *worker = odi_load_acquire(&pool->team.slots[slot], W3);

        in_kernel += worker != NULL && !(odi_worker_activity(worker) & 1) &&
                     odi_thread_sleeps(odi_load_relaxed(&worker->thread_id)) != 0;
    }
    return sleepers >= workers && in_kernel >= workers;
}

static inline void assert_report(const od_stop_report *report, uint64_t ran, uint64_t cancelled,
                          uint64_t stuck)
{
    if (report->ran != ran || report->cancelled != cancelled || report->stuck != stuck)
        print_error("ran %llu, cancelled %llu, stuck %llu\n", (unsigned long long)report->ran,
                    (unsigned long long)report->cancelled, (unsigned long long)report->stuck);
    assert_int_equal(report->ran, ran);
    assert_int_equal(report->cancelled, cancelled);
    assert_int_equal(report->stuck, stuck);
}

/* Asserts the report of a stop that ends in time or at its deadline. */
static inline void assert_stop(od_pool *pool, int64_t deadline_ns, uint64_t ran, uint64_t cancelled, uint64_t stuck)
{
    od_stop_report report;

    assert_int_equal(od_pool_stop(pool, deadline_ns, &report), OD_OK);
    assert_report(&report, ran, cancelled, stuck);
}

/* A job that counts itself. */
static inline void count_job(void *counter)
{
    atomic_fetch_add((atomic_ullong *)counter, 1);
}

static inline void no_job(void *unused)
{
}

/* ---- common operations ---- */

static inline void submit_many(od_pool *pool, int jobs, void (*function)(void *), void *context)
{
    for (int job = 0; job < jobs; job++)
        od_pool_submit(pool, OD_BAND_DEFAULT, function, context);
}

/* Waits until all jobs that can run have run. Twice it submits jobs of the lowest band, which workers take
 * after all others, and waits for them. For tests of jobs that must not run yet. */
static inline bool all_has_run_that_can(od_pool *pool)
{
    enum { JOBS = 64 };
    static atomic_ullong passed;
    bool all = true;

    for (int wave = 0; wave < 2 && all; wave++) {
        atomic_store(&passed, 0);
        for (int job = 0; job < JOBS; job++)
            od_pool_submit(pool, OD_BAND_BACKGROUND, count_job, &passed);
        all = COMES_TRUE(atomic_load(&passed) == JOBS);
    }
    return all;
}

static inline void add_many(od_queue *queue, int jobs, void (*function)(void *), void *context)
{
    for (int job = 0; job < jobs; job++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, function, context);
}

static inline void run_in(od_queue *queue, void (*function)(void *), void *context)
{
    od_queue_async(queue, NULL, OD_QUEUE_BAND, function, context);
    assert_true(od_queue_wait(queue, HANG_NS));
}

/* Calls the function on the calling thread, in a sync of the queue. */
static inline void run_synced(od_queue *queue, void (*function)(void *), void *context)
{
    od_scope scope;

    od_queue_sync_begin(queue, &scope);
    function(context);
    od_queue_sync_end(&scope);
}

/* Returns when a worker waits at the door. */
static inline void hold_a_worker(od_pool *pool, gate *door)
{
    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, door);
    assert_comes_true(atomic_load(&door->waiting) == 1);
}

/* Returns when a job of the queue waits at the door. */
static inline void hold_a_job(od_queue *queue, gate *door)
{
    od_queue_async(queue, NULL, OD_QUEUE_BAND, gate_job, door);
    assert_comes_true(atomic_load(&door->waiting) == 1);
}

/* Waits for the queue's jobs and releases the queue. */
static inline void end_queue(od_queue *queue)
{
    assert_true(od_queue_wait(queue, HANG_NS));
    od_queue_release(queue);
}

/* `queues` ends with NULL. */
static inline void wait_for_all(od_queue **queues)
{
    for (; *queues != NULL; queues++)
        assert_true(od_queue_wait(*queues, HANG_NS));
}

static inline void release_all(od_queue **queues)
{
    for (; *queues != NULL; queues++)
        od_queue_release(*queues);
}

#define wait_for_queues(...) wait_for_all((od_queue *[]){__VA_ARGS__, NULL})
#define release_queues(...) release_all((od_queue *[]){__VA_ARGS__, NULL})

/* Releases the queues and frees the pool, whose threads have then ended. */
#define end_pool(pool, ...)                                                               \
    do {                                                                                  \
        release_queues(__VA_ARGS__);                                                      \
        assert_int_equal(od_pool_free(pool), OD_OK);                                      \
    } while (0)

#endif
