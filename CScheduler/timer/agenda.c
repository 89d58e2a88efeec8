#include "timer/agenda.h"

#include <stddef.h>

#include "os/pages.h"

/* A tick is 1024 ns; due times are rounded up to it, so that nothing comes early. */
enum { TICK_SHIFT = 10, SLOT_BITS = 12 };
#define LAST_TICK ((uint64_t)INT64_MAX >> TICK_SHIFT)

/* What the keeper's word can hold of a time: a hundred years. */
#define KEPT_FOR_EVER ((UINT64_C(1) << (64 - SLOT_BITS)) - 1)
#define SLOT_MASK ((UINT64_C(1) << SLOT_BITS) - 1)
#define NOBODY UINT64_C(0)

static uint64_t tick_at_or_after(int64_t ns)
{
    uint64_t tick = ns <= 0 ? 0 : ((uint64_t)ns + (1u << TICK_SHIFT) - 1) >> TICK_SHIFT;

    return tick < LAST_TICK ? tick : LAST_TICK;
}

static uint64_t tick_before(int64_t ns)
{
    return ns <= 0 ? 0 : (uint64_t)ns >> TICK_SHIFT;
}

static int64_t time_of(uint64_t tick)
{
    return tick > LAST_TICK ? ODI_FOREVER : (int64_t)(tick << TICK_SHIFT);
}

/* ---- life ---- */

bool odi_agenda_init(odi_agenda *agenda, int wheels)
{
    agenda->wheels = odi_pages_new((size_t)wheels * sizeof *agenda->wheels, ODI_ANY_NODE);
    agenda->count = agenda->wheels != NULL ? wheels : 0;
    for (int i = 0; i < agenda->count; i++)
        odi_store_relaxed(&agenda->wheels[i].earliest, ODI_FOREVER); /* relaxed: new */
    odi_store_relaxed(&agenda->standing_until, ODI_FOREVER); /* relaxed, both: new */
    odi_store_relaxed(&agenda->keeper, NOBODY);
    return agenda->wheels != NULL;
}

void odi_agenda_free(odi_agenda *agenda)
{
    if (agenda->wheels != NULL)
        odi_pages_free(agenda->wheels, (size_t)agenda->count * sizeof *agenda->wheels);
    agenda->wheels = NULL;
}

void odi_agenda_forked(odi_agenda *agenda)
{
    for (int i = 0; i < agenda->count; i++) {
        odi_agenda_wheel *wheel = &agenda->wheels[i];
        uint32_t life = wheel->life + 1;

        *wheel = (odi_agenda_wheel){.life = life};
        odi_store_relaxed(&wheel->earliest, ODI_FOREVER); /* relaxed: one thread exists */
    }
    /* relaxed, all: one thread exists */
    odi_store_relaxed(&agenda->standing_until, ODI_FOREVER);
    odi_store_relaxed(&agenda->keeper, NOBODY);
    odi_store_relaxed(&agenda->overdue, false);
}

/* ---- arming ---- */

/* Lock held. relaxed, both: T1's fence follows for who must know, the rest takes it as a hint */
static bool comes_first(odi_agenda_wheel *wheel)
{
    int64_t next = time_of(odi_wheel_next(&wheel->wheel));
    bool first = next < odi_load_relaxed(&wheel->earliest);

    if (first)
        odi_store_relaxed(&wheel->earliest, next);
    return first;
}

odi_armed odi_agenda_arm(odi_agenda *agenda, odi_alarm *alarm, int64_t due_ns, int64_t now_ns)
{
    odi_agenda_wheel *wheel = &agenda->wheels[alarm->site];
    odi_armed armed = ODI_ARM_REFUSED;

    if (ODI_UNLIKELY(!odi_agenda_is_used(agenda)))
        odi_store_relaxed(&agenda->used, true); /* relaxed: the lock and T1 come behind it */
    odi_lock_acquire(&wheel->lock);
    if (ODI_LIKELY(!wheel->closed && alarm->state == ODI_ALARM_IDLE)) {
        odi_wheel_arm(&wheel->wheel, &alarm->node, tick_at_or_after(due_ns),
                      tick_before(now_ns));
        alarm->state = ODI_ALARM_ARMED;
        alarm->life = wheel->life;
        /* Who fires looks again at the end, and says how long that may take. */
        armed = wheel->firing == 0 && comes_first(wheel) ? ODI_ARM_FIRST : ODI_ARM_LATER;
    }
    odi_lock_release(&wheel->lock);
    return armed;
}

