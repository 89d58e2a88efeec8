/* od_pool.h — a pool of workers that steal jobs from each other.
 *
 * A pool has no thread until the first job is submitted, and uses no CPU time while it is idle. Unless a
 * comment states otherwise, a function may be called from any thread, and from inside jobs. Functions that
 * can fail return an od_status. A caller that breaks a function's contract ends the process with one sentence
 * that names the function and the broken promise.
 */
#ifndef OD_POOL_H
#define OD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"
#include "od_thread.h"

OD_BEGIN_DECLS

typedef enum od_status {
    OD_OK = 0,
    OD_INVALID = 1,   /* an argument is out of range; the message names it */
    OD_NO_MEMORY = 2, /* out of memory; nothing was kept */
    OD_STOPPED = 3,   /* the pool has been stopped */
    OD_INSIDE = 4,    /* called from one of this pool's jobs, which would wait for itself */
    OD_NO_THREAD = 5  /* the pool could not start a single thread; nothing was kept */
} od_status;

typedef enum od_placement {
    OD_PLACEMENT_NONE = 0,     /* the kernel places workers */
    OD_PLACEMENT_NODE = 1,     /* a worker stays on its NUMA node */
    OD_PLACEMENT_CORE = 2,     /* a worker stays on one CPU, and so do threads that it starts */
    OD_PLACEMENT_AUTOMATIC = 3 /* node, if there are several and the process may use all of their CPUs */
} od_placement;

/* Quality-of-service bands; workers serve a higher band first. */
typedef enum od_band {
    OD_BAND_USER_INTERACTIVE = 0,
    OD_BAND_USER_INITIATED = 1,
    OD_BAND_DEFAULT = 2,
    OD_BAND_UTILITY = 3,
    OD_BAND_BACKGROUND = 4
} od_band;

typedef struct od_pool od_pool;

typedef struct od_pool_options {
    const char *name;       /* the first 10 bytes appear in thread names; NULL: "overdrive" */
    int workers;            /* 1 to 1024; 0: as many as affinity, cpuset and quota allow, updated while the
                               pool runs */
    od_placement placement;
    size_t stack_bytes;     /* address space of a worker's stack, touched lazily; 0: 256 MiB, or 8 MiB if
                               address space is limited or mlockall(MCL_FUTURE) fills it */
    int spare_workers;      /* limit of additional workers while others block; -1: 64. If more jobs block for
                               a second while work is pending, a warning on stderr names them */
    bool round_quota_down;  /* a quota of 2.5 CPUs gives 2 workers instead of 3 */
} od_pool_options;

/* Fills in the defaults. */
void od_pool_options_init(od_pool_options *options);

/* Reads OVERDRIVE_WORKERS, OVERDRIVE_SPARES and OVERDRIVE_PLACEMENT into the options. A setuid program
 * ignores these variables. On OD_INVALID the faulty variable is skipped, and `message` states the reason. */
od_status od_pool_options_from_environment(od_pool_options *options, char *message,
                                           size_t capacity);

/* Creates a pool. `message` (may be NULL) receives one sentence unless the result is OD_OK. */
od_status od_pool_create(const od_pool_options *options, od_pool **pool, char *message,
                         size_t capacity);

/* Returns the number of workers without spares. Between 1 and 1024. */
int od_pool_workers(od_pool *pool);

/* Changes the number of workers while the pool runs; 0 follows the machine's limits again. */
od_status od_pool_set_workers(od_pool *pool, int workers);

/* Whether the calling thread is one of the pool's workers (NULL: of any pool). */
bool od_pool_is_worker(od_pool *pool);

/* Returns the band of the job that the calling thread runs, or -1. */
int od_pool_current_band(void);

/* Submits `function(context)`. Submissions of one thread and band start in order, with two exceptions.
 * Workers may hold batches of up to 32 jobs at once, and the kernel may move the thread to another NUMA node.
 *
 * The first job of a pool starts the first worker and, if spares are allowed, a first spare. This also holds
 * in a forked child. From then on the pool has a thread.
 *
 * Returns OD_NO_THREAD if no thread can start, and OD_NO_MEMORY if an allocation fails. Nothing is submitted
 * then, and the caller still owns the job. Returns OD_STOPPED if a stop has finished or has passed its
 * deadline; the job counts as cancelled and never runs. A caller that ignores the result loses the job in
 * each of these cases.
 */
od_status od_pool_submit(od_pool *pool, od_band band, void (*function)(void *), void *context);

