/* monitor.c — notices workers that sleep in the kernel inside a job while work waits.
 *
 * One thread, started when first needed. It ticks only while work waits and nobody is free
 * to take it; otherwise it sleeps without a deadline, and a submitter that finds nobody to
 * wake arms it.
 *
 * A worker is taken for blocked when between two ticks it finished no job, used next to no
 * CPU time, and the kernel says that it sleeps. Each blocked worker allows one spare. While
 * nobody computes, the number of spares doubles with every tick, so that a burst of blocking
 * jobs is through in a logarithmic number of them.
 *
 * While no worker sleeps until the earliest timer entry is due (timer/timer_queue.h), it does, and some
 * more; if it finds that nobody has looked, the timer entry is work that waits. If timers of the pool are
 * delivered elsewhere, it calls the timer thread too (timer_thread.c). The monitor itself fires none.
 *
 * How its waits end: arm_monitor, stand_by, odi_pool_wake_monitor (stop), the tick's deadline,
 * or the timer queue's.
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

/* A thread that used less than this share of a tick was not computing. */
enum { IDLE_SHARE = 16 };

/* What a worker has been doing since the last tick. */
typedef enum {
    ABSENT,    /* it has no thread, or sits on the bench */
    IDLE,      /* it is between jobs */
    FRESH,     /* it has begun its job since: too early to tell */
    COMPUTING, /* it used the CPU, or finished several jobs */
    WAITING,   /* it says so: counted by itself */
    QUIET,     /* it did not: the kernel knows whether it sleeps */
    BLOCKED    /* it slept in the kernel, in one job */
} doing;

/* Lock held. Without the question to the kernel, which takes its time. */
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
    /* relaxed, both: hints. Another worker would only stand in line for the same lock. */
    if (odi_load_relaxed(&worker->sleeps_for_lock))
        return IDLE;
    if (odi_load_relaxed(&worker->says_blocking))
        return WAITING;
    return QUIET;
}

/* The kernel is asked without the lock, for that takes its time; unknown (no descriptor to be had) is taken for
 * asleep: the clock has said so. Of a thread that has ended meanwhile it knows nothing, and a worker that has gone on
 * meanwhile is not asked after. */
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

/* Adjusts the number of spares to what the workers are doing. Lock held. */
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
    odi_warn("pool \"%s\" is stuck: closures are pending, but every thread waits (%d threads, %d spares at most). Raise "
             "spareWorkers, or OVERDRIVE_SPARES for the shared scheduler%s.",
             team->name, threads, team->spare_cap, who);
}

/* For a second all of its threads have waited while work did: no more are to be had, and what they wait for may be
 * just that. Said once, until one of them goes on. */
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

/* Workers that wait for room in a queue may be those that the queue itself waits for. */
static void let_submitters_on(odi_team *team, const int *count, bool work_waits)
{
    bool all_others_wait;

    if (work_waits && count[WAITING] > 0 && count[IDLE] + count[FRESH] + count[COMPUTING] == 0 &&
        odi_let_on_above != NULL && odi_team_has_no_thread_left(team, &all_others_wait))
        odi_let_on_above(team);
}

static bool stopping(odi_team *team)
{
    return odi_load_relaxed(&team->attention) & ODI_CANCELLING; /* relaxed: woken after it */
}

/* Whether a timer that needs no worker is late, perhaps, and no worker sleeps until it is due. */
static bool wants_timer_thread(od_pool *pool)
{
    odi_timer_queue *timers = &pool->team.timers;

    /* relaxed: a hint, asked again every tick */
    return odi_load_relaxed(&pool->delivers) && !odi_timer_queue_is_led(timers) &&
           odi_timer_queue_earliest(timers) <= odi_clock_now() - ODI_STAND_BY_LATE_NS;
}

/* Something is due, and nobody who sleeps has looked: workers do at their next job's end, and
 * one more is woken or started. */
