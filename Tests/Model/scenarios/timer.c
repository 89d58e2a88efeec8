/* timer.c — who looks at the timer queue: arming against the leader on its way to sleep, against its
 * leaving, and against the monitor (timer/timer_queue.c, timer/wheel.c, worker/due.c, sleep/idle.c).
 *
 * A timer entry is near or far. A sleep until a near one ends by itself; a sleep that lasts longer
 * while a near one is armed is a lost wake-up, and is seen as a thread asleep at the end.
 */
#include "doubles/lock.h"

#include "sleep/idle.c"

#include "timer/timer_queue.c"
#include "timer/wheel.c"

#include "doubles/never.h"
#include "doubles/pages.h"
#include "model/scenario.h"
#include "os/membarrier.h"
#include "worker/due.c"

enum { NEAR = 2048, FAR = 1 << 30, LATE_FOR_NEAR = NEAR + ODI_STAND_BY_LATE_NS };

_Thread_local odi_worker *odi_worker_self;
static odi_team team;
static odi_site site;
static odi_timer_wheel wheel;
static odi_worker worker;
static odi_atomic(odi_worker *) slots[1];
static const int order[1][ODI_MOST_SITES];
static odi_atomic(uint32_t) monitor_word;
static odi_timer_entry near_timer, far_timer;

/* ---- the machine ---- */

/* Nothing near is in the future. */
int64_t odi_clock_now(void) { return LATE_FOR_NEAR; }

odi_futex_result odi_futex_wait_as(odi_atomic(uint32_t) *word, uint32_t expected,
                                   int64_t deadline_ns, uint32_t name)
{
    if (deadline_ns <= LATE_FOR_NEAR)
        return ODI_FUTEX_TIMED_OUT;
    return model_futex_wait(word, expected, name) ? ODI_FUTEX_WOKEN : ODI_FUTEX_CHANGED;
}

int odi_futex_wake_named(odi_atomic(uint32_t) *word, int count, uint32_t names)
{
    return model_futex_wake(word, count, names);
}

int odi_futex_wake(odi_atomic(uint32_t) *word, int count)
{
    return model_futex_wake(word, count, UINT32_MAX);
}

/* ---- the rest of the engine ---- */

bool odi_worker_end_run(odi_worker *of)
{
    (void)of; /* no job has run */
    return true;
}

NEVER(odi_team_nearest_site)
NEVER(odi_team_start_one)

static void stand_by(odi_team *whose)
{
    odi_add_release(&monitor_word, 1, none);
    odi_futex_wake(&monitor_word, 1);
}

/* ---- threads ---- */

static const odi_timer_entry_kind kind;

static void prepare(void)
{
    odi_idle_init(&site.idle, UINT32_MAX); /* the epoch rolls over with the first change */
    team.sites = &site;
    team.site_count = 1;
    team.site_order = order;
    team.active = 1;
    team.slots = slots;
    team.stand_by = stand_by;
    worker.team = &team;
    worker.site = &site;
    odi_store_relaxed(&slots[0], &worker);
    team.timers.wheels = &wheel;
    team.timers.count = 1;
    odi_store_relaxed(&wheel.earliest, ODI_FOREVER);
    odi_store_relaxed(&team.timers.standing_until, ODI_FOREVER);
    near_timer.kind = far_timer.kind = &kind;
    model_hint(&site.idle.state, sizeof site.idle.state); /* rechecked by a CAS */
    model_hint(&site.idle.asleep, sizeof site.idle.asleep);
    model_hint(&wheel.earliest, sizeof wheel.earliest);   /* rechecked behind T1 */
    model_hint(&team.timers.leader, sizeof team.timers.leader);
    model_hint(&team.timers.standing_until, sizeof team.timers.standing_until);
    model_hint(&team.timers.used, sizeof team.timers.used);
}

static void arm_near(void) { (void)odi_team_arm(&team, &near_timer, NEAR, 0); }

/* As worker/run_loop.c parks. */
static void sleep_once(void)
{
    uint32_t epoch = odi_idle_announce(&site.idle, false);

    odi_fence_heavy(S1);
    odi_worker_sleep(&worker, epoch);
    (void)odi_idle_leave(&site.idle);
}

