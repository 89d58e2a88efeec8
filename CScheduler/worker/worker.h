/* worker.h — the state of one worker, laid out by the threads that write it.
 *
 * The files of this folder from bottom to top; each calls only files that are listed before it:
 *
 *     self.c                    the calling thread's worker and jobs
 *     run.c, override.c         starting, counting and cancelling jobs; band overrides
 *     forks.c                   one thread's fork stack
 *     stacks.c                  all fork stacks of a team, and the number of awake threads
 *     assignment.c, site.c      places of workers in the plan; sites for external submissions
 *     team.c                    the table of workers, their number, the list of parked spares
 *     work.c                    whether any source has work
 *     recruit.c                 announcing work: wakes, calls back or starts a worker
 *     external.c                external threads that fork: entering, leaving, blocking
 *     blocking.c, steal_fork.c  announced blocking; announcing and stealing forks
 *     join.c, find.c, due.c     the next job of a joiner, of a worker, and from the timer queue
 *     bench.c                   parking and departure of a worker
 *     run_loop.c                a worker's thread, which recruit.c starts through team->worker_main
 *
 * A team calls the pool above it only through the pointers in odi_team.
 *
 * Threads  the fields state their writers. The worker's own functions are owner-only;
 *          all threads read `bands`, `jobs`, `run` and the stealing ends of the deques.
 *
 * Edges    W2  job <-> report   release/acquire   a count of jobs, and whether one is running
 *          W7  fork -> report   release/acquire   a count of stolen forks
 *          W5  call back -> bench   release/acquire   the reason of the wake-up
 *          L3  start <-> cancel   light/heavy fence   see run.h
 */
#ifndef ODI_WORKER_WORKER_H
#define ODI_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "job/count.h"
#include "observe/counters.h"
#include "queue/deque.h"
#include "worker/forks.h"
#include "worker/team.h"

#pragma GCC visibility push(hidden)

struct odi_worker {
    /* Constant while the worker runs. */
    odi_team *team;
    int slot;
    odi_atomic(int) thread_id; /* 0 before it has run */
    int cpu_clock;

    /* Written by the owner, and by other threads under the lock while it has no thread. */
    odi_site *site;
    int site_index;
    bool pinned; /* its thread has its own CPU mask */

    /* Owner only. */
    ODI_PAIR_ALIGNED odi_record *run_record; /* the record of the current run, or NULL */
    uint64_t context; /* of the running job, if it has no record */
    uint32_t within;  /* jobs that ran inside this job: gate/within.c */
    uint32_t nexts;   /* tasks that ran without a place in a queue since the last one that had a place */
    void *next_task;  /* a task that od_next_task returns, already counted on `next_record`; NULL: none */
    odi_record *next_record;
    int64_t within_ns; /* the time of the first of them */
    uint32_t reserved;                       /* submissions already added to the job count */
    uint32_t tick;                           /* takes since the last check of the injectors */
    uint32_t far_tick, far_looks;            /* as `tick`, for other sites */
    uint32_t clock_tick, jobs_per_clock;     /* jobs until the clock is read, and the length of that interval */
    uint32_t timed_looks;                    /* number of checks that the clock caused */
    uint32_t far_bands;                      /* bands that a timed check found waiting elsewhere; taken next */
    int64_t looked_ns;                       /* time of the last such check, in ns */
    uint32_t due_tick;                       /* jobs since the last check of the timer queue */
    uint32_t override_tick;                  /* takes while a band is overridden */
    uint32_t batch_left;                     /* takes until the batch from an injector is done */
    uint32_t passed_over[ODI_BANDS];         /* times that a waiting lower band was passed over */
    uint32_t yields_seen;                    /* value of odi_overrides.yields at the last yield */
    uint32_t spins_in_vain;                  /* number of sleeps without a spin after the last failed spin */
    uint32_t sleeps_at_once;                 /* number of these sleeps that are left */
    uint64_t random;
    int64_t caught_ns;      /* time of a small steal; 0: no pause before the next */
    int64_t beside_chain_ns; /* time when it left a lone job to its owner, which took it */
    bool searching; /* holds its site's search token */
    bool woken;     /* was woken and has found no work yet */
    uint32_t blocking_depth;
    od_fork_slot *stolen; /* the stolen fork that it runs next or ran last, until a spin fails; and its owner */
    odi_forks *stolen_from;
    odi_steal_request request;            /* its pending request for forks */

