/* faults.h — the engine under faults: what a run is, what a fault does to it, and what a
 * workload owes.
 *
 * A *run* is one process: one fault, one workload, one seed. Its workload goes through one
 * or more *waves*; after each wave the ledger must say that everything that was accepted ran
 * exactly once or was cancelled. A *cell* is all runs of one fault with one workload.
 *
 * Threads  a run's fields are its main thread's, unless they are atomic.
 */
#ifndef FAULTS_FAULTS_H
#define FAULTS_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "Support/prng.h"
#include "include/od_queue.h"
#include "os/clock.h"
#include "pool/pool.h"

enum { WATCHDOG_S = 20, HELPERS = 3, SKIPPED = 77 };

/* Longer than anything but a lost job takes, and shorter than the watchdog. */
#define LOST_NS (12 * ODI_SECOND)

typedef struct run run;
typedef struct workload workload;

/* ---- the ledger: every job of a wave, and what became of it ---- */

enum { MOST_JOBS = 1 << 15 };

typedef struct job {
    run *of;
    void (*body)(struct job *); /* NULL: it only counts itself */
    od_group *group;            /* for those that submit or wait */
    int number;
    atomic_uint begun, ended;
    atomic_bool refused;
} job;

typedef struct {
    atomic_uint accepted;
    atomic_uint refused; /* of these, for want of memory: they are whose they were */
    atomic_uint running_serial, running_limited; /* inside the two queues with a width */
    atomic_uint too_many;                        /* times that a width was not kept */
    atomic_uint called_off_late;                 /* timers' calls that may count as jobs, or not */
    uint64_t told_cancelled;                     /* what od_queue_cancel_all returned */
    uint64_t accepted_before, ran_before, cancelled_before; /* of the waves that are over */
    job jobs[MOST_JOBS];
} ledger;

/* The job to submit next, counted as accepted from here on. */
job *ledger_job(run *it, void (*body)(job *), int number);

/* What became of its submission. */
void ledger_told(job *entry, od_status status);

/* The context is a job of the ledger: runs its body between two counts. */
void run_job(void *job);

/* Ends the wave: exactly once or cancelled, or the run has failed. */
void ledger_settle(run *it);

/* ---- a run ---- */

struct run {
    const struct fault *fault;
    const workload *work;
    uint64_t seed;
    int number;      /* which of the cell's runs */
    int round;       /* which pool of this process, from 0 */
    prng random;

    od_pool_options options;
    odi_pool_world world;
    od_pool *pool;
    od_queue *open, *other, *serial, *limited;
    od_group *groups[HELPERS + 1];
    job *inner[2];

    int64_t least_ns;      /* waves go on for this long */
    int waves;             /* and are at least this many */
    bool never_waits;      /* nobody but closures of "queues" waits: the pool is stopped in its midst */
    atomic_bool over;      /* for whoever runs beside the workload */
    atomic_bool busy;      /* who runs beside the workload is not done */
    atomic_ullong events;  /* how often the fault struck: the driver wants to know */
    void *extra;           /* the fault's own */
    ledger book;
};

