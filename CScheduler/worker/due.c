#include "worker/due.h"

#include "os/clock.h"
#include "worker/run.h"

/* The clock is read between two jobs after so many of them. */
enum { LOOK_AT_CLOCK_EVERY = 16 };

/* A worker fires so many batches, then looks for jobs. */
enum { MOST_BATCHES = 16 };

/* ---- somebody looks ---- */

/* The keeper sleeps too long. If it is another one by now, that one has seen what is due. */
static void rouse(odi_crew *crew, int slot)
{
    odi_lock_acquire(&crew->lock); /* a worker changes its site under it */
    odi_worker *keeper = odi_load_relaxed(&crew->slots[slot]); /* relaxed: locked */
    odi_site *site = keeper != NULL ? keeper->site : NULL;
    odi_lock_release(&crew->lock);
    if (site != NULL)
        odi_idle_rouse(&site->idle, slot);
}

void odi_crew_mind_agenda(odi_crew *crew)
{
    int slot;

    if (ODI_LIKELY(!odi_agenda_is_used(&crew->agenda)))
        return;
    switch (odi_agenda_watch(&crew->agenda, &slot)) {
    case ODI_WATCHED:
        break;
    case ODI_KEEPER_LATE:
        rouse(crew, slot);
        break;
    case ODI_NOBODY_LOOKS:
        crew->stand_by(crew);
    }
}

/* Wakes a sleeper, which will keep when it finds nothing else, or leaves it to who searches. */
static bool some_worker_comes(odi_crew *crew, odi_site *site)
{
    const int *order = crew->site_order[site - crew->sites];

    for (int rank = 0; rank < crew->site_count; rank++) {
        if (odi_idle_signal(&crew->sites[order[rank]].idle) != ODI_SIGNAL_NOBODY)
            return true;
    }
    odi_lock_acquire(&crew->lock);
    bool none = crew->active == 0;
    odi_lock_release(&crew->lock);
    return none && odi_crew_start_one(crew, site);
}

void odi_crew_watch_agenda(odi_crew *crew, odi_site *site)
{
    int slot;

    if (ODI_LIKELY(!odi_agenda_is_used(&crew->agenda)))
        return;
    switch (odi_agenda_watch(&crew->agenda, &slot)) {
    case ODI_WATCHED:
        break;
    case ODI_KEEPER_LATE:
        rouse(crew, slot);
        break;
    case ODI_NOBODY_LOOKS:
        if (!some_worker_comes(crew, site))
            crew->stand_by(crew);
    }
}

static odi_site *site_here(odi_crew *crew)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->crew == crew ? worker->site : odi_crew_site_here(crew);
}

uint32_t odi_crew_alarm_site(odi_crew *crew)
{
    return (uint32_t)(site_here(crew) - crew->sites);
}

bool odi_crew_arm(odi_crew *crew, odi_alarm *alarm, int64_t due_ns, int64_t now_ns)
{
    odi_armed armed = odi_agenda_arm(&crew->agenda, alarm, due_ns, now_ns);

    if (ODI_UNLIKELY(armed == ODI_ARM_FIRST))
        odi_crew_watch_agenda(crew, site_here(crew));
    return armed != ODI_ARM_REFUSED;
}

/* ---- taking what is due ---- */

bool odi_crew_is_due(odi_crew *crew)
{
    if (ODI_LIKELY(!odi_agenda_is_used(&crew->agenda)))
        return false;
    int64_t earliest = odi_agenda_earliest(&crew->agenda);

    return earliest != ODI_FOREVER && earliest <= odi_clock_now();
}

/* What is due runs inside of no queue: where memory is short, the one before has begun a run. False: this is a
 * forked child by now. */
static bool fire(odi_worker *worker, odi_alarm *alarm)
{
    if (odi_worker_end_run(worker))
        alarm->kind->due(alarm);
    return odi_worker_self == worker;
}

/* Jobs come between, where others arm what is due faster than one worker fires it. */
static bool fire_wheel(odi_worker *worker, odi_agenda_wheel *wheel, int64_t now)
{
    odi_alarm *due[ODI_DUE_BATCH];
    int count = 1;

    if (!odi_worker_end_run(worker)) /* first: what that tells may wait for one that is due */
        return false;
    uint32_t firing = odi_agenda_begin_firing(wheel, now);

    for (int batch = 0; firing != 0 && batch < MOST_BATCHES && count > 0; batch++) {
        count = odi_agenda_take(wheel, firing, now, due);
        for (int i = 0; i < count; i++) {
            if (!fire(worker, due[i]))
                return false;
        }
        now = odi_clock_now();
    }
    if (firing != 0 && count > 0) {
        odi_agenda_end_firing(wheel, firing);
        odi_store_relaxed(&worker->crew->agenda.overdue, true); /* relaxed: a hint */
    }
    return firing != 0;
}

void odi_worker_fire_due(odi_worker *worker)
{
    odi_crew *crew = worker->crew;
    odi_agenda *agenda = &crew->agenda;
    bool fired = false;

    if (ODI_LIKELY(!odi_agenda_is_used(agenda)))
        return;
    int64_t now = odi_agenda_earliest(agenda) == ODI_FOREVER ? 0 : odi_clock_now();
    for (int i = 0; i < agenda->count && now > 0 && odi_worker_self == worker; i++)
        fired |= fire_wheel(worker, &agenda->wheels[(worker->site_index + i) % agenda->count], now);
    /* What was armed meanwhile nobody else has looked after. Who is about to sleep will. */
    if (fired && odi_worker_self == worker)
        odi_crew_mind_agenda(crew);
}

void odi_worker_pass_time(odi_worker *worker)
{
    odi_agenda *agenda = &worker->crew->agenda;

    /* relaxed, both: hints */
    if (ODI_LIKELY(++worker->due_tick < LOOK_AT_CLOCK_EVERY &&
                   !odi_load_relaxed(&agenda->overdue)))
        return;
    worker->due_tick = 0;
    odi_store_relaxed(&agenda->overdue, false);
    odi_worker_fire_due(worker);
}

/* ---- sleeping ---- */

/* Whether the keeper was roused for something that is due sooner, and nothing else. */
static bool sleeps_on(odi_worker *worker, uint32_t *epoch)
{
    odi_agenda *agenda = &worker->crew->agenda;

    if (!odi_agenda_keeps(agenda, worker->slot) ||
        !odi_idle_renew(&worker->site->idle, epoch))
        return false;
    /* relaxed: who sets these changes the epoch afterwards, which was read before */
    if (odi_load_relaxed(&worker->crew->attention) & (ODI_SURPLUS | ODI_STOPPING) ||
        odi_load_relaxed(&worker->moves)) /* relaxed: likewise */
        return false;
    int64_t earliest = odi_agenda_earliest(agenda);

    return earliest == ODI_FOREVER || earliest > odi_clock_now();
}

void odi_worker_sleep(odi_worker *worker, uint32_t epoch)
{
    odi_agenda *agenda = &worker->crew->agenda;
    odi_idle *idle = &worker->site->idle;

    do
        odi_idle_wait(idle, epoch, odi_agenda_keep(agenda, worker->slot), worker->slot);
    while (sleeps_on(worker, &epoch));
    odi_agenda_leave(agenda, worker->slot);
}
