/* monitor.c — who submits while nobody is free arms the monitor, against its sleep (pool/monitor.c
 * as it is; the crew that it looks at has no workers): work that waits is seen by somebody, and a
 * stop finds the monitor (S3, S4).
 */
#include "doubles/lock.h"

#include "doubles/machine.h"

#include "pool/monitor.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/thread.h"

#include "model/scenario.h"
#include "reclaim/reclaim.h"

static od_pool pool;
static odi_site site;
static odi_atomic(bool) work;
static bool seen;

/* ---- the rest of the engine ---- */

bool odi_crew_has_work(odi_crew *crew)
{
    (void)crew;
    return odi_load_relaxed(&work);
}

/* Somebody has seen it: the monitor may go. */
static void see(odi_crew *crew)
{
    seen = true;
    odi_or_seqcst(&crew->attention, ODI_CANCELLING, none);
    odi_pool_wake_monitor(crew->pool);
}

/* The monitor's: the submitter has its own below. */
void odi_crew_publish_slow(odi_crew *crew, odi_site *from)
{
    (void)from;
    see(crew);
}

static void refresh(odi_crew *crew)
{
    (void)crew;
}

void (*odi_describe_waits_above)(od_pool *pool, char *text, size_t size);

_Thread_local bool odi_woke_a_sleeper;

odi_signal odi_idle_signal(odi_idle *idle)
{
    (void)idle;
    model_fail("nobody sleeps here");
}

void odi_crew_counts_changed(odi_crew *crew)
{
    (void)crew;
}

bool odi_crew_is_due(odi_crew *crew)
{
    (void)crew;
    return false;
}

int64_t odi_agenda_stand_by(odi_agenda *agenda)
{
    (void)agenda;
    return ODI_FOREVER;
}

int64_t odi_clock_cpu(int clock)
{
    (void)clock;
    return 0;
}

int odi_thread_sleeps(int id)
{
    (void)id;
    return -1;
}

void odi_idle_wake_all(odi_idle *idle)
{
    (void)idle;
}

void odi_reader_join(void)
{
}

void odi_reader_leave(void)
{
}

/* ---- threads ---- */

static void prepare(void)
{
    odi_crew *crew = &pool.crew;

    crew->pool = &pool;
    crew->sites = &site; /* one that nobody sleeps at */
    crew->refresh = refresh;
    crew->present = 1;
    pool.monitor_present = true;
    odi_store_relaxed(&crew->attention, ODI_MONITOR_OFF);
    model_hint(&crew->attention, sizeof crew->attention);
}

static void monitor(void)
{
    monitor_main(&pool);
}

/* As odi_crew_publish does it where nobody is free. */
static void submitter(void)
{
    odi_store_relaxed(&work, true);
    odi_fence_light(S1);
    if (odi_load_relaxed(&pool.crew.attention) & ODI_MONITOR_OFF)
        odi_pool_arm_monitor(&pool.crew);
}

static void stopper(void)
{
    odi_or_seqcst(&pool.crew.attention, ODI_CANCELLING, S4);
    odi_fence_heavy(S4);
    odi_pool_wake_monitor(&pool);
}

static void verify_seen(void)
{
    model_check(seen);
    model_check(pool.crew.present == 0 && !pool.monitor_present);
}
/* Where it has found the work by itself and gone, a new one is started. */
MODEL_SCENARIO(monitor_is_armed, prepare, verify_seen, monitor, submitter, model_started_thread)

static void verify_gone(void)
{
    model_check(pool.crew.present == 0 && odi_load_relaxed(&pool.crew.departures) == 1);
}
MODEL_SCENARIO(monitor_is_stopped, prepare, verify_gone, monitor, stopper)
