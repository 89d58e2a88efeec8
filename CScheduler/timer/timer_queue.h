/* timer_queue.h — what a team has to do when: a wheel per site, and who looks when the next is due.
 *
 * A timer entry is armed, and then cancelled, taken when it is due, or dropped at a stop: one of
 * these, decided under its wheel's lock. No thread is the timer queue's own. Of the workers that
 * sleep one is the *leader*: it sleeps until the earliest timer entry, the others for ever. While
 * nobody leads, because the leader got work, the pool's monitor *stands by*: it wakes
 * ODI_STAND_BY_LATE_NS after the earliest timer entry at the latest, and sees to it that a worker
 * looks. With far timer entries only, nobody wakes.
 *
 * States   of a timer entry    IDLE -> ARMED     arm
 *                         ARMED -> IDLE     take (it is due), drop (a stop), fork's child
 *                         ARMED -> CLOSED   cancel: it was in time
 *                         IDLE -> CLOSED    cancel: arm refuses it from here on
 *          of the leader  NOBODY -> (until, slot)   lead: a worker on its way to sleep
 *                         (until, slot) -> another  lead again, by the same worker
 *                         (until, slot) -> NOBODY   leave: it is awake
 *          of a wheel     open -> closed    close: at a stop, for good
 *                         idle -> firing    begin_firing; one thread at a time, so that what
 *                         is due starts in order. Of a firer that is not back in
 *                         ODI_FIRING_NS whoever looks then takes over; nobody is
 *                         woken to look.
 *
 * Owns     armed timer entries. Never knows jobs, workers beyond their numbers, or the clock.
 * Threads  anyone, but lead and leave: a worker about its own sleep; stand_by: the monitor.
 *
 * Edges    T1  arm <-> lead, stand_by   seq_cst fence   who arms sees how long they sleep, or
 *                                                       they see what is due
 *          K1  carries the wheels.
 *
 * How the leader's sleep ends: by its deadline, by who arms something earlier
 * (odi_idle_rouse), or like every other sleep. The monitor's: by its deadline, by whoever
 * finds that neither a leader nor the monitor will look in time, or as in monitor.c.
 */
#ifndef ODI_TIMER_TIMER_QUEUE_H
#define ODI_TIMER_TIMER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/clock.h"
#include "os/futex.h"
#include "sleep/lock.h"
#include "timer/wheel.h"

#pragma GCC visibility push(hidden)

#define ODI_STAND_BY_LATE_NS (500 * ODI_MICROSECOND)
#define ODI_FIRING_NS (5 * ODI_MILLISECOND)
enum { ODI_DUE_BATCH = 32 };

typedef struct odi_timer_entry odi_timer_entry;

/* What a timer entry's owner does: neither is called under a lock. */
typedef struct {
    void (*due)(odi_timer_entry *timer);     /* on a worker, at its time or after */
    void (*dropped)(odi_timer_entry *timer); /* the pool has stopped: it will not come */
} odi_timer_entry_kind;

struct odi_timer_entry {
    odi_wheel_node node; /* first */
    const odi_timer_entry_kind *kind;
    uint32_t site;       /* whose wheel: chosen once */
    uint32_t generation; /* of the wheel that it is armed in; under the lock, like the state */
    enum { ODI_TIMER_ENTRY_IDLE, ODI_TIMER_ENTRY_ARMED, ODI_TIMER_ENTRY_CLOSED } state;
};

typedef struct {
    ODI_PAIR_ALIGNED odi_lock lock;
    uint32_t firing; /* who does: a number of its own; 0: nobody */
    uint32_t last_firing;
    uint32_t generation; /* changes in a forked child: what was armed before is the parent's */
    bool closed;
    int64_t firing_until;
    odi_atomic(int64_t) earliest; /* nothing is due before; written under the lock */
    odi_wheel wheel;
} odi_timer_wheel;

