/* monitor.c — who submits while nobody is free arms the monitor, against its sleep (pool/monitor.c
 * as it is; the team that it looks at has no workers): work that waits is seen by somebody, and a
 * stop finds the monitor (S3, S4).
 */
#include "doubles/lock.h"

#include "doubles/machine.h"

#include "pool/monitor.c"

#include "worker/steal_fork.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/never.h"
#include "doubles/thread.h"

#include "model/scenario.h"
#include "reclaim/reclaim.h"

static od_pool pool;
static odi_site site;
static odi_atomic(bool) work;
static bool seen;

/* ---- the rest of the engine ---- */

bool odi_team_has_work(odi_team *team) { return odi_load_relaxed(&work); }
bool odi_team_seems_to_have_work(odi_team *team) { return odi_team_has_work(team); }

/* Somebody has seen it: the monitor may go. */
static void see(odi_team *team)
{
    seen = true;
    odi_or_seqcst(&team->attention, ODI_CANCELLING, none);
    odi_pool_wake_monitor(team->pool);
}

/* The monitor's: the submitter has its own below. */
void odi_team_publish_slow(odi_team *team, odi_site *from) { see(team); }

static void refresh(odi_team *team) {}

void (*odi_describe_waits_above)(od_pool *pool, char *text, size_t size);
void (*odi_let_on_above)(odi_team *team);

_Thread_local bool odi_woke_a_sleeper;

odi_signal odi_idle_signal(odi_idle *idle) { model_fail("nobody sleeps here"); }
void odi_team_counts_changed(odi_team *team) {}

/* As in worker/team.c. */
void odi_team_set_attention(odi_team *team, uint32_t bits, bool on)
{
    model_check(on);
    odi_or_seqcst(&team->attention, bits, S4);
}

bool odi_team_is_due(odi_team *team) { return false; }
int64_t odi_timer_queue_stand_by(odi_timer_queue *timers) { return ODI_FOREVER; }
enum { CPU_CLOCK = 7 };

int64_t odi_clock_cpu(int clock)
{
    model_check(clock == CPU_CLOCK);
    return 0;
}

int odi_thread_sleeps(int id) { return -1; }
void odi_idle_wake_all(odi_idle *idle) {}
void odi_reader_join(void) {}
void odi_reader_leave(void) {}

/* What a thief does but for running what it has. */
NEVER(odi_externals_excess)
NEVER(odi_team_has_no_thread_left)
NEVER(odi_externals_here)
NEVER(odi_externals_leave_room)
NEVER(odi_forks_ask)
NEVER(odi_forks_steal)
NEVER(odi_forks_visit)
NEVER(odi_forks_want)
NEVER(odi_read_begin)
NEVER(odi_read_end)
NEVER(odi_team_holds_forks)
NEVER(odi_team_nearest_site)
NEVER(odi_timer_queue_earliest)
NEVER(odi_timer_thread_call)
_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));
static unsigned stolen_ran;
void odi_forks_run(odi_forks *here, odi_forks *victim, od_fork_slot *slot) { stolen_ran++; }

static odi_atomic(bool) has_called;

/* By who cannot have a monitor: if there is a place. */
bool odi_team_start_one(odi_team *team, odi_site *from)
{
    odi_lock_acquire(&team->lock);
    bool starts = odi_load_relaxed(&team->attention) & ODI_CAN_START;
    odi_lock_release(&team->lock);
    if (starts)
        odi_store_relaxed(&has_called, true);
    return starts;
}

/* ---- threads ---- */

static void prepare(void)
{
    odi_team *team = &pool.team;

    team->pool = &pool;
    team->sites = &site; /* one that nobody sleeps at */
    team->refresh = refresh;
    team->present = 1;
    pool.monitor_present = true;
    odi_store_relaxed(&team->attention, ODI_MONITOR_OFF);
    model_hint(&team->attention, sizeof team->attention);
}

static void monitor(void) { monitor_main(&pool); }

