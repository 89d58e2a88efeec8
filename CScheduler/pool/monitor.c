/* monitor.c — the monitor: a thread that detects workers asleep in the kernel inside a job while work waits.
 *
 * The thread starts when first needed. It ticks only while work waits and no worker is free to take it.
 * Otherwise it sleeps without a deadline, until a submitter that finds no sleeper to wake arms it.
 *
 * A worker counts as blocked if between two ticks it finished no job, used almost no CPU time, and sleeps
 * according to the kernel. Each blocked worker allows one spare. While no worker computes, the number of
 * spares doubles with every tick. A burst of blocking jobs therefore needs only a logarithmic number of
 * ticks.
 *
 * While no worker sleeps until the earliest timer is due (timer/timer_queue.h), the monitor does, slightly
 * longer. If no thread has checked the timer by then, the timer counts as waiting work, and the monitor may call
 * the timer thread (timer_thread.c). The monitor fires no timer.
 *
 * Its waits end by arm_monitor, stand_by, odi_pool_wake_monitor (stop), or at the deadline of the tick or the
 * timer queue.
 */
#include "os/clock.h"
#include "os/thread.h"
#include "pool/pool.h"
#include "pool/timer_thread.h"
#include "worker/due.h"
#include "worker/recruit.h"
#include "worker/work.h"
#include "worker/worker.h"

#include "base/invariant.h"

enum { TICK_NS = 3000000, QUIET_TICKS = 2, MONITOR_STACK = 256 * 1024 };
#define RETRY_NS (100 * ODI_MILLISECOND)

/* A thread that used less than this fraction of a tick was not computing. */
enum { IDLE_SHARE = 16 };

/* A worker's activity since the last tick. */
typedef enum {
    ABSENT,    /* has no thread, or is parked */
    IDLE,      /* between two jobs */
    FRESH,     /* has begun its job since: too early to decide */
    COMPUTING, /* used CPU time, or finished several jobs */
    WAITING,   /* has announced that it waits; the team counts it already */
    QUIET,     /* none of these: the kernel must be asked whether it sleeps */
    BLOCKED    /* slept in the kernel, in one job */
} doing;

/* Classifies a worker without asking the kernel, which is slow. Lock held. */
static doing look_at(odi_worker *worker, int64_t now)
{
    uint64_t jobs = odi_worker_activity(worker), before = worker->watched_jobs;
    int64_t cpu = (jobs & 1) ? odi_clock_cpu(worker->cpu_clock) : 0;
    int64_t used = cpu - worker->watched_cpu;

    worker->watched_jobs = jobs;
    worker->watched_cpu = cpu;
    if (jobs != before || worker->watched_ns == 0)
        worker->watched_ns = now;
    if (!(jobs & 1))
        return IDLE;
    if (jobs != before)
        return jobs - before > 2 ? COMPUTING : FRESH;
    if (used > TICK_NS / IDLE_SHARE)
        return COMPUTING;
    /* relaxed, both: hints. Another worker would only wait for the same lock. */
    if (odi_load_relaxed(&worker->sleeps_for_lock))
        return IDLE;
    if (odi_load_relaxed(&worker->says_blocking))
        return WAITING;
    return QUIET;
}

/* Classifies a worker. The kernel is asked without the lock, because it is slow. An unknown answer (no file
 * descriptor) counts as asleep, because the worker used no CPU time. A thread that has ended in between is
 * unknown to the kernel. A worker that has made progress in between is not asked about. */
static doing watch_worker(odi_worker *worker, int64_t now)
{
    odi_lock_acquire(&worker->team->lock);
    doing what = worker->present && !worker->benched ? look_at(worker, now) : ABSENT;
    uint64_t jobs = worker->watched_jobs;
    odi_lock_release(&worker->team->lock);

    if (what != QUIET)
        return what;
    /* relaxed: its count of jobs was acquired before */
    bool sleeps = odi_thread_sleeps(odi_load_relaxed(&worker->thread_id)) != 0;
    if (odi_worker_activity(worker) != jobs)
        return FRESH;
    return sleeps ? BLOCKED : COMPUTING;
}

/* Adjusts the number of spares to the workers' activity. Lock held. */
static void adjust(odi_team *team, const int *count, bool work_waits)
{
    int wanted = count[BLOCKED];
    if (work_waits && wanted > 0 && count[COMPUTING] == 0 && wanted < 2 * team->allowance)
        wanted = 2 * team->allowance;
    if (wanted > team->spare_cap) {
        wanted = team->spare_cap;
        if (work_waits && count[BLOCKED] > wanted)
            odi_add_relaxed(&team->cap_reached, 1); /* relaxed: a counter */
    }
    if (wanted != team->allowance) {
        team->allowance = wanted;
        odi_team_counts_changed(team);
    }
}