typedef struct {
    odi_timer_wheel *wheels;
    int count;
    ODI_PAIR_ALIGNED odi_atomic(bool) used; /* something has been armed: never taken back */
    odi_atomic(bool) overdue;              /* workers look at the next job's end */
    odi_atomic(uint64_t) leader;           /* until (52), slot + 1 (12); 0: nobody */
    odi_atomic(int64_t) standing_until;    /* when the monitor looks; ODI_FOREVER: it does not */
} odi_timer_queue;

/* False: memory is short. */
bool odi_timer_queue_init(odi_timer_queue *timers, int wheels);
void odi_timer_queue_free(odi_timer_queue *timers);

/* In a forked child: nothing is armed. */
void odi_timer_queue_forked(odi_timer_queue *timers);

/* Every way to look at the timer queue costs nothing before its first use. */
static inline bool odi_timer_queue_is_used(odi_timer_queue *timers)
{
    return odi_load_relaxed(&timers->used); /* relaxed: a hint; T1 for who must know */
}

typedef enum {
    ODI_ARM_REFUSED, /* the timer queue or the timer entry is closed: it will not come */
    ODI_ARM_LATER,   /* something else is due before it */
    ODI_ARM_FIRST    /* the caller sees to it that somebody looks in time (odi_timer_queue_watch) */
} odi_armed;

odi_armed odi_timer_queue_arm(odi_timer_queue *timers, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns);

/* Closes the timer entry. True: it was armed and is the caller's; false: it was not, or is just
 * being taken by who found it due. */
bool odi_timer_queue_cancel(odi_timer_queue *timers, odi_timer_entry *timer);

/* Nothing is due before this; ODI_FOREVER: nothing is armed. A hint unless a fence (T1) stands
 * before it. */
int64_t odi_timer_queue_earliest(odi_timer_queue *timers);

/* How many timer entries are armed. */
uint64_t odi_timer_queue_count(odi_timer_queue *timers);

/* ---- taking what is due ---- */

/* 0: nothing is due in the wheel, or somebody else is at it. */
uint32_t odi_timer_queue_begin_firing(odi_timer_wheel *wheel, int64_t now_ns);

/* Up to ODI_DUE_BATCH timer entries that are due, in order. 0: that was all, and the firing is over
 * (or was taken over). */
int odi_timer_queue_take(odi_timer_wheel *wheel, uint32_t firing, int64_t now_ns,
                         odi_timer_entry *due[ODI_DUE_BATCH]);

/* The caller fires no more, though something may be due: somebody else does. */
void odi_timer_queue_end_firing(odi_timer_wheel *wheel, uint32_t firing);

/* Closes the timer queue and drops what is armed. Once. Not under a lock. */
void odi_timer_queue_close(odi_timer_queue *timers);

/* ---- who looks ---- */

/* The caller is about to sleep in `slot`. Returns until when; ODI_FOREVER also where somebody
 * else leads. The futex word's value is read before. */
int64_t odi_timer_queue_lead(odi_timer_queue *timers, int slot);

/* Whether the sleeper in `slot` is the leader. */
bool odi_timer_queue_leads(odi_timer_queue *timers, int slot);

/* Whether a sleeper leads. A hint. */
static inline bool odi_timer_queue_is_led(odi_timer_queue *timers)
{
    return odi_load_relaxed(&timers->leader) != 0; /* relaxed: a hint */
}

/* The caller is awake: it no longer leads. (Before it runs anything it calls odi_timer_queue_watch.) */
void odi_timer_queue_leave(odi_timer_queue *timers, int slot);

/* The monitor is about to sleep. Returns until when, at the latest. */
int64_t odi_timer_queue_stand_by(odi_timer_queue *timers);

typedef enum {
    ODI_WATCHED,      /* somebody looks in time, or nothing is armed */
    ODI_LEADER_LATE,  /* the leader in `slot` sleeps too long: rouse it */
    ODI_NOBODY_LOOKS  /* nobody leads, and the monitor sleeps too long */
} odi_watching;

odi_watching odi_timer_queue_watch(odi_timer_queue *timers, int *slot);

#pragma GCC visibility pop

#endif
