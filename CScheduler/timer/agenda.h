/* agenda.h — what a crew has to do when: a wheel per site, and who looks when the next is due.
 *
 * An alarm is armed, and then cancelled, taken when it is due, or dropped at a stop: one of
 * these, decided under its wheel's lock. No thread is the agenda's own. Of the workers that
 * sleep one is the *keeper*: it sleeps until the earliest alarm, the others for ever. While
 * nobody keeps, because the keeper got work, the pool's monitor *stands by*: it wakes
 * ODI_STAND_BY_LATE_NS after the earliest alarm at the latest, and sees to it that a worker
 * looks. With far alarms only, nobody wakes.
 *
 * States   of an alarm    IDLE -> ARMED     arm
 *                         ARMED -> IDLE     take (it is due), drop (a stop), fork's child
 *                         ARMED -> CLOSED   cancel: it was in time
 *                         IDLE -> CLOSED    cancel: arm refuses it from here on
 *          of the keeper  NOBODY -> (until, slot)   keep: a worker on its way to sleep
 *                         (until, slot) -> another  keep again, by the same worker
 *                         (until, slot) -> NOBODY   leave: it is awake
 *          of a wheel     open -> closed    close: at a stop, for good
 *                         idle -> firing    begin_firing; one thread at a time, so that what
 *                         is due starts in order. A firer that is not back in
 *                         ODI_FIRING_NS is not waited for any longer.
 *
 * Owns     armed alarms. Never knows jobs, workers beyond their numbers, or the clock.
 * Threads  anyone, but keep and leave: a worker about its own sleep; stand_by: the monitor.
 *
 * Edges    T1  arm <-> keep, stand_by   seq_cst fence   who arms sees how long they sleep, or
 *                                                       they see what is due
 *          K1  carries the wheels.
 *
 * How the keeper's sleep ends: by its deadline, by who arms something earlier
 * (odi_idle_rouse), or like every other sleep. The monitor's: by its deadline, by whoever
 * finds that neither a keeper nor the monitor will look in time, or as in monitor.c.
 */
#ifndef ODI_TIMER_AGENDA_H
#define ODI_TIMER_AGENDA_H

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

typedef struct odi_alarm odi_alarm;

/* What an alarm's owner does: neither is called under a lock. */
typedef struct {
    void (*due)(odi_alarm *alarm);     /* on a worker, at its time or after */
    void (*dropped)(odi_alarm *alarm); /* the pool has stopped: it will not come */
} odi_alarm_kind;

struct odi_alarm {
    odi_wheel_node node; /* first */
    const odi_alarm_kind *kind;
    uint32_t site;  /* whose wheel: chosen once */
    uint32_t life;  /* of the wheel that it is armed in; under the lock, like the state */
    enum { ODI_ALARM_IDLE, ODI_ALARM_ARMED, ODI_ALARM_CLOSED } state;
};

typedef struct {
    ODI_PAIR_ALIGNED odi_lock lock;
    uint32_t firing; /* who does: a number of its own; 0: nobody */
    uint32_t last_firing;
    uint32_t life; /* changes in a forked child: what was armed before is the parent's */
    bool closed;
    int64_t firing_until;
    odi_atomic(int64_t) earliest; /* nothing is due before; written under the lock */
    odi_wheel wheel;
} odi_agenda_wheel;

typedef struct {
    odi_agenda_wheel *wheels;
    int count;
    ODI_PAIR_ALIGNED odi_atomic(bool) used; /* something has been armed: never taken back */
    odi_atomic(bool) overdue;              /* workers look at the next job's end */
    odi_atomic(uint64_t) keeper;           /* until (52), slot + 1 (12); 0: nobody */
    odi_atomic(int64_t) standing_until;    /* when the monitor looks; ODI_FOREVER: it does not */
} odi_agenda;

/* False: memory is short. */
bool odi_agenda_init(odi_agenda *agenda, int wheels);
void odi_agenda_free(odi_agenda *agenda);

/* In a forked child: nothing is armed. */
void odi_agenda_forked(odi_agenda *agenda);

/* Every way to look at the agenda costs nothing before its first use. */
static inline bool odi_agenda_is_used(odi_agenda *agenda)
{
    return odi_load_relaxed(&agenda->used); /* relaxed: a hint; T1 for who must know */
}

typedef enum {
    ODI_ARM_REFUSED, /* the agenda or the alarm is closed: it will not come */
    ODI_ARM_LATER,   /* something else is due before it */
    ODI_ARM_FIRST    /* the caller sees to it that somebody looks in time (odi_agenda_watch) */
} odi_armed;

odi_armed odi_agenda_arm(odi_agenda *agenda, odi_alarm *alarm, int64_t due_ns, int64_t now_ns);

/* Closes the alarm. True: it was armed and is the caller's; false: it was not, or is just
 * being taken by who found it due. */
bool odi_agenda_cancel(odi_agenda *agenda, odi_alarm *alarm);

/* Nothing is due before this; ODI_FOREVER: nothing is armed. A hint unless a fence (T1) stands
 * before it. */
int64_t odi_agenda_earliest(odi_agenda *agenda);

/* How many alarms are armed. */
uint64_t odi_agenda_count(odi_agenda *agenda);

/* ---- taking what is due ---- */

/* 0: nothing is due in the wheel, or somebody else is at it. */
uint32_t odi_agenda_begin_firing(odi_agenda_wheel *wheel, int64_t now_ns);

/* Up to ODI_DUE_BATCH alarms that are due, in order. 0: that was all, and the firing is over
 * (or was taken over). */
int odi_agenda_take(odi_agenda_wheel *wheel, uint32_t firing, int64_t now_ns,
                    odi_alarm *due[ODI_DUE_BATCH]);

/* The caller fires no more, though something may be due: somebody else does. */
void odi_agenda_end_firing(odi_agenda_wheel *wheel, uint32_t firing);

/* Closes the agenda and drops what is armed. Once. Not under a lock. */
void odi_agenda_close(odi_agenda *agenda);

/* ---- who looks ---- */

/* The caller is about to sleep in `slot`. Returns until when; ODI_FOREVER also where somebody
 * else keeps. The futex word's value is read before. */
int64_t odi_agenda_keep(odi_agenda *agenda, int slot);

/* Whether the sleeper in `slot` is the keeper. */
bool odi_agenda_keeps(odi_agenda *agenda, int slot);

/* The caller is awake: it no longer keeps. (Before it runs anything it calls odi_agenda_watch.) */
void odi_agenda_leave(odi_agenda *agenda, int slot);

/* The monitor is about to sleep. Returns until when, at the latest. */
int64_t odi_agenda_stand_by(odi_agenda *agenda);

typedef enum {
    ODI_WATCHED,      /* somebody looks in time, or nothing is armed */
    ODI_KEEPER_LATE,  /* the keeper in `slot` sleeps too long: rouse it */
    ODI_NOBODY_LOOKS  /* nobody keeps, and the monitor sleeps too long */
} odi_watching;

odi_watching odi_agenda_watch(odi_agenda *agenda, int *slot);

#pragma GCC visibility pop

#endif