/* As odi_team_publish does it where nobody is free. */
static void submitter(void)
{
    odi_store_relaxed(&work, true);
    odi_fence_light(S1);
    if (odi_load_relaxed(&pool.team.attention) & ODI_MONITOR_OFF)
        odi_pool_arm_monitor(&pool.team);
}

static void stopper(void)
{
    odi_or_seqcst(&pool.team.attention, ODI_CANCELLING, S4);
    odi_fence_heavy(S4);
    odi_pool_wake_monitor(&pool);
}

static void verify_seen(void)
{
    model_check(seen && odi_load_relaxed(&threads_started) == 0);
    model_check(pool.team.present == 0 && !pool.monitor_present);
}
/* No second one is started. */
MODEL_SCENARIO(monitor_is_armed, prepare, verify_seen, monitor, submitter)
MODEL_REACHES(monitor_is_armed, model_slept(0))

static void verify_gone(void)
{
    model_check(pool.team.present == 0 && odi_load_relaxed(&pool.team.departures) == 1);
}
MODEL_SCENARIO(monitor_is_stopped, prepare, verify_gone, monitor, stopper)
MODEL_REACHES(monitor_is_stopped, model_slept(0))

/* No monitor is to be had for now: a worker hands its place over without a fence (worker/blocking.c), against who
 * submits and finds nobody. */
static void prepare_without(void)
{
    prepare();
    pool.monitor_present = false;
    pool.team.next_monitor_ns = INT64_MAX;
}

static void gives_place(void)
{
    odi_lock_acquire(&pool.team.lock);
    odi_team_set_attention(&pool.team, ODI_CAN_START, true);
    odi_lock_release(&pool.team.lock);
    seen = odi_team_has_work(&pool.team);
}

static void verify_called(void) { model_check(seen || odi_load_relaxed(&has_called)); }
MODEL_SCENARIO(monitor_is_not_to_be_had, prepare_without, verify_called, submitter, gives_place)
MODEL_REACHES(monitor_is_not_to_be_had, seen, odi_load_relaxed(&has_called))

/* Whose job was taken by then. */
static void arms(void) { odi_pool_arm_monitor(&pool.team); }
MODEL_SCENARIO(monitor_is_not_to_be_had_by_another, prepare_without, verify_called, arms, submitter, gives_place)
MODEL_REACHES(monitor_is_not_to_be_had_by_another, seen, odi_load_relaxed(&has_called))

/* A monitor that has seen nothing for a while, and is turned off: who submits arms it again, or it sees the work. */
static void prepare_on(void)
{
    prepare();
    odi_store_relaxed(&pool.team.attention, 0);
}
static void disarms(void) { disarm(&pool.team); }
static void verify_seen_or_armed(void)
{
    model_check(seen || odi_load_relaxed(&pool.monitor_word) == 1);
}
MODEL_SCENARIO(monitor_is_turned_off, prepare_on, verify_seen_or_armed, disarms, submitter)
MODEL_REACHES(monitor_is_turned_off, seen, odi_load_relaxed(&pool.monitor_word) == 1 && !seen)

/* A worker is in a stolen fork: what the monitor needs to look at it is readable (W7). */
static odi_worker watched;
static doing looks_like;

static void prepare_watched(void)
{
    prepare();
    watched.team = &pool.team;
    watched.present = true;
}
static void runs_stolen(void)
{
    watched.cpu_clock = CPU_CLOCK; /* as it sets itself up */
    run_stolen(&watched);
}
static void looks(void) { looks_like = watch_worker(&watched, 0); }
static void verify_ran(void) { model_check(stolen_ran == 1 && odi_worker_activity(&watched) == 2); }
MODEL_SCENARIO(monitor_looks_at_a_thief, prepare_watched, verify_ran, runs_stolen, looks)
MODEL_REACHES(monitor_looks_at_a_thief, looks_like == FRESH, looks_like == IDLE)
