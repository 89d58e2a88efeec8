/* worker.h — one thread's state, laid out by who writes what.
 *
 * The files of this folder, from the bottom to the top: each calls only those that stand before it.
 *
 *     self.c                    which worker the calling thread is, and whose job it runs
 *     run.c, override.c         starting, counting and cancelling jobs; bands that a waiter overrides
 *     forks.c                   one thread's stack of forks
 *     stacks.c                  all of a team's, and how many threads are awake
 *     assignment.c, site.c      which place of the plan each worker has; where others submit
 *     team.c                    the workers: their table, their number, the bench's list
 *     work.c                    whether there is work, asked of all places where it may lie
 *     recruit.c                 "there is work": who is woken, called back or started for it
 *     external.c                threads that are no workers and fork: when they come, go and wait
 *     blocking.c, steal_fork.c  who waits gives its place over; forks are announced, and stolen
 *     join.c, find.c, due.c     where the next job comes from: a joiner's, a worker's, the timer queue's
 *     bench.c                   how a worker leaves, for the bench or for good
 *     run_loop.c                a worker's thread, which recruit.c starts through team->worker_main
 *
 * What a team needs of the pool above it, it calls through the pointers in odi_team.
 *
 * Threads  the fields say who writes. The worker's own functions are the owner's alone;
 *          `bands`, `jobs`, `run` and the deques' stealing ends are read by everybody.
 *
 * Edges    W2  job <-> report   release/acquire   a count of jobs, and whether one is running
 *          W7  fork -> report   release/acquire   a count of stolen forks
 *          W5  call back -> bench   release/acquire   why the worker gets up
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

    /* The owner's; read and, while it has no thread, written by others under the lock. */
    odi_site *site;
    int site_index;
    bool pinned; /* its thread has a mask of its own */

    /* The owner's, unread by others. */
    ODI_PAIR_ALIGNED odi_record *run_record; /* the record of the present run, or NULL */
    uint64_t context; /* of the job that runs, where it is of no record */
    uint32_t within;  /* jobs that this one has gone on as: gate/within.c */
    uint32_t reserved;                       /* submissions that its job count was told of before */
    uint32_t tick;                           /* takes since the last look outside */
    uint32_t far_tick, far_looks;            /* the same for other sites */
    uint32_t clock_tick, jobs_per_clock;     /* jobs until the clock is read, and how many that were */
    uint32_t timed_looks;                    /* looks that the clock has caused */
    uint32_t far_bands;                      /* bands found waiting elsewhere by such a look, to be taken next */
    int64_t looked_ns;                       /* when the last one was */
    uint32_t due_tick;                       /* jobs since the last look at the timer queue */
    uint32_t override_tick;                  /* takes while somebody overrides a band */
    uint32_t batch_left;                     /* takes until what came from outside is done */
    uint32_t passed_over[ODI_BANDS];         /* times a waiting lower band had to wait */
    uint32_t yields_seen;                    /* of the team's: it has yielded for these */
    uint32_t spins_in_vain;                  /* as that many sleeps come without one, */
    uint32_t sleeps_at_once;                 /* and these of them are left */
    uint64_t random;
    int64_t caught_ns;      /* when a small catch was made; 0: no pause before the next */
    int64_t beside_chain_ns; /* when it left a lone job to its owner, who took it */
    bool searching; /* it holds its site's token */
    bool woken;     /* it has just been woken and has found nothing yet */
    uint32_t blocking_depth;
    od_fork_slot *stolen; /* the stolen fork that it runs next or ran last, until a wait was in vain; and whose it is */
    odi_forks *stolen_from;
    odi_steal_request request;            /* whom it has asked for forks */

    /* Written by the owner, read by others. */
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) bands; /* deques that may hold something */
    odi_atomic(uint64_t) jobs;                   /* twice the jobs done, plus one in a job */
    odi_atomic(uint64_t) forks_run;              /* the same for forks that it stole */
    odi_atomic(uint64_t) run;                    /* see run.h */
    odi_atomic(void *) queue_running;            /* whose job that is, for reports */
    odi_atomic(uint64_t) noted_jobs; /* `jobs` when it last noted the time, for reports */
    odi_atomic(int64_t) noted_ns;    /* and when that was; 0: never */
    odi_atomic(uint64_t) back_jobs;  /* likewise when it last came back from a wait, */
    odi_atomic(int64_t) back_ns;     /* within a job */
    odi_atomic(bool) says_blocking;              /* between blocking_begin and _end */
    odi_atomic(const char *) waits_for;          /* what the innermost of these is, for reports; NULL: */
    odi_atomic(void *) waits_at;                 /* its caller does not say. And in which queue, */
    odi_atomic(int64_t) waits_ns;                /* since when */
    odi_atomic(bool) sleeps_for_lock;            /* of the engine's own, not for the job */
    odi_counters counters;

    /* Written by others. */
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) bench_word; /* set when called back */
    odi_worker *next_benched;                         /* under the team's lock, like these */
    bool present, benched;
    bool begins_benched; /* written before its thread begins */
    odi_atomic(bool) moves; /* its assigned place has changed (assignment.h); a hint for the owner */
    /* The reports' own notes (gate/report.c). */
    uint64_t reported_jobs;
    int64_t reported_ns;
    /* The monitor's own notes. */
    uint64_t watched_jobs;
    int64_t watched_ns; /* when it first saw that many */
    int64_t watched_cpu;

    odi_deque deques[ODI_BANDS];
    odi_forks forks;
};