bool odi_agenda_cancel(odi_agenda *agenda, odi_alarm *alarm)
{
    odi_agenda_wheel *wheel = &agenda->wheels[alarm->site];

    odi_lock_acquire(&wheel->lock);
    bool armed = alarm->state == ODI_ALARM_ARMED && alarm->life == wheel->life;
    if (armed)
        odi_wheel_cancel(&wheel->wheel, &alarm->node);
    alarm->state = ODI_ALARM_CLOSED;
    odi_lock_release(&wheel->lock);
    return armed;
}

uint64_t odi_agenda_count(odi_agenda *agenda)
{
    uint64_t count = 0;

    for (int i = 0; i < agenda->count; i++) {
        odi_lock_acquire(&agenda->wheels[i].lock);
        count += agenda->wheels[i].wheel.count;
        odi_lock_release(&agenda->wheels[i].lock);
    }
    return count;
}

int64_t odi_agenda_earliest(odi_agenda *agenda)
{
    int64_t earliest = ODI_FOREVER;

    for (int i = 0; i < agenda->count; i++) {
        /* relaxed: T1's fence, or a hint */
        int64_t next = odi_load_relaxed(&agenda->wheels[i].earliest);

        if (next < earliest)
            earliest = next;
    }
    return earliest;
}

/* ---- taking what is due ---- */

uint32_t odi_agenda_begin_firing(odi_agenda_wheel *wheel, int64_t now_ns)
{
    uint32_t firing = 0;

    if (odi_load_relaxed(&wheel->earliest) > now_ns) /* relaxed: a hint, locked below */
        return 0;
    odi_lock_acquire(&wheel->lock);
    if (!wheel->closed && (wheel->firing == 0 || wheel->firing_until <= now_ns)) {
        wheel->last_firing += wheel->last_firing == UINT32_MAX ? 2 : 1;
        firing = wheel->firing = wheel->last_firing;
        wheel->firing_until = now_ns + ODI_FIRING_NS;
    }
    odi_lock_release(&wheel->lock);
    return firing;
}

/* Lock held. */
static void end_firing(odi_agenda_wheel *wheel)
{
    wheel->firing = 0;
    /* relaxed: the caller watches behind T1's fence */
    odi_store_relaxed(&wheel->earliest, time_of(odi_wheel_next(&wheel->wheel)));
}

void odi_agenda_end_firing(odi_agenda_wheel *wheel, uint32_t firing)
{
    odi_lock_acquire(&wheel->lock);
    if (wheel->firing == firing)
        end_firing(wheel);
    odi_lock_release(&wheel->lock);
}

int odi_agenda_take(odi_agenda_wheel *wheel, uint32_t firing, int64_t now_ns,
                    odi_alarm *due[ODI_DUE_BATCH])
{
    odi_wheel_node *node;
    int count = 0;

    odi_lock_acquire(&wheel->lock);
    if (wheel->firing == firing) {
        while (count < ODI_DUE_BATCH &&
               (node = odi_wheel_take(&wheel->wheel, tick_before(now_ns))) != NULL) {
            due[count] = (odi_alarm *)node;
            due[count++]->state = ODI_ALARM_IDLE;
        }
        wheel->firing_until = now_ns + ODI_FIRING_NS;
        odi_store_relaxed(&wheel->earliest, wheel->firing_until); /* relaxed: as in end_firing */
        if (count == 0)
            end_firing(wheel);
    }
    odi_lock_release(&wheel->lock);
    return count;
}