ODI_COLD static void say_that_it_stands_still(odi_team *team, int threads)
{
    char who[320] = "";

    if (odi_describe_waits_above != NULL)
        odi_describe_waits_above(team->pool, who, sizeof who);
    odi_warn_of_hang("pool \"%s\" is stuck: closures are pending, but every thread waits (%d threads, %d spares at most). "
                     "Raise spareWorkers, or OVERDRIVE_SPARES for the shared scheduler%s.",
                     team->name, threads, team->spare_cap, who);
}

/* Warns if for a second all threads of the pool have waited while work was pending. No more threads can
 * start, and the threads may wait for that work. Warns once, until a thread makes progress. */
static void notice_a_stall(od_pool *pool, const int *count, bool work_waits)
{
    int threads = count[WAITING] + count[BLOCKED];
    int64_t now = odi_clock_now();

    if (!work_waits || threads == 0 || count[IDLE] + count[FRESH] + count[COMPUTING] > 0) {
        pool->still_since = 0;
    } else if (pool->still_since == 0) {
        pool->still_since = now;
        pool->still_said = false;
    } else if (!pool->still_said && now - pool->still_since >= ODI_SECOND) {
        pool->still_said = true;
        say_that_it_stands_still(&pool->team, threads);
    }
}

/* Lets submitters continue that wait for room, because the full queue may wait for their threads. */
static void let_submitters_on(odi_team *team, const int *count, bool work_waits)
{
    bool all_others_wait;

    if (work_waits && count[WAITING] > 0 && count[IDLE] + count[FRESH] + count[COMPUTING] == 0 &&
        odi_let_on_above != NULL && odi_team_has_no_thread_left(team, &all_others_wait))
        odi_let_on_above(team);
}

static bool stopping(odi_team *team)
{
    return odi_load_relaxed(&team->attention) & ODI_CANCELLING; /* relaxed: set before the wake-up */
}

/* Handles due timers that no sleeping worker checks: workers check at their next job's end, and one more is
 * woken or started. `starved`: no worker is between two jobs. */
static void see_to_what_is_due(odi_team *team, bool starved)
{
    if (!odi_team_is_due(team))
        return;
    odi_store_relaxed(&team->timers.overdue, true); /* relaxed: a hint */
    odi_team_publish(team, &team->sites[0]);
    odi_timer_thread_call(team->pool, starved);
}

/* Checks the team once. Returns whether work waits. */
static bool tick(odi_team *team)
{
    int count[BLOCKED + 1] = {0};
    bool work_waits = odi_team_has_work(team);
    int64_t now = odi_clock_coarse();
    odi_worker *worker;

    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;)
        count[watch_worker(worker, now)]++;
    odi_lock_acquire(&team->lock);
    adjust(team, count, work_waits);
    odi_lock_release(&team->lock);
    let_submitters_on(team, count, work_waits);
    notice_a_stall(team->pool, count, work_waits);
    if (work_waits) {
        /* Not if the only work is forks that no worker may take, because external threads fill the team. */
        if (odi_team_seems_to_have_work(team))
            odi_team_publish(team, &team->sites[0]);
        see_to_what_is_due(team, count[IDLE] == 0);
    }
    team->refresh(team);
    return work_waits;
}

/* Called when no work waits: removes the spares. Submitters must arm the monitor again. */
static void disarm(odi_team *team)
{
    odi_lock_acquire(&team->lock);
    team->allowance = 0;
    odi_team_counts_changed(team);
    odi_lock_release(&team->lock);
    for (int site = 0; site < team->site_count; site++) {
        if (odi_load_relaxed(&team->attention) & ODI_SURPLUS) /* relaxed: this thread's own change */
            odi_idle_wake_all(&team->sites[site].idle);
    }
    odi_or_seqcst(&team->attention, ODI_MONITOR_OFF, S4);
    odi_fence_heavy(S4);
    /* Finds work that was published before the flag was visible. */
    if (odi_team_has_work(team))
        odi_team_publish(team, &team->sites[0]);
}

/* Sleeps until the next tick; handles a timer that is due before. */
static void rest(od_pool *pool, uint32_t word, int64_t until)
{
    odi_team *team = &pool->team;
    int64_t due = odi_timer_queue_stand_by(&team->timers);

    if (due < until &&
        odi_futex_wait(&pool->monitor_word, word, due) == ODI_FUTEX_TIMED_OUT)
        see_to_what_is_due(team, false); /* not overdue by ODI_LATE_NS yet */
    odi_futex_wait(&pool->monitor_word, word, until);
}