static void see_to_what_is_due(odi_team *team)
{
    if (!odi_team_is_due(team))
        return;
    odi_store_relaxed(&team->timers.overdue, true); /* relaxed: a hint */
    odi_team_publish(team, &team->sites[0]);
    if (ODI_UNLIKELY(wants_timer_thread(team->pool)))
        odi_timer_thread_call(team->pool);
}

/* One look at the team. Returns whether there was a reason to look. */
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
        /* Not for forks alone that nobody may come to, as external threads keep the team full. */
        if (odi_team_seems_to_have_work(team))
            odi_team_publish(team, &team->sites[0]);
        see_to_what_is_due(team);
    }
    team->refresh(team);
    return work_waits;
}

/* Nothing waits: the spares go, and submitters must call again. */
static void disarm(odi_team *team)
{
    odi_lock_acquire(&team->lock);
    team->allowance = 0;
    odi_team_counts_changed(team);
    odi_lock_release(&team->lock);
    for (int site = 0; site < team->site_count; site++) {
        if (odi_load_relaxed(&team->attention) & ODI_SURPLUS) /* relaxed: our own change */
            odi_idle_wake_all(&team->sites[site].idle);
    }
    odi_or_seqcst(&team->attention, ODI_MONITOR_OFF, S4);
    odi_fence_heavy(S4);
    /* What was published before the flag could be seen is found here. */
    if (odi_team_has_work(team))
        odi_team_publish(team, &team->sites[0]);
}

/* Sleeps to the next tick. A timer entry that is due before is looked at before. */
static void rest(od_pool *pool, uint32_t word, int64_t until)
{
    odi_team *team = &pool->team;
    int64_t due = odi_timer_queue_stand_by(&team->timers);

    if (due < until &&
        odi_futex_wait(&pool->monitor_word, word, due) == ODI_FUTEX_TIMED_OUT)
        see_to_what_is_due(team);
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
    return odi_load_relaxed(&team->attention) & ODI_MONITOR_OFF; /* relaxed: S4 */
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
            if (odi_team_is_due(team)) /* nobody looked in time: it watches until somebody does */
                odi_and_seqcst(&team->attention, ~(uint32_t)ODI_MONITOR_OFF, S4);
        }
    }
    odi_reader_leave();

    odi_lock_acquire(&team->lock);
    team->present--;
    pool->monitor_present = false;
    odi_add_relaxed(&team->departures, 1); /* relaxed: locked, as is who looks at what it stands for */
    odi_futex_wake(&team->departures, 1 << 30);
    odi_lock_release_last(&team->lock); /* the pool may be freed from here on */
}

void odi_pool_wake_monitor(od_pool *pool)
{
    odi_add_release(&pool->monitor_word, 1, P3);
    odi_futex_wake(&pool->monitor_word, 1);
}

/* There is no monitor to be had. A worker that began to block meanwhile has looked for what waits without a fence,
 * and counts on one (worker/blocking.c): who armed it looks for both. Who has submitted meanwhile took the monitor
 * for armed; the fence shows what that was. The place is asked for under the team's lock, where a worker that has
 * handed one over comes before, or has seen the same. */
ODI_COLD static void do_without_monitor(odi_team *team)
{
    odi_or_seqcst(&team->attention, ODI_MONITOR_OFF, S4);
    odi_fence_heavy(S4);
    if (odi_team_has_work(team))
        (void)odi_team_start_one(team, &team->sites[0]);
}

/* Without a monitor foreign blocking goes unnoticed; a later arming tries again. */
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
    /* relaxed: a stop that has seen the last worker leave sets it under the lock: nobody would see the monitor leave */
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
    else if (odi_thread_start(monitor_main, pool, MONITOR_STACK, "od-monitor") != 0)
        start_failed(pool);
}

void odi_pool_stand_by(odi_team *team)
{
    call_monitor(team->pool);
}

void odi_pool_arm_monitor(odi_team *team)
{
    if (odi_and_seqcst(&team->attention, ~(uint32_t)ODI_MONITOR_OFF, S4) & ODI_MONITOR_OFF)
        call_monitor(team->pool); /* nobody else was faster */
}