/* The worker that the calling thread is, or NULL. */
extern _Thread_local odi_worker *odi_worker_self
    __attribute__((tls_model("initial-exec")));

/* The same, if it is one of the team's. */
ODI_HOT_INLINE odi_worker *odi_worker_here(odi_team *team)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->team == team ? worker : NULL;
}

/* The team's first worker at a slot from *slot on, which goes behind it; NULL: there is none. Anyone. */
static inline odi_worker *odi_team_next_worker(odi_team *team, int *slot)
{
    odi_worker *worker = NULL;

    while (worker == NULL && *slot < team->capacity)
        worker = odi_load_acquire(&team->slots[(*slot)++], W3);
    return worker;
}

/* The thread's body. */
void odi_worker_main(void *worker);

/* As od_blocking_begin, by a wait of the engine's own: `what` it is for ("in sync on", static), and in which queue
 * (or NULL), for who asks why nothing goes on. */
void odi_blocking_begin(const char *what, void *queue);

/* Discards what the worker still holds when it must not start more: stop has counted it. Owner. */
void odi_worker_discard_own(odi_worker *worker);

/* Pushes a job that the worker itself submits. False: memory is short. Does not publish. */
ODI_HOT_INLINE bool odi_worker_push(odi_worker *worker, uint32_t band, odi_entry job)
{
    if (ODI_UNLIKELY(!odi_deque_push(&worker->deques[band], job)))
        return false;
    /* relaxed, owner-only: a hint for thieves, and the last look before sleeping ignores it */
    uint32_t bands = odi_load_relaxed(&worker->bands);
    if (ODI_UNLIKELY(!(bands & (1u << band))))
        odi_store_relaxed(&worker->bands, bands | 1u << band);
    return true;
}

/* Jobs that ran on the worker to their end. Anyone. */
static inline uint64_t odi_worker_executed(odi_worker *worker)
{
    return odi_load_acquire(&worker->jobs, W2) >> 1;
}

/* Twice the jobs and stolen forks that it ran, plus one while it is in one. Anyone. */
static inline uint64_t odi_worker_activity(odi_worker *worker)
{
    uint64_t jobs = odi_load_acquire(&worker->jobs, W2);
    uint64_t forks = odi_load_acquire(&worker->forks_run, W7);

    return (jobs & ~UINT64_C(1)) + (forks & ~UINT64_C(1)) + ((jobs | forks) & 1);
}

/* ---- stacks.c ---- */

/* True: it looks no further. */
typedef bool odi_forks_visitor(odi_forks *victim, void *context);

/* Calls `visit` for every stack of forks but `own`, until it says true. Inside a read section:
 * the table may be replaced. */
bool odi_forks_visit(odi_team *team, const odi_forks *own, uint32_t start, odi_forks_visitor *visit, void *context);

/* Whether anybody but `own` holds a fork that could be stolen. Inside a read section. */
bool odi_team_holds_forks(odi_team *team, const odi_forks *own);

/* The same, and one more worker would not be one too many. */
bool odi_team_wants_fork_thieves(odi_team *team);

#pragma GCC visibility pop

#endif
