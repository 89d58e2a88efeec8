/* pool.h — a pool: its team of workers, options, limits, monitor and stop.
 *
 * Owns     the team, and the facts that decide its size.
 * Never    knows queues, except their addresses for reports.
 *
 * States   RUNNING   -> STOPPING    od_pool_stop: workers leave when they find no work
 *          STOPPING  -> CANCELLING  the deadline, or the last worker has left: workers leave before
 *                                   their next job, and submissions are discarded
 *          either    -> STOPPED     the last thread has ended, or is reported stuck; the injectors are
 *                                   closed, and their jobs are discarded
 *
 * Edges    S4  publish <-> attention   the submitter sees MONITOR_OFF or STOPPING, or the thread that
 *                                      set the flag sees the work
 *          P1  create -> fork          the fields of the default pool
 *          P3  arm, stop -> monitor    the reason of the wake-up
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

/* A value of stop_state: the stop has finished. */
enum { ODI_STOP_OVER = 2 };

struct od_pool {
    odi_team team;
    odi_topology *topology;   /* borrowed by the plan: replaced under plan_lock */
    const odi_source *source; /* the source of the limits */
    od_placement placement;  /* as requested */
    bool made_up;             /* a test's topology, never replaced */
    odi_lock plan_lock;       /* held during a change of limits, plan and number of workers */
    odi_cgroups *cgroups;     /* the cgroups of the last reading; under plan_lock */
    odi_limits limits;        /* the limits that the plan was made for; under plan_lock */
    odi_atomic(bool) follows_limits;
    odi_atomic(bool) pins;    /* pins workers, so it follows at least changes of the CPUs */
    bool round_down;          /* round a CPU quota down */
    odi_atomic(int64_t) next_refresh_ns;

    odi_atomic(uint32_t) monitor_word; /* the monitor sleeps on it */
    bool monitor_present;              /* under the team's lock */
    int64_t still_since;               /* for the monitor: time since which no thread has made progress; 0: */
    bool still_said;                   /* some thread has. And whether this was reported */

    odi_atomic(uint32_t) timer_thread_word;   /* the timer thread sleeps on it */
    odi_atomic(void *) timer_call;            /* the queue whose timer's call runs on a timer thread, or NULL */
    bool timer_thread_present;                /* a timer thread serves. All four under the team's lock */
    int64_t next_timer_thread_ns;             /* after a failed start of the timer thread: next attempt not
                                                 before this time; 0: any time */

    odi_atomic(uint32_t) stop_state; /* see stop.c */
    odi_atomic(int) stopping_thread;
    odi_atomic(int64_t) stop_deadline; /* earliest deadline of the concurrent stops */
    od_stop_report last_report;

    void *owner; /* the user's pointer */
    odi_lock targets_lock; /* for gate/target.c: held during a change of a queue's target */
    od_pool *next_pool; /* list of all pools of the process, for fork */
};

/* For tests: a pool on a given topology, with limits from a given source. NULL: the real ones. The pool takes
 * over the topology. */
typedef struct {
    odi_topology *topology;
    const odi_source *source;
    int64_t first_index;
} odi_pool_world;

od_status odi_pool_create_in(const od_pool_options *options, const odi_pool_world *world,
                             od_pool **pool, char *message, size_t capacity);

/* Whether a job may be accepted now; starts the pool's first thread if needed. Called before a job is
 * counted, by the public functions and when a queue creates a record. OD_STOPPED: the caller discards the
 * job. OD_NO_THREAD and OD_NO_MEMORY: the job is refused, and its submitter still owns it. */
od_status odi_pool_begin(od_pool *pool);

ODI_HOT_INLINE bool odi_pool_is_open(od_pool *pool)
{
    /* relaxed: a submission that misses a stop is discarded later; an existing thread stays */
    return !(odi_load_relaxed(&pool->team.attention) & (ODI_NO_THREADS | ODI_CANCELLING));
}

ODI_HOT_INLINE od_status odi_pool_admit(od_pool *pool)
{
    return ODI_LIKELY(odi_pool_is_open(pool)) ? OD_OK : odi_pool_begin(pool);
}

/* Handles a job that was not admitted: after a stop it is discarded and counted as cancelled. */
od_status odi_pool_refuse(od_pool *pool, od_status status, odi_entry job);

/* Ends the process with a message after a refusal, except after a stop: for Swift, whose submissions return no error. */
ODI_COLD void odi_pool_report_refusal(od_pool *pool, od_status status);
ODI_HOT_INLINE void odi_pool_expect(od_pool *pool, od_status status)
{
    if (ODI_UNLIKELY(status != OD_OK))
        odi_pool_report_refusal(pool, status);
}

/* Queues a tagged job from any thread, or discards it after a stop's deadline. Returns false, and does
 * nothing, if an allocation fails. */
bool odi_pool_submit(od_pool *pool, uint32_t band, odi_entry job);

/* As odi_pool_submit, with a node that is used if an allocation fails. */
void odi_pool_submit_node(od_pool *pool, uint32_t band, odi_entry job, odi_entry_node *node);

/* Queues several jobs with one wake-up. Returns false if an allocation fails; then only the first jobs are
 * queued. */
bool odi_pool_submit_several(od_pool *pool, uint32_t band, const odi_entry *jobs, size_t count);

/* stop.c: discards a job of a pool after its stop's deadline, and the jobs that this submits. A thread that
 * is already discarding does so after its current job, so that nested jobs need no deeper stack. */
void odi_pool_discard(od_pool *pool, odi_entry job);

/* limits.c: updates the pool after changes of the machine's limits, at most once a second. The team's
 * `refresh`. */
void odi_pool_refresh(odi_team *team);

/* monitor.c: the team's `arm_monitor`. */
void odi_pool_arm_monitor(odi_team *team);
void odi_pool_stand_by(odi_team *team); /* the team's `stand_by` */
void odi_pool_wake_monitor(od_pool *pool);

/* stop.c: sleeps until each remaining worker of a stopped pool is inside a job, and until the monitor has
 * ended; at most until these times. */
void odi_pool_await_leaving(od_pool *pool, int64_t workers_until, int64_t monitor_until);

/* fork.c */
void odi_pool_enlist(od_pool *pool);
void odi_pool_delist(od_pool *pool);

/* The first pool of the process, for readers in other processes. */
extern od_pool *const *const odi_pools_list;

/* Calls `visit` with each pool. No pool is freed until the last call has returned. */
void odi_pools_visit(void (*visit)(od_pool *pool, void *context), void *context);

/* Set by gate/: whether the calling thread runs a job of the pool, or a sync in one of its queues. */
extern bool (*odi_inside_above)(od_pool *pool);

/* Set by gate/: resets the state of queues in a forked child. */
extern void (*odi_fork_above)(void);

/* Set by gate/: cancels the jobs of the pool's queues after a stop's deadline. Before the deadline it cancels
 * jobs of suspended queues, which no worker would run. Later submissions to the queues ask the pool again. */
extern void (*odi_cancel_above)(od_pool *pool);

/* Set by gate/: whether a drainer has been called for one of the pool's queues and not yet given to the pool. */
extern bool (*odi_owed_above)(od_pool *pool);

/* Set by gate/: fills `text` with the pool's waiting jobs and what each waits for. The text starts with
 * ": ". */
extern void (*odi_describe_waits_above)(od_pool *pool, char *text, size_t size);

/* Set by gate/: lets workers of the team continue that wait for room in a queue, because no thread is left
 * for that queue. */
extern void (*odi_let_on_above)(odi_team *team);

#pragma GCC visibility pop

#endif