/* The run has failed: says why and ends the process. printf-style. */
_Noreturn void run_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The fault cannot be made here: says why and ends the process. */
_Noreturn void run_skips(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define run_expects(condition, ...) ((condition) ? (void)0 : run_fails(__VA_ARGS__))

/* Calls body(run, 0 .. HELPERS-1) on the helper threads, which were there before the fault;
 * returns at once. helpers_wait returns when all are through. */
void helpers_start(run *it, void (*body)(run *, int));
void helpers_wait(void);

/* Threads of this process that the engine has made: their ids, at most `most`. Costs a
 * descriptor. */
int engine_threads(int *ids, int most);

/* ---- workloads ---- */

struct workload {
    const char *name;
    const char *what;
    void (*launch)(run *it);  /* submits a wave */
    void (*await)(run *it);   /* until all of it is over */
    void (*stopped)(run *it); /* what it owes once the pool has stopped in the midst; or NULL */
    void (*open)(run *it);    /* queues of its own; or NULL */
    void (*close)(run *it);
};

extern const workload workloads[];
enum { WORKLOADS = 4 };

void workload_open(run *it);  /* queues and groups, on it->pool */
void workload_close(run *it); /* and away with them */

od_queue *workload_queue(run *it, const od_queue_options *options);

/* For who tries again to make something, a queue, a group or a timer: memory was short so many
 * times before. */
void memory_is_short(int tries, const char *what);

/* Fails when it takes longer than anything but a lost job. */
void await_group(run *it, od_group *group, const char *what);

/* ---- faults ---- */

typedef enum {
    COMPLETES, /* the run ends well: what was accepted ran once, or was cancelled */
    TRAPS,     /* the process aborts, and says why */
    OVERFLOWS  /* the process is killed by SIGSEGV, and nothing is said but `says` */
} outcome;

/* A run in which the fault did not happen proves nothing about it. */
typedef enum {
    STRIKES_EVERY_RUN,
    STRIKES_SOME_RUN, /* one run at least of a cell that has MANY_RUNS */
    STRIKES_NEVER     /* nothing is done to the run */
} certainty;

enum { MANY_RUNS = 10 };

typedef struct fault {
    const char *name;
    const char *how;    /* what is done to the run */
    const char *expect; /* what must come of it: the oracle, in words */
    outcome ends;
    const char *says;    /* one of these two must be said */
    const char *or_says;
    certainty strikes; /* a run that ends by its fault has been struck */

    void (*before_exec)(int number, pid_t pid); /* in the new process, before the program */
    void (*prepare)(run *it);                   /* before the first pool */
    void (*arm)(run *it);                       /* each round, after the pool was made */
    void (*beside)(run *it); /* on a thread of its own, until it->over */
    void (*disarm)(run *it); /* each round, before the pool stops */
    void (*finish)(run *it); /* instead of the waves, the stop and its checks */
    void (*verify)(run *it); /* after the last round */

    int rounds;          /* pools per run; 0: one */
    int least_ms;        /* waves go on for this long */
    bool slow;           /* fewer runs by default */
    bool until_beside;   /* waves go on until `beside` returns */
    bool may_refuse;     /* no pool is an outcome too */
    bool counts_loosely; /* without memory for a record, a job is on no report */
    bool under_strace;   /* strace injects */
    bool starves;        /* closures wait for their own children at most */
    bool lacks_records; /* and there are no timers */
} fault;

extern const fault faults[];
extern const int fault_count;

/* ---- injection: what the engine calls, and may be refused (inject.c) ---- */

enum { INJECT_NEVER = 0 };

typedef struct {
    atomic_int nth;    /* this call fails, counted from the arming; INJECT_NEVER */
    atomic_int from;   /* this one and all that follow */
    atomic_int one_in; /* so many, at random */
    atomic_bool paused; /* refuses nothing for a while */
    atomic_int calls;
    atomic_int refused; /* by us or by the kernel, since they were last taken */
} injection;

/* Pins and other system calls are refused by the kernel alone. */
extern injection of_threads, of_heap, of_maps, of_pins, of_calls;
extern atomic_int futex_lies;  /* one in so many futex calls returns early or late */
extern atomic_uint futex_lied; /* times that one did */
extern atomic_uint wall_reads; /* times that the engine asked for the wall clock */

void injection_arm(injection *it, int nth, int from, int one_in);
void injection_end(injection *it);
void injection_pause(injection *it, bool paused);

/* How many were refused since the last call. */
unsigned injection_take(injection *it);

/* What is refused at random follows from the run's seed. Before anything is. */
void injection_seed(uint64_t seed);

int __real_pthread_create(void *thread, const void *attributes, void *(*body)(void *),
                          void *argument);

/* ---- the kernel's own refusals (kernel.c) ---- */

/* Every thread of the process gets `error` for these calls from here on. */
void refuse_calls(const int *calls, int count, int error);

/* A control group of this run's own (v1). The run is skipped where it cannot be had. */
void cgroup_make(const char *controller, pid_t pid);
/* How long the threads of this process, added up, were ready to run and had no CPU: the machine's
 * doing, not the engine's. */
int64_t waited_for_cpus(void);

/* How long a team may take to follow the limits. Where FAULT_PATIENT is set, as where a run gates a change,
 * that is long enough for hangs alone to be seen; a stop's deadline is never loosened. */
int64_t time_limit(int64_t ns);

void cgroup_write(const char *controller, pid_t pid, const char *file, const char *text);
void cgroup_thaw(pid_t pid);
void cgroup_remove_all(pid_t pid); /* for the driver, when the process is gone */

#endif
