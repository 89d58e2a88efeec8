/* timer_queue.c — the timer queue of a team: arming, cancelling and firing entries, and the leader's and
 * monitor's sleep. Owners are called without a lock. */
#include "timer/timer_queue.h"

#include <stddef.h>

#include "observe/trace.h"
#include "os/pages.h"

/* A tick is 1024 ns; due times are rounded up to ticks, so that no timer is early. */
enum { TICK_SHIFT = 10, SLOT_BITS = 12 };
#define LAST_TICK ((uint64_t)INT64_MAX >> TICK_SHIFT)

/* The largest time that the leader's word can hold: about a hundred years. */
#define FARTHEST_TICK ((UINT64_C(1) << (64 - SLOT_BITS)) - 1)
#define SLOT_MASK ((UINT64_C(1) << SLOT_BITS) - 1)
#define NOBODY UINT64_C(0)

static uint64_t tick_at_or_after(int64_t ns)
{
    return ns <= 0 ? 0 : ((uint64_t)ns + (1u << TICK_SHIFT) - 1) >> TICK_SHIFT;
}

static uint64_t tick_before(int64_t ns)
{
    return ns <= 0 ? 0 : (uint64_t)ns >> TICK_SHIFT;
}

static int64_t time_of(uint64_t tick)
{
    return tick > LAST_TICK ? ODI_FOREVER : (int64_t)(tick << TICK_SHIFT);
}

/* ---- creation ---- */

bool odi_timer_queue_init(odi_timer_queue *timers, int wheels)
{
    timers->wheels = odi_pages_new((size_t)wheels * sizeof *timers->wheels, ODI_ANY_NODE);
    timers->count = timers->wheels != NULL ? wheels : 0;
    for (int i = 0; i < timers->count; i++)
        odi_store_relaxed(&timers->wheels[i].earliest, ODI_FOREVER); /* relaxed: not shared yet */
    odi_store_relaxed(&timers->standing_until, ODI_FOREVER); /* relaxed, both: not shared yet */
    odi_store_relaxed(&timers->leader, NOBODY);
    return timers->wheels != NULL;
}

void odi_timer_queue_free(odi_timer_queue *timers)
{
    if (timers->wheels != NULL)
        odi_pages_free(timers->wheels, (size_t)timers->count * sizeof *timers->wheels);
    timers->wheels = NULL;
}

void odi_timer_queue_forked(odi_timer_queue *timers)
{
    for (int i = 0; i < timers->count; i++) {
        odi_timer_wheel *wheel = &timers->wheels[i];
        uint32_t generation = wheel->generation + 1;

        *wheel = (odi_timer_wheel){.generation = generation};
        odi_store_relaxed(&wheel->earliest, ODI_FOREVER); /* relaxed: one thread exists */
    }
    /* relaxed, all: one thread exists */
    odi_store_relaxed(&timers->standing_until, ODI_FOREVER);
    odi_store_relaxed(&timers->leader, NOBODY);
    odi_store_relaxed(&timers->overdue, false);
}

/* ---- arming ---- */

/* Whether the wheel's next timer is now earlier. Lock held. relaxed, both: T1's fence follows for readers
 * that must know; others take it as a hint */
static bool comes_first(odi_timer_wheel *wheel)
{
    int64_t next = time_of(odi_wheel_next(&wheel->wheel));
    bool first = next < odi_load_relaxed(&wheel->earliest);

    if (first)
        odi_store_relaxed(&wheel->earliest, next);
    return first;
}

odi_armed odi_timer_queue_arm(odi_timer_queue *timers, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns)
{
    odi_timer_wheel *wheel = &timers->wheels[timer->site];
    odi_armed armed = ODI_ARM_REFUSED;

    if (ODI_UNLIKELY(!odi_timer_queue_is_used(timers)))
        odi_store_relaxed(&timers->used, true); /* relaxed: the lock and T1 follow */
    odi_lock_acquire(&wheel->lock);
    if (ODI_LIKELY(!wheel->closed && timer->state == ODI_TIMER_ENTRY_IDLE)) {
        odi_wheel_arm(&wheel->wheel, &timer->node, tick_at_or_after(due_ns),
                      tick_before(now_ns));
        timer->state = ODI_TIMER_ENTRY_ARMED;
        timer->generation = wheel->generation;
        /* A firing thread rechecks the wheel before it finishes, and `firing_until` bounds the time until
         * then. */
        armed = wheel->firing == 0 && comes_first(wheel) ? ODI_ARM_FIRST : ODI_ARM_LATER;
    }
    odi_lock_release(&wheel->lock);
    return armed;
}

