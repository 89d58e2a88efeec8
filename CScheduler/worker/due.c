/* due.c — fires due timers on workers, and ensures that a thread checks the timer queue in time. */
#include "worker/due.h"

#include "os/clock.h"
#include "worker/recruit.h"
#include "worker/run.h"

/* The clock is read between two jobs after this many jobs. */
enum { LOOK_AT_CLOCK_EVERY = 16 };

/* A worker fires this many batches of timers, then searches for jobs. */
enum { MOST_BATCHES = 16 };

/* ---- a thread must check the timers ---- */

/* Wakes the leader, whose sleep ends too late. If the leader has changed, the new leader has seen the due
 * timer. */
static void rouse(odi_team *team, int slot)
{
    odi_lock_acquire(&team->lock); /* a worker changes its site under this lock */
    odi_worker *leader = odi_load_relaxed(&team->slots[slot]); /* relaxed: locked */
    odi_site *site = leader != NULL ? leader->site : NULL;
    odi_lock_release(&team->lock);
    if (site != NULL)
        odi_idle_rouse(&site->idle, slot);
}

/* Wakes a sleeper, which leads the timers if it finds no work, or relies on a searching worker. Starts a
 * worker if none is active. */
static bool some_worker_comes(odi_team *team, odi_site *site)
{
    const int *order = team->site_order[site - team->sites];

    for (int rank = 0; rank < team->site_count; rank++) {
        if (odi_idle_signal(&team->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return true;
    }
    odi_lock_acquire(&team->lock);
    bool none = team->active == 0;
    odi_lock_release(&team->lock);
    return none && odi_team_start_one(team, site);
}

void odi_team_watch_timers(odi_team *team, odi_site *site)
{
    int slot;

    if (ODI_LIKELY(!odi_timer_queue_is_used(&team->timers)))
        return;
    switch (odi_timer_queue_watch(&team->timers, &slot)) {
    case ODI_WATCHED:
        break;
    case ODI_LEADER_LATE:
        rouse(team, slot);
        break;
    case ODI_NOBODY_LOOKS:
        if (site == NULL || !some_worker_comes(team, site))
            team->stand_by(team);
    }
}

static odi_site *site_here(odi_team *team)
{
    odi_worker *worker = odi_worker_here(team);

    return worker != NULL ? worker->site : odi_team_site_here(team);
}

uint32_t odi_team_timer_site(odi_team *team, bool delivered)
{
    return (uint32_t)(delivered ? team->timers.count - 1 : site_here(team) - team->sites);
}

bool odi_team_arm(odi_team *team, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns)
{
    odi_armed armed = odi_timer_queue_arm(&team->timers, timer, due_ns, now_ns);

    if (ODI_UNLIKELY(armed == ODI_ARM_FIRST))
        odi_team_watch_timers(team, site_here(team));
    return armed != ODI_ARM_REFUSED;
}

/* ---- firing due timers ---- */

/* Fires one timer outside any queue: a previous timer may have begun a run in a wait. Returns false in a
 * forked child. */
static bool fire(odi_worker *worker, odi_timer_entry *timer)
{
    if (odi_worker_end_run(worker))
        timer->kind->due(timer);
    return odi_worker_self == worker;
}

/* Fires one wheel's due timers, at most MOST_BATCHES batches at a time. Jobs get their turn even if threads
 * arm timers faster than a worker fires them. */
static bool fire_wheel(odi_worker *worker, odi_timer_wheel *wheel, int64_t now)
{
    odi_timer_entry *due[ODI_DUE_BATCH];
    int count = 1;

    if (!odi_worker_end_run(worker)) /* first, because a waiter of the run's record may wait for a due timer */
        return false;
    uint32_t firing = odi_timer_queue_begin_firing(wheel, now);

    for (int batch = 0; firing != 0 && batch < MOST_BATCHES && count > 0; batch++) {
        count = odi_timer_queue_take(wheel, firing, now, due);
        for (int i = 0; i < count; i++) {
            if (!fire(worker, due[i]))
                return false;
        }
        now = odi_clock_now();
    }
    if (firing != 0 && count > 0) {
        odi_timer_queue_end_firing(wheel, firing);
        odi_store_relaxed(&worker->team->timers.overdue, true); /* relaxed: a hint */
    }
    return firing != 0;
}

void odi_worker_fire_due(odi_worker *worker)
{
    odi_team *team = worker->team;
    odi_timer_queue *timers = &team->timers;
    bool fired = false;

    if (ODI_LIKELY(!odi_timer_queue_is_used(timers)))
        return;
    int64_t now = odi_timer_queue_earliest(timers) == ODI_FOREVER ? 0 : odi_clock_now();
    for (int i = 0; i < timers->count && now > 0 && odi_worker_self == worker; i++)
        fired |= fire_wheel(worker, &timers->wheels[(worker->site_index + i) % timers->count], now);
    /* No other thread has looked after timers armed in between. A worker that is about to sleep does so
     * itself. */
    if (fired && odi_worker_self == worker)
        odi_team_watch_timers(team, NULL);
}

void odi_worker_pass_time(odi_worker *worker)
{
    odi_timer_queue *timers = &worker->team->timers;

    /* relaxed, both: hints */
    if (ODI_LIKELY(++worker->due_tick < LOOK_AT_CLOCK_EVERY &&
                   !odi_load_relaxed(&timers->overdue)))
        return;
    worker->due_tick = 0;
    odi_store_relaxed(&timers->overdue, false);
    odi_worker_fire_due(worker);
}

/* ---- sleeping ---- */

/* Whether the leader was woken only because an earlier timer was armed. */
static bool sleeps_on(odi_worker *worker, uint32_t *epoch)
{
    odi_timer_queue *timers = &worker->team->timers;

    if (!odi_timer_queue_leads(timers, worker->slot) ||
        !odi_idle_renew(&worker->site->idle, epoch))
        return false;
    /* relaxed: a thread that sets these flags then changes the epoch, which was read before */
    if (odi_load_relaxed(&worker->team->attention) & (ODI_SURPLUS | ODI_STOPPING) ||
        odi_load_relaxed(&worker->moves)) /* relaxed: as above */
        return false;
    int64_t earliest = odi_timer_queue_earliest(timers);

    return earliest == ODI_FOREVER || earliest > odi_clock_now();
}

void odi_worker_sleep(odi_worker *worker, uint32_t epoch)
{
    odi_timer_queue *timers = &worker->team->timers;
    odi_idle *idle = &worker->site->idle;

    do
        odi_idle_wait(idle, epoch, odi_timer_queue_lead(timers, worker->slot), worker->slot);
    while (sleeps_on(worker, &epoch));
    odi_timer_queue_leave(timers, worker->slot);
}