    /* Written by the owner, read by other threads. */
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) bands; /* deques that may hold jobs */
    odi_atomic(uint64_t) jobs;                   /* twice the finished jobs, plus one while in a job */
    odi_atomic(uint64_t) forks_run;              /* as `jobs`, for forks that it stole */
    odi_atomic(uint64_t) run;                    /* see run.h */
    odi_atomic(void *) queue_running;            /* the queue of the running job, for reports */
    odi_atomic(uint64_t) noted_jobs; /* value of `jobs` when it last noted the time, for reports */
    odi_atomic(int64_t) noted_ns;    /* the noted time in ns; 0: never */
    odi_atomic(uint64_t) back_jobs;  /* value of `jobs` at the end of its last wait */
    odi_atomic(int64_t) back_ns;     /* inside a job, and the time of that */
    odi_atomic(bool) says_blocking;              /* between blocking_begin and _end */
    odi_atomic(const char *) waits_for;          /* kind of the innermost wait, for reports; NULL: unknown */
    odi_atomic(void *) waits_at;                 /* the queue of that wait, */
    odi_atomic(int64_t) waits_ns;                /* and its start in ns */
    odi_atomic(bool) sleeps_for_lock;            /* sleeps for a lock of the engine, not for the job */
    odi_counters counters;

    /* Written by other threads. */
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) bench_word; /* set when called back */
    odi_worker *next_benched;                         /* under the team's lock, as the next line */
    bool present, benched;
    bool begins_benched; /* written before its thread starts */
    odi_atomic(bool) moves; /* its assigned place has changed (assignment.h); a hint for the owner */
    /* For reports only (gate/report.c). */
    uint64_t reported_jobs;
    int64_t reported_ns;
    /* For the monitor only. */
    uint64_t watched_jobs;
    int64_t watched_ns; /* when it first saw that many */
    int64_t watched_cpu;

    odi_deque deques[ODI_BANDS];
    odi_forks forks;
};

/* The calling thread's worker, or NULL. */
extern _Thread_local odi_worker *odi_worker_self
    __attribute__((tls_model("initial-exec")));

/* Returns the calling thread's worker if it belongs to the team, otherwise NULL. */
ODI_HOT_INLINE odi_worker *odi_worker_here(odi_team *team)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->team == team ? worker : NULL;
}

/* Returns the team's next worker from *slot on and advances *slot; NULL at the end. Any thread. */
static inline odi_worker *odi_team_next_worker(odi_team *team, int *slot)
{
    odi_worker *worker = NULL;

    while (worker == NULL && *slot < team->capacity)
        worker = odi_load_acquire(&team->slots[(*slot)++], W3);
    return worker;
}

/* The main function of a worker's thread. */
void odi_worker_main(void *worker);

/* As od_blocking_begin, for a wait inside the engine. `what` is the kind of wait ("in sync on", static), and
 * `queue` its queue or NULL, for reports. */
void odi_blocking_begin(const char *what, void *queue);

/* Has od_next_task return a task of the current run's record, which the running job submits. Returns false if the
 * record is not that of the run, or has flags. Owner only. */
bool odi_worker_put_next(odi_worker *worker, odi_record *record, void *task);

/* Discards the worker's remaining jobs after a stop has counted them. Owner only. */
void odi_worker_discard_own(odi_worker *worker);

/* Pushes a job that the worker submits. Returns false if an allocation fails. Does not announce the job. */
ODI_HOT_INLINE bool odi_worker_push(odi_worker *worker, uint32_t band, odi_entry job)
{
    if (ODI_UNLIKELY(!odi_deque_push(&worker->deques[band], job)))
        return false;
    /* relaxed, owner-only: a hint for thieves; the last check before a sleep ignores it */
    uint32_t bands = odi_load_relaxed(&worker->bands);
    if (ODI_UNLIKELY(!(bands & (1u << band))))
        odi_store_relaxed(&worker->bands, bands | 1u << band);
    return true;
}

/* Returns the number of jobs that the worker has finished. Any thread. */
static inline uint64_t odi_worker_executed(odi_worker *worker)
{
    return odi_load_acquire(&worker->jobs, W2) >> 1;
}

/* Returns twice the number of jobs and stolen forks that it ran, plus one while it runs one. Any thread. */
static inline uint64_t odi_worker_activity(odi_worker *worker)
{
    uint64_t jobs = odi_load_acquire(&worker->jobs, W2);
    uint64_t forks = odi_load_acquire(&worker->forks_run, W7);

    return (jobs & ~UINT64_C(1)) + (forks & ~UINT64_C(1)) + ((jobs | forks) & 1);
}

/* ---- stacks.c ---- */

/* Returns true to end the walk. */
typedef bool odi_forks_visitor(odi_forks *victim, void *context);

/* Calls `visit` for every fork stack except `own`, until it returns true. Inside a read section, because the
 * table may be replaced. */
bool odi_forks_visit(odi_team *team, const odi_forks *own, uint32_t start, odi_forks_visitor *visit, void *context);

/* Whether a stack other than `own` holds a fork that could be stolen. Inside a read section. */
bool odi_team_holds_forks(odi_team *team, const odi_forks *own);

/* As odi_team_holds_forks, and false if one more awake worker would exceed the limit. */
bool odi_team_wants_fork_thieves(odi_team *team);

#pragma GCC visibility pop

#endif