bool odi_timer_queue_cancel(odi_timer_queue *timers, odi_timer_entry *timer)
{
    odi_timer_wheel *wheel = &timers->wheels[timer->site];

    odi_lock_acquire(&wheel->lock);
    bool armed = timer->state == ODI_TIMER_ENTRY_ARMED && timer->generation == wheel->generation;
    if (armed)
        odi_wheel_cancel(&wheel->wheel, &timer->node);
    timer->state = ODI_TIMER_ENTRY_CLOSED;
    odi_lock_release(&wheel->lock);
    return armed;
}

uint64_t odi_timer_queue_count(odi_timer_queue *timers)
{
    uint64_t count = 0;

    for (int i = 0; i < timers->count; i++) {
        odi_lock_acquire(&timers->wheels[i].lock);
        count += timers->wheels[i].wheel.count;
        odi_lock_release(&timers->wheels[i].lock);
    }
    return count;
}

int64_t odi_timer_queue_earliest(odi_timer_queue *timers)
{
    int64_t earliest = ODI_FOREVER;

    for (int i = 0; i < timers->count; i++) {
        /* relaxed: a hint, unless the caller has executed T1's fence */
        int64_t next = odi_load_relaxed(&timers->wheels[i].earliest);

        if (next < earliest)
            earliest = next;
    }
    return earliest;
}

/* ---- taking due timers ---- */

uint32_t odi_timer_queue_begin_firing(odi_timer_wheel *wheel, int64_t now_ns)
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

/* Ends a firing. Lock held. */
static void end_firing(odi_timer_wheel *wheel)
{
    wheel->firing = 0;
    /* relaxed: the caller watches behind T1's fence */
    odi_store_relaxed(&wheel->earliest, time_of(odi_wheel_next(&wheel->wheel)));
}

void odi_timer_queue_end_firing(odi_timer_wheel *wheel, uint32_t firing)
{
    odi_lock_acquire(&wheel->lock);
    if (wheel->firing == firing)
        end_firing(wheel);
    odi_lock_release(&wheel->lock);
}

/* Takes up to `most` entries that were due at `until_ns`. */
static int take(odi_timer_wheel *wheel, uint32_t firing, int64_t now_ns, int64_t until_ns, odi_timer_entry **due, int most)
{
    odi_wheel_node *node;
    int count = 0;

    odi_lock_acquire(&wheel->lock);
    if (wheel->firing == firing) {
        while (count < most && (node = odi_wheel_take(&wheel->wheel, tick_before(until_ns))) != NULL) {
            due[count] = (odi_timer_entry *)node;
            due[count++]->state = ODI_TIMER_ENTRY_IDLE;
            if (odi_traces())
                odi_trace(ODI_TRACE_TIMER, ODI_TRACE_NO_BAND, NULL, (uint64_t)(now_ns - time_of(node->tick)));
        }
        wheel->firing_until = now_ns + ODI_FIRING_NS;
        odi_store_relaxed(&wheel->earliest, wheel->firing_until); /* relaxed: as in end_firing */
        if (count == 0)
            end_firing(wheel);
    }
    odi_lock_release(&wheel->lock);
    return count;
}

int odi_timer_queue_take(odi_timer_wheel *wheel, uint32_t firing, int64_t now_ns,
                         odi_timer_entry *due[ODI_DUE_BATCH])
{
    return take(wheel, firing, now_ns, now_ns, due, ODI_DUE_BATCH);
}

odi_timer_entry *odi_timer_queue_take_late(odi_timer_wheel *wheel, uint32_t firing, int64_t now_ns)
{
    odi_timer_entry *late;

    return take(wheel, firing, now_ns, now_ns - ODI_LATE_NS, &late, 1) > 0 ? late : NULL;
}

