/* timer_thread.c — the timer thread: its start, its work and its end.
 *
 * The first call starts the thread. It ends when the monitor has not called it for LINGER_NS. Its waits end
 * by odi_timer_thread_call, by odi_timer_thread_wake, or at their deadline.
 */
#include "pool/timer_thread.h"

#include "os/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "worker/due.h"

enum { TIMER_THREAD_STACK = ODI_STACK_HALVED };
#define LINGER_NS (200 * ODI_MILLISECOND)
#define RETRY_NS (100 * ODI_MILLISECOND)

/* The pool that the calling timer thread serves. A forked child has no timer thread. */
static _Thread_local od_pool *served_here;

bool odi_timer_thread_is_here(const od_pool *pool)
{
    return served_here == pool;
}

void odi_timer_thread_forked(od_pool *pool)
{
    pool->timer_thread_present = false;
    served_here = NULL;
}

static bool stops(od_pool *pool)
{
    /* relaxed: read under the team's lock, which a stop takes after it has set these flags */
    return odi_load_relaxed(&pool->team.attention) & (ODI_STOPPING | ODI_CANCELLING);
}

/* Fires one wheel's due timers. Returns false in a forked child. */
static bool fire_wheel(od_pool *pool, odi_timer_wheel *wheel)
{
    odi_timer_entry *due[ODI_DUE_BATCH];
    int64_t now = odi_clock_now();
    uint32_t firing = odi_timer_queue_begin_firing(wheel, now);

    for (int count = firing != 0; count > 0; now = odi_clock_now()) {
        count = odi_timer_queue_take(wheel, firing, now, due);
        for (int i = 0; i < count; i++) {
            due[i]->kind->due(due[i]);
            if (!odi_timer_thread_is_here(pool))
                return false;
        }
    }
    return true;
}

/* Fires all due timers. Returns false in a forked child. */
static bool fire_due(od_pool *pool)
{
    odi_timer_queue *timers = &pool->team.timers;

    for (int i = 0; i < timers->count; i++) {
        if (!fire_wheel(pool, &timers->wheels[i]))
            return false;
    }
    odi_team_watch_timers(&pool->team, NULL); /* for timers armed during the firing */
    return true;
}

/* Counts the timer thread as ended. Lock held. */
static void depart(od_pool *pool)
{
    pool->timer_thread_present = false;
    pool->team.present--;
    odi_add_relaxed(&pool->team.departures, 1); /* relaxed: written and read under the lock */
    odi_futex_wake(&pool->team.departures, 1 << 30);
}

/* Decides whether the thread ends. Returns true if it has left; the pool may then be freed. Otherwise `word`
 * is the value for the next wait. */
static bool leave(od_pool *pool, uint32_t *word, bool unused)
{
    odi_lock_acquire(&pool->team.lock);
    /* relaxed: a call changes the word under the lock */
    uint32_t now = odi_load_relaxed(&pool->timer_thread_word);
    bool leaves = stops(pool) || (unused && now == *word);
    *word = now;
    if (leaves) {
        depart(pool);
        odi_lock_release_last(&pool->team.lock);
    } else {
        odi_lock_release(&pool->team.lock);
    }
    return leaves;
}

static void timer_thread_main(void *raw)
{
    od_pool *pool = raw;
    uint32_t word = 0;
    bool unused = false;

    served_here = pool;
    while (!leave(pool, &word, unused)) {
        if (!fire_due(pool))
            return;
        unused = odi_futex_wait(&pool->timer_thread_word, word, odi_clock_after(LINGER_NS)) == ODI_FUTEX_TIMED_OUT;
    }
}

/* Whether the thread may start. Lock held. */
static bool may_start(od_pool *pool)
{
    return !pool->timer_thread_present && !stops(pool) &&
           (pool->next_timer_thread_ns == 0 || odi_clock_now() >= pool->next_timer_thread_ns);
}

/* The thread could not start: workers fire the timers between jobs, and a later call tries again. */
ODI_COLD static void start_failed(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock);
    depart(pool);
    pool->next_timer_thread_ns = odi_clock_after(RETRY_NS);
    odi_lock_release(&pool->team.lock);
    odi_add_relaxed(&pool->team.start_failures, 1); /* relaxed: a counter */
}

void odi_timer_thread_call(od_pool *pool)
{
    odi_team *team = &pool->team;

    odi_lock_acquire(&team->lock);
    bool starts = may_start(pool);
    if (starts) {
        pool->timer_thread_present = true;
        team->present++;
    }
    odi_lock_release(&team->lock);
    if (!starts)
        odi_timer_thread_wake(pool);
    else if (odi_team_start_thread(team, timer_thread_main, pool, TIMER_THREAD_STACK, "od-timers") != 0)
        start_failed(pool);
}

void odi_timer_thread_wake(od_pool *pool)
{
    odi_lock_acquire(&pool->team.lock); /* the timer thread may be about to leave */
    bool present = pool->timer_thread_present;
    if (present)
        odi_add_relaxed(&pool->timer_thread_word, 1); /* relaxed: read under the lock, or by the kernel */
    odi_lock_release(&pool->team.lock);
    if (present)
        odi_futex_wake(&pool->timer_thread_word, 1);
}
