/* od_pool.h — a pool of workers that steal from each other.
 *
 * A pool has no thread until the first job is submitted, and uses no CPU while it is idle.
 * Unless a function says otherwise it may be called from any thread, and from inside jobs.
 * Functions that can fail return an od_status; a broken contract ends the process with one
 * sentence that names the function and the promise.
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
    OD_INVALID = 1,   /* an argument is out of its range; the message says which */
    OD_NO_MEMORY = 2, /* memory is short; nothing was kept */
    OD_STOPPED = 3,   /* the pool was stopped before */
    OD_INSIDE = 4,    /* not from inside this pool's jobs: it would wait for itself */
    OD_NO_THREAD = 5  /* not one thread is to be had for the pool; nothing was kept */
} od_status;

typedef enum od_placement {
    OD_PLACEMENT_NONE = 0,     /* the kernel moves workers as it likes */
    OD_PLACEMENT_NODE = 1,     /* a worker stays on its NUMA node */
    OD_PLACEMENT_CORE = 2,     /* a worker stays on one CPU, and so does what it starts */
    OD_PLACEMENT_AUTOMATIC = 3 /* node where there are several and the CPUs are ours */
} od_placement;

/* Bands are served from the highest to the lowest. */
typedef enum od_band {
    OD_BAND_USER_INTERACTIVE = 0,
    OD_BAND_USER_INITIATED = 1,
    OD_BAND_DEFAULT = 2,
    OD_BAND_UTILITY = 3,
    OD_BAND_BACKGROUND = 4
} od_band;

typedef struct od_pool od_pool;

typedef struct od_pool_options {
    const char *name;       /* at most 10 bytes show in thread names; NULL: "overdrive" */
    int workers;            /* 1 to 1024; 0: as many as affinity, cpuset and quota give,
                               and following them while the pool runs */
    od_placement placement;
    size_t stack_bytes;     /* address space per worker, touched lazily; 0: 256 MiB */
    int spare_workers;      /* at most this many more while workers block; -1: 64. Where more jobs wait, and
                               work with them, for a second, a sentence on stderr says which */
    bool round_quota_down;  /* a quota of 2.5 CPUs gives 2 workers instead of 3 */
} od_pool_options;

/* Fills in the defaults. */
void od_pool_options_init(od_pool_options *options);

/* Reads OVERDRIVE_WORKERS, OVERDRIVE_SPARES and OVERDRIVE_PLACEMENT (ignored in setuid programs) into the
 * options. On OD_INVALID the variable at fault was left out, and `message` says why. */
od_status od_pool_options_from_environment(od_pool_options *options, char *message,
                                           size_t capacity);

/* Makes a pool. `message` (may be NULL) receives one sentence unless the result is OD_OK. */
od_status od_pool_create(const od_pool_options *options, od_pool **pool, char *message,
                         size_t capacity);

/* How many workers the pool may run, not counting spares. Between 1 and 1024. */
int od_pool_workers(od_pool *pool);

/* Changes it while the pool runs; 0 follows the limits again. */
od_status od_pool_set_workers(od_pool *pool, int workers);

/* Whether the calling thread is one of the pool's workers (NULL: of any pool). */
bool od_pool_is_worker(od_pool *pool);

/* The band of the job that the calling thread runs, or -1. */
int od_pool_current_band(void);

/* Submits `function(context)`. Submissions of one thread and band start in order, but for batches of 32
 * that several workers have in hand, and for a thread that the kernel moves to another node.
 *
 * The pool's first job (a forked child's too) has its first worker started, and with it a first spare,
 * unless the pool has none. From then on it has a thread. OD_NO_THREAD: none is to be had; OD_NO_MEMORY: memory is short;
 * nothing was submitted then, and the job is still the caller's. OD_STOPPED: the stop is over, or its deadline is; the job is counted as cancelled and
 * never runs. Whoever does not ask loses it in each of these cases. */
od_status od_pool_submit(od_pool *pool, od_band band, void (*function)(void *), void *context);

/* Submits a job of the layer above's own tasks, which defines od_executor_run(job) and
 * od_executor_discard(job): exactly one of them is called, once; the second after a stop, or where one passes
 * its deadline, which counts the job as cancelled. Ends the process where neither a thread nor memory is to be had for it. */