/* Closes a wheel and returns its entries as a list. Lock held. */
static odi_wheel_node *close_wheel(odi_timer_wheel *wheel)
{
    odi_wheel_node *all = odi_wheel_empty(&wheel->wheel);

    wheel->closed = true;
    for (odi_wheel_node *node = all; node != NULL; node = node->next)
        ((odi_timer_entry *)node)->state = ODI_TIMER_ENTRY_IDLE; /* no later cancel finds it armed */
    odi_store_relaxed(&wheel->earliest, ODI_FOREVER); /* relaxed: a later time wakes no thread */
    return all;
}

void odi_timer_queue_close(odi_timer_queue *timers)
{
    for (int i = 0; i < timers->count; i++) {
        odi_timer_wheel *wheel = &timers->wheels[i];

        odi_lock_acquire(&wheel->lock);
        odi_wheel_node *node = close_wheel(wheel);
        odi_lock_release(&wheel->lock);
        while (node != NULL) {
            odi_timer_entry *timer = (odi_timer_entry *)node;

            node = node->next;
            timer->kind->dropped(timer);
        }
    }
}

/* ---- which thread checks the timers ---- */

static uint64_t kept_tick(int64_t until)
{
    uint64_t tick = tick_before(until);

    return tick < FARTHEST_TICK ? tick : FARTHEST_TICK;
}

static uint64_t kept(int64_t until, int slot)
{
    return kept_tick(until) << SLOT_BITS | (uint64_t)(slot + 1);
}

bool odi_timer_queue_leads(odi_timer_queue *timers, int slot)
{
    /* relaxed: only this worker writes its own number */
    return (odi_load_relaxed(&timers->leader) & SLOT_MASK) == (uint64_t)slot + 1;
}

int64_t odi_timer_queue_lead(odi_timer_queue *timers, int slot)
{
    int64_t until = odi_timer_queue_earliest(timers);
    uint64_t nobody = NOBODY;

    /* relaxed, all: T1's fence follows */
    if (odi_timer_queue_leads(timers, slot))
        odi_store_relaxed(&timers->leader, kept(until, slot));
    else if (odi_load_relaxed(&timers->leader) != NOBODY ||
             !odi_cas_relaxed(&timers->leader, &nobody, kept(until, slot)))
        return ODI_FOREVER;
    for (;;) {
        odi_fence_seqcst(T1);
        int64_t earliest = odi_timer_queue_earliest(timers);

        if (earliest >= until)
            return until;
        until = earliest;
        odi_store_relaxed(&timers->leader, kept(until, slot)); /* relaxed: T1's fence follows */
    }
}

void odi_timer_queue_leave(odi_timer_queue *timers, int slot)
{
    if (odi_timer_queue_leads(timers, slot))
        odi_store_relaxed(&timers->leader, NOBODY); /* relaxed: T1's fence is in watch */
}

static int64_t late_after(int64_t due)
{
    return due >= ODI_FOREVER - ODI_STAND_BY_LATE_NS ? ODI_FOREVER : due + ODI_STAND_BY_LATE_NS;
}

int64_t odi_timer_queue_stand_by(odi_timer_queue *timers)
{
    int64_t until = ODI_FOREVER, needed = late_after(odi_timer_queue_earliest(timers));

    do {
        until = needed;
        odi_store_relaxed(&timers->standing_until, until); /* relaxed: T1's fence follows */
        odi_fence_seqcst(T1);
        needed = late_after(odi_timer_queue_earliest(timers));
    } while (needed < until);
    return until;
}

odi_watching odi_timer_queue_watch(odi_timer_queue *timers, int *slot)
{
    odi_fence_seqcst(T1);
    int64_t earliest = odi_timer_queue_earliest(timers);
    uint64_t leader = odi_load_relaxed(&timers->leader); /* relaxed, both: T1's fence precedes it */

    *slot = (int)(leader & SLOT_MASK) - 1;
    if (leader != NOBODY)
        return leader >> SLOT_BITS > kept_tick(earliest) ? ODI_LEADER_LATE : ODI_WATCHED;
    return odi_load_relaxed(&timers->standing_until) > late_after(earliest) ? ODI_NOBODY_LOOKS
                                                                           : ODI_WATCHED;
}
