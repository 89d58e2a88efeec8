/* timer_queue.h — a team's timers: a wheel per site, a wheel for timers that are delivered elsewhere, and the
 * rule that decides which thread checks them in time.
 *
 * A timer entry is armed, and then either cancelled, taken when due, or dropped at a stop, as decided under
 * its wheel's lock. The timer queue has no thread. One of the sleeping workers is the *leader*. It sleeps
 * until the earliest timer, the others without a deadline. While no worker leads, because the leader got
 * work, the pool's monitor *stands by*. It wakes at most ODI_STAND_BY_LATE_NS after the earliest timer and
 * ensures that a worker checks. If all timers are far away, no thread wakes.
 *
 * States   of a timer entry    IDLE -> ARMED     arm
 *                         ARMED -> IDLE     take (it is due), drop (a stop), a forked child
 *                         ARMED -> CLOSED   cancel, in time
 *                         IDLE -> CLOSED    cancel; later arms are refused
 *          of the leader  NOBODY -> (until, slot)   lead: a worker before its sleep
 *                         (until, slot) -> another  lead again, by this worker
 *                         (until, slot) -> NOBODY   leave: it is awake
 *          of a wheel     open -> closed    close: at a stop, permanently
 *                         idle -> firing    begin_firing: one thread at a time, so that due timers
 *                         start in order. If it does not return within ODI_FIRING_NS, the next
 *                         thread that checks takes over; no thread is woken for this.
 *
 * Owns     armed timer entries. Never knows jobs, workers beyond their numbers, or the clock.
 * Threads  any thread; lead and leave: a worker for its own sleep; stand_by: the monitor.
 *
 * Edges    T1  arm <-> lead, stand_by   seq_cst fence   the arming thread sees how long they sleep,
 *                                                       or they see the timer
 *          K1  orders accesses to the wheels.
 *
 * The leader's sleep ends at its deadline, by a thread that arms an earlier timer (odi_idle_rouse), or like
 * any other sleep. The monitor's ends at its deadline, by a thread that finds that neither leader nor monitor
 * will check in time, or as in monitor.c.
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
#define ODI_LATE_NS (5 * ODI_MILLISECOND)
enum { ODI_DUE_BATCH = 32 };

typedef struct odi_timer_entry odi_timer_entry;

/* Functions of a timer entry's owner; no lock is held at the calls. */
typedef struct {
    void (*due)(odi_timer_entry *timer);     /* on a worker or the timer thread, at the due time or later */
    void (*dropped)(odi_timer_entry *timer); /* the pool has stopped: `due` will not be called */
} odi_timer_entry_kind;

struct odi_timer_entry {
    odi_wheel_node node; /* first member */
    const odi_timer_entry_kind *kind;
    uint32_t site;       /* the wheel's index, chosen once */
    uint32_t generation; /* of the wheel at arming; under the lock, like the state */
    enum { ODI_TIMER_ENTRY_IDLE, ODI_TIMER_ENTRY_ARMED, ODI_TIMER_ENTRY_CLOSED } state;
};

typedef struct {
    ODI_PAIR_ALIGNED odi_lock lock;
    uint32_t firing; /* the number of the current firing; 0: none */
    uint32_t last_firing;
    uint32_t generation; /* changes in a forked child: entries armed before belong to the parent */
    bool closed;
    int64_t firing_until;
    odi_atomic(int64_t) earliest; /* no entry is due before this time; written under the lock */
    odi_wheel wheel;
} odi_timer_wheel;

typedef struct {
    odi_timer_wheel *wheels; /* the last one is for deliveries */
    int count;
    ODI_PAIR_ALIGNED odi_atomic(bool) used; /* an entry was armed: never reset */
    odi_atomic(bool) overdue;              /* workers check the timers after their current job */
    odi_atomic(uint64_t) leader;           /* until (52), slot + 1 (12); 0: no leader */
    odi_atomic(int64_t) standing_until;    /* time of the monitor's next check; ODI_FOREVER: none */
} odi_timer_queue;

