/* timer_thread.c — the timer thread: its start, its work and its end.
 *
 * The first call starts the thread. It ends when the monitor has not called it for LINGER_NS, or when another
 * timer thread has started during its call of a timer. Its waits end by odi_timer_thread_call, by
 * odi_timer_thread_wake, or at their deadline.
 */
#include "pool/timer_thread.h"

#include "os/clock.h"
#include "os/futex.h"
#include "os/overflow.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "worker/due.h"

#define LINGER_NS (200 * ODI_MILLISECOND)
#define RETRY_NS (100 * ODI_MILLISECOND)

/* The pool that the calling timer thread serves. A forked child has no timer thread. */
static _Thread_local od_pool *served_here;

/* Another timer thread has started: this one ends. */
static _Thread_local bool is_replaced;

bool odi_timer_thread_is_here(const od_pool *pool)
{
    return served_here == pool;
}

void odi_timer_thread_forked(od_pool *pool)
{
    pool->timer_thread_present = false;
    odi_store_relaxed(&pool->timer_call, NULL); /* relaxed: one thread exists */
    served_here = NULL;
}

static bool stops(od_pool *pool)
{
    /* relaxed: read under the team's lock, which a stop takes after it has set these flags */
    return odi_load_relaxed(&pool->team.attention) & (ODI_STOPPING | ODI_CANCELLING);
}

/* ---- calls of timers ---- */

/* A thread that starts from here on takes this one's duty over. */
void odi_timer_thread_begin_call(od_pool *pool, void *queue)
{
    odi_lock_acquire(&pool->team.lock);
    odi_store_relaxed(&pool->timer_call, queue); /* relaxed, both: locked; the monitor takes it as a hint */
    pool->timer_thread_present = false;
    odi_lock_release(&pool->team.lock);
}

void odi_timer_thread_end_call(od_pool *pool)
{
    if (!odi_timer_thread_is_here(pool))
        return; /* in a forked child */
    odi_lock_acquire(&pool->team.lock);
    odi_store_relaxed(&pool->timer_call, NULL); /* relaxed: as above */
    is_replaced = pool->timer_thread_present;
    pool->timer_thread_present = true;
    odi_lock_release(&pool->team.lock);
}

static bool call_runs(od_pool *pool)
{
    return odi_load_relaxed(&pool->timer_call) != NULL; /* relaxed: a hint; see fire_due for the timer thread */
}

/* ---- overdue timers ---- */

static odi_timer_wheel *deliveries(od_pool *pool)
{
    return &pool->team.timers.wheels[pool->team.timers.count - 1];
}

static bool is_late(odi_timer_wheel *wheel, int64_t now, int64_t by)
{
    return odi_load_relaxed(&wheel->earliest) <= now - by; /* relaxed: a hint */
}

/* The functions below return false in a forked child, and in a thread that was replaced. */
static bool still_serves(const od_pool *pool)
{
    return odi_timer_thread_is_here(pool) && !is_replaced;
}

static bool deliver_due(od_pool *pool)
{
    odi_timer_wheel *wheel = deliveries(pool);
    odi_timer_entry *due[ODI_DUE_BATCH];
    int64_t now = odi_clock_now();
    uint32_t firing = odi_timer_queue_begin_firing(wheel, now);

    for (int count = firing != 0; count > 0; now = odi_clock_now()) {
        count = odi_timer_queue_take(wheel, firing, now, due);
        for (int i = 0; i < count; i++) {
            due[i]->kind->due(due[i]);
            if (!still_serves(pool))
                return false;
        }
    }
    return true;
}

/* Takes one timer at a time, because its call may last. Meanwhile workers may take the others. */
static bool call_late(od_pool *pool, odi_timer_wheel *wheel)
{
    int64_t now = odi_clock_now();
    uint32_t firing = is_late(wheel, now, ODI_LATE_NS) ? odi_timer_queue_begin_firing(wheel, now) : 0;
    odi_timer_entry *late;

    while (firing != 0 && (late = odi_timer_queue_take_late(wheel, firing, odi_clock_now())) != NULL) {
        late->kind->due(late);
        if (!still_serves(pool)) {
            if (is_replaced)
                odi_timer_queue_end_firing(wheel, firing);
            return false;
        }
    }
    return true;
}

static bool fire_due(od_pool *pool)
{
    odi_timer_queue *timers = &pool->team.timers;
    /* A call begins only on the serving thread, which is this one. */
    bool calls = !call_runs(pool), serves = deliver_due(pool);

    for (int i = 0; i < timers->count - 1 && calls && serves; i++)
        serves = call_late(pool, &timers->wheels[i]);
    if (odi_timer_thread_is_here(pool))
        odi_team_watch_timers(&pool->team, NULL); /* for timers armed during the firing */
    return serves;
}

/* ---- the thread ---- */

/* Counts the timer thread as ended. Lock held. */
static void depart(od_pool *pool)
{
    if (!is_replaced)
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
    bool leaves = is_replaced || stops(pool) || (unused && now == *word);
    *word = now;
    if (leaves) {
        depart(pool);
        odi_lock_release_last(&pool->team.lock);
    } else {
        odi_lock_release(&pool->team.lock);
    }
    return leaves;
}

static void serve(od_pool *pool)
{
    uint32_t word = 0;
    bool unused = false;

    while (!leave(pool, &word, unused)) {
        if (fire_due(pool))
            unused = odi_futex_wait(&pool->timer_thread_word, word, odi_clock_after(LINGER_NS)) == ODI_FUTEX_TIMED_OUT;
        else if (!odi_timer_thread_is_here(pool))
            return;
    }
}

static void timer_thread_main(void *raw)
{
    served_here = raw;
    odi_overflow_begin();
    serve(raw);
    odi_overflow_end();
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

/* Whether deliveries are late, or with `starved` calls, and no sleeping worker leads. */
static bool is_wanted(od_pool *pool, bool starved)
{
    odi_timer_queue *timers = &pool->team.timers;
    int64_t now = odi_clock_now();
    bool wanted = is_late(deliveries(pool), now, ODI_STAND_BY_LATE_NS);

    for (int i = 0; i < timers->count - 1 && starved && !wanted && !call_runs(pool); i++)
        wanted = is_late(&timers->wheels[i], now, ODI_LATE_NS);
    return wanted && !odi_timer_queue_is_led(timers);
}

void odi_timer_thread_call(od_pool *pool, bool starved)
{
    odi_team *team = &pool->team;

    if (!is_wanted(pool, starved))
        return;
    odi_lock_acquire(&team->lock);
    bool starts = may_start(pool);
    if (starts) {
        pool->timer_thread_present = true;
        team->present++;
    }
    odi_lock_release(&team->lock);
    if (!starts)
        odi_timer_thread_wake(pool);
    else if (odi_team_start_thread(team, timer_thread_main, pool, team->stack_bytes, "od-timers") != 0)
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
