/* pool.h — many workers as one: options, limits, monitor, stop.
 *
 * Owns     the team and what decides its size.
 * Never    knows queues beyond an address for reports.
 *
 * States   RUNNING   -> STOPPING    od_pool_stop: workers leave when they find nothing
 *          STOPPING  -> CANCELLING  the deadline, or the last has left: workers leave before their next
 *                                   job, and what is submitted is discarded
 *          either    -> STOPPED     the last thread has departed, or is reported stuck; the injectors are
 *                                   closed, and what lay there is discarded
 *
 * Edges    S4  publish <-> attention   the submitter sees MONITOR_OFF or STOPPING, or who set
 *                                      it sees the work
 *          P1  create -> fork          the default pool, as it was made
 *          P3  arm, stop -> monitor    why it is woken
 */
#ifndef ODI_POOL_POOL_H
#define ODI_POOL_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "include/od_pool.h"
#include "job/job.h"
#include "sleep/lock.h"
#include "topology/limits.h"
#include "topology/placement.h"
#include "topology/topology.h"
#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* A value of stop_state: the stop is over. */
enum { ODI_STOP_OVER = 2 };

struct od_pool {
    odi_team team;
    odi_topology *topology;   /* with the plan's borrower: replaced under plan_lock */
    const odi_source *source; /* where limits are read */
    od_placement placement;  /* as asked for */
    bool made_up;             /* the topology is a test's, and stays */
    odi_lock plan_lock;       /* around a change of limits, plan and number of workers */
    odi_cgroups *cgroups;     /* where limits were found; under plan_lock */
    odi_limits limits;        /* what the plan was made for; under plan_lock */
    odi_atomic(bool) follows_limits;
    odi_atomic(bool) pins;    /* so it follows at least the CPUs */
    bool round_down;          /* a quota */
    odi_atomic(int64_t) next_refresh_ns;

    odi_atomic(uint32_t) monitor_word; /* the monitor sleeps on it */
    bool monitor_present;              /* under the team's lock */
    int64_t still_since;               /* the monitor's own notes: since when nobody goes on; 0: */
    bool still_said;                   /* somebody does. And whether that was said */

    odi_atomic(bool) delivers;          /* some timer was to be delivered elsewhere: never taken back */
    odi_atomic(uint32_t) timer_thread_word;   /* the timer thread sleeps on it */
    bool timer_thread_present;                /* under the team's lock, both */
    int64_t next_timer_thread_ns;             /* no timer thread is started before, after one could not be; 0: at once */

    odi_atomic(uint32_t) stop_state; /* see stop.c */
    odi_atomic(int) stopping_thread;
    odi_atomic(int64_t) stop_deadline; /* the earliest of those who have asked for a stop */
    od_stop_report last_report;

    void *owner; /* the user's word */
    odi_lock targets_lock; /* gate/target.c's: around a change of what a queue is on */
    od_pool *next_pool; /* all pools of the process, for fork */
};

/* For tests: a pool on a made-up machine, with limits from a made-up source. NULL: the real
 * ones. The topology passes to the pool. */
typedef struct {
    odi_topology *topology;
    const odi_source *source;
    int64_t first_index;
} odi_pool_world;

od_status odi_pool_create_in(const od_pool_options *options, const odi_pool_world *world,
                             od_pool **pool, char *message, size_t capacity);

/* Whether a job may be accepted now: a pool's first thread is had before its first job is. Asked by the
 * users' doors, before anything is counted: where a queue makes a record, and by the pool's own.
 * OD_STOPPED: it is to be discarded; OD_NO_THREAD, OD_NO_MEMORY: refused, and still the caller's. */
od_status odi_pool_begin(od_pool *pool);

ODI_HOT_INLINE bool odi_pool_is_open(od_pool *pool)
{
    /* relaxed: a stop that is seen too late discards what is pushed; a thread that was there stays */
    return !(odi_load_relaxed(&pool->team.attention) & (ODI_NO_THREADS | ODI_CANCELLING));
}

ODI_HOT_INLINE od_status odi_pool_admit(od_pool *pool)
{
    return ODI_LIKELY(odi_pool_is_open(pool)) ? OD_OK : odi_pool_begin(pool);
}

/* What becomes of a job that was not admitted: after a stop it is discarded, and counted as cancelled. */
od_status odi_pool_refuse(od_pool *pool, od_status status, odi_entry job);

/* The same for who knows no error: Swift. A refusal ends the process with a sentence. */
void odi_pool_expect(od_pool *pool, od_status status);

/* Queues a labelled job from whichever thread this is, or discards it where the pool's stop is past its deadline.
 * False: memory is short, and nothing has happened. */
bool odi_pool_submit(od_pool *pool, uint32_t band, odi_entry job);

/* The same with a node, where memory is short. */
void odi_pool_submit_node(od_pool *pool, uint32_t band, odi_entry job, odi_entry_node *node);

/* The same for several, published once. False: memory is short, and only the first ones of them are queued. */
bool odi_pool_submit_several(od_pool *pool, uint32_t band, const odi_entry *jobs, size_t count);

/* stop.c: discards a job, whose pool's stop is past its deadline or over, and what that submits. Who discards
 * already does so when he is through with what he has in hand, so that this needs no deeper stack for more of them. */
void odi_pool_discard(od_pool *pool, odi_entry job);

/* limits.c: follows the machine's limits, at most once a second. The team's `refresh`. */
void odi_pool_refresh(odi_team *team);

/* monitor.c: the team's `arm_monitor`. */
void odi_pool_arm_monitor(odi_team *team);
void odi_pool_stand_by(odi_team *team); /* the team's `stand_by` */
void odi_pool_wake_monitor(od_pool *pool);

/* stop.c: of a stopped pool, sleeps until each worker that is left is inside a job, and until the monitor has left; no
 * longer than until these times. */
void odi_pool_await_leaving(od_pool *pool, int64_t workers_until, int64_t monitor_until);

/* fork.c */
void odi_pool_enlist(od_pool *pool);
void odi_pool_delist(od_pool *pool);

/* Registered by the layer above: whether the calling thread runs a job of the pool, or a sync in one of its queues. */
extern bool (*odi_inside_above)(od_pool *pool);

/* Registered by the layer above: resets its own state in a forked child. */
extern void (*odi_fork_above)(void);

/* The same: cancels what the pool's queues still hold when its deadline has passed; before it, what suspended
 * ones hold, which nobody would run. What they are given from here on asks the pool again. */
extern void (*odi_cancel_above)(od_pool *pool);

/* The same: whether somebody has called a drainer for jobs of the pool's queues, and not yet given it to the pool. */
extern bool (*odi_owed_above)(od_pool *pool);

/* The same: writes which jobs of the pool wait for what, from ": " on, into a text. */
extern void (*odi_describe_waits_above)(od_pool *pool, char *text, size_t size);

/* The same: lets workers of the team go on that wait for room in a queue. No thread is left for that queue. */
extern void (*odi_let_on_above)(odi_team *team);

#pragma GCC visibility pop

#endif