MODEL_SCENARIO(arm_against_keep, prepare, NULL, arm_near, sleep_once)
MODEL_REACHES(arm_against_keep, model_slept(1))

/* The leader sleeps until something far, or is about to. */
static void prepare_far(void)
{
    prepare();
    (void)odi_timer_queue_arm(&team.timers, &far_timer, FAR, 0);
}
MODEL_SCENARIO(arm_sooner_against_keep, prepare_far, NULL, arm_near, sleep_once)
MODEL_REACHES(arm_sooner_against_keep, model_slept(1))

/* The leader has got work and leaves. From then on it is the monitor's to look. */
static void prepare_kept(void)
{
    prepare_far();
    (void)odi_timer_queue_lead(&team.timers, worker.slot);
}
static void leader_gets_work(void)
{
    odi_timer_queue_leave(&team.timers, worker.slot);
    odi_team_watch_timers(&team, NULL);
}
static void monitor(void)
{
    int64_t until;

    do {
        uint32_t word = odi_load_acquire(&monitor_word, none);

        until = odi_timer_queue_stand_by(&team.timers);
        odi_futex_wait_as(&monitor_word, word, until, UINT32_MAX);
    } while (until > LATE_FOR_NEAR);
}
MODEL_SCENARIO(arm_against_leave, prepare_kept, NULL, arm_near, leader_gets_work, monitor)
MODEL_REACHES(arm_against_leave, model_slept(2))

/* Nobody leads, and the only worker is in a job. */
MODEL_SCENARIO(arm_against_stand_by, prepare_far, NULL, arm_near, monitor)
MODEL_REACHES(arm_against_stand_by, model_slept(1))

/* Who looked in time for something near that somebody else took sleeps on, for longer: who arms
 * meanwhile may still find the word of before. */
static void prepare_again(void)
{
    prepare_far();
    odi_store_relaxed(&team.timers.leader, kept(NEAR, worker.slot));
    odi_store_relaxed(&team.timers.standing_until, LATE_FOR_NEAR);
}
MODEL_SCENARIO(arm_against_keep_again, prepare_again, NULL, arm_near, sleep_once)
MODEL_REACHES(arm_against_keep_again, model_slept(1))

static void prepare_stand_again(void)
{
    prepare_again();
    odi_store_relaxed(&team.timers.leader, NOBODY);
}
MODEL_SCENARIO(arm_against_stand_again, prepare_stand_again, NULL, arm_near, monitor)
MODEL_REACHES(arm_against_stand_again, model_slept(1))

/* Two threads arm. */
static odi_timer_entry nearer_timer;
static void arm_nearer(void)
{
    nearer_timer.kind = &kind;
    (void)odi_team_arm(&team, &nearer_timer, NEAR / 2, 0);
}
static void verify_two(void)
{
    model_check(odi_timer_queue_earliest(&team.timers) == NEAR / 2);
    model_check(odi_timer_queue_count(&team.timers) == 2);
}
MODEL_SCENARIO(two_arm_against_keep, prepare, verify_two, arm_near, arm_nearer, sleep_once)
MODEL_REACHES(two_arm_against_keep, model_slept(2))

/* The leader that sleeps until something far is called away for another reason (S3). */
static void call_away(void)
{
    odi_or_seqcst(&team.attention, ODI_SURPLUS, S4); /* as odi_team_set_target does */
    odi_idle_wake_all(&site.idle);
}
static void sleep_unless_called(void)
{
    uint32_t epoch = odi_idle_announce(&site.idle, false);

    odi_fence_heavy(S1);
    if (!(odi_load_relaxed(&team.attention) & ODI_SURPLUS))
        odi_worker_sleep(&worker, epoch);
    (void)odi_idle_leave(&site.idle);
}
MODEL_SCENARIO(leader_is_called_away, prepare_far, NULL, call_away, sleep_unless_called)
MODEL_REACHES(leader_is_called_away, model_slept(1), model_met(1, "odi_idle_renew") > 0)