/* Lock held. */
static odi_wheel_node *close_wheel(odi_agenda_wheel *wheel)
{
    odi_wheel_node *all = odi_wheel_empty(&wheel->wheel);

    wheel->closed = true;
    for (odi_wheel_node *node = all; node != NULL; node = node->next)
        ((odi_alarm *)node)->state = ODI_ALARM_IDLE; /* nobody cancels it any more */
    odi_store_relaxed(&wheel->earliest, ODI_FOREVER); /* relaxed: later, nobody wakes for it */
    return all;
}

void odi_agenda_close(odi_agenda *agenda)
{
    for (int i = 0; i < agenda->count; i++) {
        odi_agenda_wheel *wheel = &agenda->wheels[i];

        odi_lock_acquire(&wheel->lock);
        odi_wheel_node *node = close_wheel(wheel);
        odi_lock_release(&wheel->lock);
        while (node != NULL) {
            odi_alarm *alarm = (odi_alarm *)node;

            node = node->next;
            alarm->kind->dropped(alarm);
        }
    }
}

/* ---- who looks ---- */

static uint64_t kept_tick(int64_t until)
{
    uint64_t tick = tick_before(until);

    return tick < KEPT_FOR_EVER ? tick : KEPT_FOR_EVER;
}

static uint64_t kept(int64_t until, int slot)
{
    return kept_tick(until) << SLOT_BITS | (uint64_t)(slot + 1);
}

bool odi_agenda_keeps(odi_agenda *agenda, int slot)
{
    /* relaxed: nobody else writes the caller's own number */
    return (odi_load_relaxed(&agenda->keeper) & SLOT_MASK) == (uint64_t)slot + 1;
}

int64_t odi_agenda_keep(odi_agenda *agenda, int slot)
{
    int64_t until = odi_agenda_earliest(agenda);
    uint64_t nobody = NOBODY;

    /* relaxed, all: T1's fence follows */
    if (odi_agenda_keeps(agenda, slot))
        odi_store_relaxed(&agenda->keeper, kept(until, slot));
    else if (odi_load_relaxed(&agenda->keeper) != NOBODY ||
             !odi_cas_relaxed(&agenda->keeper, &nobody, kept(until, slot)))
        return ODI_FOREVER;
    for (;;) {
        odi_fence_seqcst(T1);
        int64_t earliest = odi_agenda_earliest(agenda);

        if (earliest >= until)
            return until;
        until = earliest;
        odi_store_relaxed(&agenda->keeper, kept(until, slot)); /* relaxed: T1's fence */
    }
}

void odi_agenda_leave(odi_agenda *agenda, int slot)
{
    if (odi_agenda_keeps(agenda, slot))
        odi_store_relaxed(&agenda->keeper, NOBODY); /* relaxed: T1's fence is in watch */
}

static int64_t late_after(int64_t due)
{
    return due >= ODI_FOREVER - ODI_STAND_BY_LATE_NS ? ODI_FOREVER : due + ODI_STAND_BY_LATE_NS;
}

int64_t odi_agenda_stand_by(odi_agenda *agenda)
{
    int64_t until = ODI_FOREVER, needed = late_after(odi_agenda_earliest(agenda));

    do {
        until = needed;
        odi_store_relaxed(&agenda->standing_until, until); /* relaxed: T1's fence follows */
        odi_fence_seqcst(T1);
        needed = late_after(odi_agenda_earliest(agenda));
    } while (needed < until);
    return until;
}

odi_watching odi_agenda_watch(odi_agenda *agenda, int *slot)
{
    odi_fence_seqcst(T1);
    int64_t earliest = odi_agenda_earliest(agenda);
    uint64_t keeper = odi_load_relaxed(&agenda->keeper); /* relaxed, both: T1's fence */

    if (earliest == ODI_FOREVER)
        return ODI_WATCHED;
    *slot = (int)(keeper & SLOT_MASK) - 1;
    if (keeper != NOBODY)
        return keeper >> SLOT_BITS > kept_tick(earliest) ? ODI_KEEPER_LATE : ODI_WATCHED;
    return odi_load_relaxed(&agenda->standing_until) > late_after(earliest) ? ODI_NOBODY_LOOKS
                                                                           : ODI_WATCHED;
}
