/* timers.h — a pool and a queue for each timer test, and a timer that records its calls. */
#ifndef SUPPORT_TIMERS_H
#define SUPPORT_TIMERS_H

#include "Support/pools.h"
#include "include/od_timer.h"

#define ON_ONE(test) TEST_WITH(test, one_worker, tear_down)
#define ON_TWO(test) TEST_WITH(test, two_workers, tear_down)

static od_pool *pool;
static od_queue *queue;

static inline int set_up_of(int workers)
{
    pool = pool_of(workers);
    queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "timers");
    return pool == NULL || queue == NULL;
}

static inline int one_worker(void **state)
{
    return set_up_of(1);
}

static inline int two_workers(void **state)
{
    return set_up_of(2);
}

static inline int tear_down(void **state)
{
    od_queue_release(queue);
    return od_pool_free(pool) != OD_OK;
}

/* ---- a timer that records its calls ---- */

typedef struct probe {
    od_timer *timer;
    struct probe *other;
    int64_t due;
    atomic_int calls, overs, early;
    atomic_ullong missed;
    int64_t last_call;
    gate *waits_at; /* its call waits at this door */
    int cancels_itself_at;
    atomic_int cancel_said;
} probe;

static inline void probe_call(void *raw, uint64_t missed)
{
    probe *it = raw;

    it->last_call = odi_clock_now();
    atomic_fetch_add(&it->early, it->last_call < it->due);
    atomic_fetch_add(&it->missed, missed);
    int calls = atomic_fetch_add(&it->calls, 1) + 1;
    if (it->waits_at != NULL)
        gate_pass(it->waits_at);
    if (calls == it->cancels_itself_at)
        atomic_store(&it->cancel_said, (int)od_timer_cancel(it->timer));
}

static inline void probe_over(void *raw)
{
    atomic_fetch_add(&((probe *)raw)->overs, 1);
}

static inline od_timer_options options_of(probe *it, int64_t delay, int64_t interval)
{
    return (od_timer_options){delay, interval, probe_call, probe_over, it, 0};
}

static inline void start_on(od_queue *where, probe *it, int64_t delay, int64_t interval)
{
    od_timer_options options = options_of(it, delay, interval);

    it->due = odi_clock_now() + (delay < INT64_MAX / 2 ? delay : INT64_MAX / 2);
    it->timer = od_timer_create(where, &options);
    assert_non_null(it->timer);
    od_timer_start(it->timer);
}

/* Starts a timer without keeping a reference. */
static inline void start_and_forget(od_queue *where, const od_timer_options *options)
{
    od_timer *timer = od_timer_create(where, options);

    if (timer == NULL)
        abort();
    od_timer_start(timer);
    od_timer_release(timer);
}

static inline void start(probe *it, int64_t delay, int64_t interval)
{
    start_on(queue, it, delay, interval);
}

/* Prevents the monitor from calling a timer thread for the pool's timers. */
static inline void deliver_by_workers_alone(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock);
    pool->next_timer_thread_ns = ODI_FOREVER;
    odi_lock_release(&pool->team.lock);
}

#endif