/* Returns false if an allocation fails. */
bool odi_timer_queue_init(odi_timer_queue *timers, int wheels);
void odi_timer_queue_free(odi_timer_queue *timers);

/* In a forked child: removes all entries. */
void odi_timer_queue_forked(odi_timer_queue *timers);

/* Whether the queue was ever used; before that all checks are free. */
static inline bool odi_timer_queue_is_used(odi_timer_queue *timers)
{
    return odi_load_relaxed(&timers->used); /* relaxed: a hint; T1 for who must know */
}

typedef enum {
    ODI_ARM_REFUSED, /* the timer queue or the entry is closed: it will not fire */
    ODI_ARM_LATER,   /* another entry is due before */
    ODI_ARM_FIRST    /* the caller must call odi_timer_queue_watch */
} odi_armed;

odi_armed odi_timer_queue_arm(odi_timer_queue *timers, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns);

/* Closes the timer entry. Returns true if it was armed; it then belongs to the caller. False: it was not
 * armed, or is being taken by a firing thread. */
bool odi_timer_queue_cancel(odi_timer_queue *timers, odi_timer_entry *timer);

/* Returns a time before which no entry is due, or ODI_FOREVER if none is armed. A hint unless a fence (T1)
 * precedes it. */
int64_t odi_timer_queue_earliest(odi_timer_queue *timers);

/* Returns the number of armed entries. */
uint64_t odi_timer_queue_count(odi_timer_queue *timers);

/* ---- taking due timers ---- */

/* Starts a firing. Returns 0 if no entry of the wheel is due or another thread is firing. */
uint32_t odi_timer_queue_begin_firing(odi_timer_wheel *wheel, int64_t now_ns);

/* Takes up to ODI_DUE_BATCH due entries in order. Returns their number. 0 ends the firing, or another thread
 * has taken over. */
int odi_timer_queue_take(odi_timer_wheel *wheel, uint32_t firing, int64_t now_ns,
                         odi_timer_entry *due[ODI_DUE_BATCH]);

/* Takes the first entry if it is overdue by ODI_LATE_NS. Returns NULL as odi_timer_queue_take returns 0. */
odi_timer_entry *odi_timer_queue_take_late(odi_timer_wheel *wheel, uint32_t firing, int64_t now_ns);

/* Ends the caller's firing although entries may be due; another thread takes them. */
void odi_timer_queue_end_firing(odi_timer_wheel *wheel, uint32_t firing);

/* Closes the timer queue and drops all armed entries. Call once, without a lock. */
void odi_timer_queue_close(odi_timer_queue *timers);

/* ---- which thread checks the timers ---- */

/* Called by the worker in `slot` before it sleeps. Returns the end of its sleep; ODI_FOREVER also if another
 * worker leads. The caller has read the futex word's value before. */
int64_t odi_timer_queue_lead(odi_timer_queue *timers, int slot);

/* Whether the worker in `slot` is the leader. */
bool odi_timer_queue_leads(odi_timer_queue *timers, int slot);

/* Whether a sleeping worker leads. A hint. */
static inline bool odi_timer_queue_is_led(odi_timer_queue *timers)
{
    return odi_load_relaxed(&timers->leader) != 0; /* relaxed: a hint */
}

/* Ends the caller's lead after its sleep. The caller calls odi_timer_queue_watch before it runs a job. */
void odi_timer_queue_leave(odi_timer_queue *timers, int slot);

/* Called by the monitor before it sleeps. Returns the latest end of its sleep. */
int64_t odi_timer_queue_stand_by(odi_timer_queue *timers);

typedef enum {
    ODI_WATCHED,      /* a thread checks in time, or no entry is armed */
    ODI_LEADER_LATE,  /* the leader in `slot` sleeps too long: wake it */
    ODI_NOBODY_LOOKS  /* no worker leads, and the monitor sleeps too long */
} odi_watching;

odi_watching odi_timer_queue_watch(odi_timer_queue *timers, int *slot);

#pragma GCC visibility pop

#endif