/* Submits a job of the Swift layer, which defines od_executor_run(job) and od_executor_discard(job). The
 * engine calls exactly one of these functions, once. It calls od_executor_discard after a stop or past a
 * stop's deadline, and counts the job as cancelled. The process ends if neither a thread nor memory is
 * available. */
void od_pool_submit_executor_job(od_pool *pool, od_band band, void *job);

/* Stores a pointer for the pool's user, such as the object that wraps the pool. Call it before the first
 * submission. */
void od_pool_set_owner(od_pool *pool, void *owner);

/* Returns the owner of the pool whose job the calling thread runs, or NULL. */
void *od_pool_current_owner(void);

/* Tells the pool that the calling job may block in the kernel; a spare may replace its worker until
 * od_blocking_end. Pairs nest. Both calls do nothing on a thread that is not a worker. */
void od_blocking_begin(void);
void od_blocking_end(void);

enum { OD_STUCK_NAMED = 8 };

typedef struct od_stop_report {
    uint64_t ran;       /* jobs that have run, over the pool's lifetime */
    uint64_t cancelled; /* accepted jobs that never ran and never will */
    uint64_t stuck;     /* jobs that workers still run when the report is written; nested jobs count as one. A
                           late timer's call counts too */
    void *stuck_queues[OD_STUCK_NAMED]; /* the od_queue of the first stuck jobs; entries may be NULL */
} od_stop_report;

/* Stops the pool. Until the deadline (nanoseconds from now; INT64_MAX: none) the pool runs every accepted
 * job. At the deadline it cancels jobs that have not started and reports jobs that still run.
 *
 * Some jobs cannot start: those in a suspended queue, or behind a sync or a task that holds the queue across
 * an await. The stop cancels them as soon as no other work is left.
 *
 * The call returns at most 50 ms after the deadline, with two exceptions. Deinitialisers and notifications of
 * cancelled jobs run in this call, and a submitting thread may have lost its CPU.
 *
 * Later submissions are discarded and counted as cancelled. A submission concurrent with this call may be
 * discarded even before the deadline; a submission that had returned before the call is not.
 *
 * A job that a thread runs inside its own call, in a sync or by OD_OVERFLOW_RUNS, belongs to that thread. The
 * stop does not wait for that job, and no count includes it before it has finished.
 *
 * If several stops run at once, the earliest deadline applies to all. Every stop but the first returns
 * OD_STOPPED, with an equal report.
 */
od_status od_pool_stop(od_pool *pool, int64_t deadline_ns, od_stop_report *report);

/* Whether a stop has finished, so that later submissions are discarded. */
bool od_pool_is_stopped(od_pool *pool);

/* Stops the pool without a deadline, if it is not stopped, and frees its memory. The memory of a pool with
 * stuck jobs is not freed. Returns OD_INSIDE, and changes nothing, if the caller is one of this pool's jobs,
 * on any thread. */
od_status od_pool_free(od_pool *pool);

typedef struct od_metrics {
    uint64_t executed;       /* jobs that have run */
    uint64_t cancelled;      /* jobs that a cancel or stop prevented from running */
    uint64_t ran_on_callers; /* part of `executed`: run by threads that waited for them, or that submitted
                                them to a full queue */
    uint64_t stolen[3];      /* jobs taken from other workers: on the worker's node, on the nearest node,
                                farther */
    uint64_t steals[3];      /* steals that moved these jobs */
    uint64_t forks_stolen;   /* forks that ran on another thread than their owner */
    uint64_t failed_steals;  /* searches of all workers that found nothing */
    uint64_t injector_jobs;  /* jobs submitted by external threads */
    uint64_t injector_claims; /* batches in which workers took these jobs */
    uint64_t parks;          /* times a worker went to sleep */
    uint64_t useful_wakes;   /* wakes that found work */
    uint64_t spurious_wakes; /* wakes that found none */
    uint64_t diverted;       /* jobs that entered the wait queue of a suspended or limited queue */
    uint64_t deque_growths;
    uint64_t grace_periods;  /* RCU grace periods of the whole process */
    uint64_t threads_started;
    uint64_t thread_failures; /* threads that could not be created */
    uint64_t most_spares;    /* most workers above the configured number at once */
    uint64_t spare_cap_reached;
    uint64_t warnings;       /* refused system calls (pinning …) that the pool does without */
    int workers;             /* the current number */
    int active;              /* workers that are not parked spares; spares that run are included */
} od_metrics;

/* Sums the counters of all workers; the sums are exact while no job runs. */
void od_pool_metrics(od_pool *pool, od_metrics *metrics);

OD_END_DECLS
#endif