static void watch(od_pool *pool)
{
    odi_team *team = &pool->team;
    int quiet = 0;

    while (quiet < QUIET_TICKS && !stopping(team)) {
        uint32_t word = odi_load_acquire(&pool->monitor_word, P3);

        quiet = tick(team) ? 0 : quiet + 1;
        rest(pool, word, odi_clock_after(TICK_NS));
    }
}

static bool is_off(odi_team *team)
{
    return odi_load_relaxed(&team->attention) & ODI_MONITOR_OFF; /* relaxed: S4's fence precedes it */
}

static void monitor_main(void *raw)
{
    od_pool *pool = raw;
    odi_team *team = &pool->team;

    odi_reader_join();
    while (!stopping(team)) {
        if (!is_off(team))
            watch(pool);
        uint32_t word = odi_load_acquire(&pool->monitor_word, P3);
        if (!is_off(team))
            disarm(team);
        while (!stopping(team) && is_off(team)) {
            odi_futex_wait(&pool->monitor_word, word, odi_timer_queue_stand_by(&team->timers));
            word = odi_load_acquire(&pool->monitor_word, P3);
            if (odi_team_is_due(team)) /* no thread checked in time: the monitor ticks until one does */
                odi_and_seqcst(&team->attention, ~(uint32_t)ODI_MONITOR_OFF, S4);
        }
    }
    odi_reader_leave();

    odi_lock_acquire(&team->lock);
    team->present--;
    pool->monitor_present = false;
    odi_add_relaxed(&team->departures, 1); /* relaxed: written and read under the lock */
    odi_futex_wake(&team->departures, 1 << 30);
    odi_lock_release_last(&team->lock); /* the pool may be freed from here on */
}

void odi_pool_wake_monitor(od_pool *pool)
{
    odi_add_release(&pool->monitor_word, 1, P3);
    odi_futex_wake(&pool->monitor_word, 1);
}

/* No monitor can start. A worker that began to block in between has checked for work without a fence and
 * relies on the monitor (worker/blocking.c). Submitters in between assumed an armed monitor. The fence makes
 * their jobs visible, and this thread checks for work and room in their place. The room is read under the
 * team's lock, so a worker that has begun to block either precedes this check or has seen the work. */
ODI_COLD static void do_without_monitor(odi_team *team)
{
    odi_or_seqcst(&team->attention, ODI_MONITOR_OFF, S4);
    odi_fence_heavy(S4);
    if (odi_team_has_work(team))
        (void)odi_team_start_one(team, &team->sites[0]);
}

/* Without a monitor, blocking that is not announced stays undetected; a later arming tries again. */
ODI_COLD static void start_failed(od_pool *pool)
{
    odi_team *team = &pool->team;

    odi_lock_acquire(&team->lock);
    pool->monitor_present = false;
    team->present--;
    team->next_monitor_ns = odi_clock_after(RETRY_NS);
    odi_lock_release(&team->lock);
    odi_add_relaxed(&team->start_failures, 1); /* relaxed: a counter */
    do_without_monitor(team);
}

/* Starts the monitor, or wakes it. */
static void call_monitor(od_pool *pool)
{
    odi_team *team = &pool->team;

    odi_lock_acquire(&team->lock);
    /* relaxed: a stop sets the flag under the lock after the last worker has left; it would not wait for a
     * new monitor */
    bool there = pool->monitor_present || odi_load_relaxed(&team->attention) & ODI_CANCELLING;
    bool starts = !there && (team->next_monitor_ns == 0 || odi_clock_now() >= team->next_monitor_ns);
    if (starts) {
        pool->monitor_present = true;
        team->present++;
    }
    odi_lock_release(&team->lock);
    if (there)
        odi_pool_wake_monitor(pool);
    else if (!starts)
        do_without_monitor(team);
    else if (odi_team_start_thread(team, monitor_main, pool, MONITOR_STACK, "od-monitor") != 0)
        start_failed(pool);
}

void odi_pool_stand_by(odi_team *team)
{
    call_monitor(team->pool);
}

void odi_pool_arm_monitor(odi_team *team)
{
    if (odi_and_seqcst(&team->attention, ~(uint32_t)ODI_MONITOR_OFF, S4) & ODI_MONITOR_OFF)
        call_monitor(team->pool); /* otherwise another thread has armed it */
}