void od_pool_submit_executor_job(od_pool *pool, od_band band, void *job);

/* A word of the pool's user, such as the object that wraps it. Set it before submitting. */
void od_pool_set_owner(od_pool *pool, void *owner);

/* The owner of the pool whose job the calling thread runs, or NULL. */
void *od_pool_current_owner(void);

/* Tells the pool that the calling job may wait in the kernel: another worker may take its
 * place until the matching end. Pairs nest. Nothing happens on threads that are no workers. */
void od_blocking_begin(void);
void od_blocking_end(void);

enum { OD_STUCK_NAMED = 8 };

typedef struct od_stop_report {
    uint64_t ran;       /* jobs that ran to their end, over the pool's life */
    uint64_t cancelled; /* accepted jobs that never ran and never will */
    uint64_t stuck;     /* jobs that its workers still run when this is written: with what runs on top of it, one */
    void *stuck_queues[OD_STUCK_NAMED]; /* the od_queue of the first of these; may be NULL */
} od_stop_report;

/* Stops the pool. Until the deadline (nanoseconds from now; INT64_MAX: none) everything accepted is run; what has
 * not started by then is cancelled, what runs is reported. What waits in a suspended queue, or behind a thread in
 * a sync or a task that holds the queue across an await, is cancelled when nothing else is left to run. Returns at
 * most 50 ms after the deadline, unless what is cancelled takes long to be given up (deinitialisers and
 * notifications run here), or a thread has lost its CPU in the midst of a submission. Later submissions are
 * discarded and counted as cancelled. A submission that runs beside this call may be discarded even before the
 * deadline; one that had returned before the call began is not. What a thread runs within its own call, of a sync
 * or by OD_OVERFLOW_RUNS, is that thread's: it is not waited for, and in none of the counts before it has ended.
 * Of several stops under way the earliest deadline holds for all; OD_STOPPED, with the same report, for those that
 * came after the first. */
od_status od_pool_stop(od_pool *pool, int64_t deadline_ns, od_stop_report *report);

/* Whether a stop is over: what is submitted from here on is discarded. */
bool od_pool_is_stopped(od_pool *pool);

/* Stops the pool if it is not (without a deadline) and gives its memory back. The memory of
 * a pool with stuck jobs stays. Not from one of this pool's jobs, on whichever thread that
 * runs: OD_INSIDE, and nothing has happened. */
od_status od_pool_free(od_pool *pool);

typedef struct od_metrics {
    uint64_t executed;       /* jobs that ran to their end */
    uint64_t cancelled;      /* jobs that a cancel or stop kept from running */
    uint64_t ran_on_callers; /* of the executed: by who waited for them, or submitted them to a full queue */
    uint64_t stolen[3];      /* jobs taken from other workers: same node, nearest, farther */
    uint64_t steals[3];      /* the steals that moved them */
    uint64_t forks_stolen;   /* forks that ran on another thread than the one that forked them */
    uint64_t failed_steals;  /* sweeps over everybody that found nothing */
    uint64_t injector_jobs;  /* jobs that came from outside the workers */
    uint64_t injector_claims; /* batches they came in */
    uint64_t parks;          /* times a worker went to sleep */
    uint64_t useful_wakes;   /* wakes that found work */
    uint64_t spurious_wakes; /* wakes that found none */
    uint64_t diverted;       /* jobs that met a suspended or limited queue on the way */
    uint64_t deque_growths;
    uint64_t grace_periods;  /* of the process */
    uint64_t threads_started;
    uint64_t thread_failures; /* threads that could not be created */
    uint64_t most_spares;    /* most workers beyond the pool's number at once */
    uint64_t spare_cap_reached;
    uint64_t warnings;       /* calls that were refused (pinning …) and done without */
    int workers;             /* the number now */
    int active;              /* workers that are not on the bench, spares included */
} od_metrics;

/* Sums over all workers: exact while nothing runs. */
void od_pool_metrics(od_pool *pool, od_metrics *metrics);

OD_END_DECLS
#endif
