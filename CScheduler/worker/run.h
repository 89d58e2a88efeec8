/* run.h — starting jobs, counting them in runs, and cancelling what has not started.
 *
 * A *run* is a worker's uninterrupted sequence of jobs of one record. Their ends are told to
 * the record's job count once, when the run ends: nobody is kept waiting by that, because while
 * the run lasts another job of the same record is outstanding anyway. The run's word says
 * how many it holds, so that a cancel can tell what has started from what has not:
 *
 * A worker that submits to the record of its own run reserves *counts*: the job count is told of
 * many submissions at once, and what is not used is given back when the run ends. A reserved count
 * is held like a job that has started, until it is spent on a submission.
 *
 *     word     record's tag (24) | held (38) | FLUSHING | COUNTED
 *     start    owner: marked as in a job -> held + 1 (L4) -> light fence -> flags. CANCELLED
 *              seen: the record's cancel lock decides: COUNTED there means that the canceller took this
 *              start for one.
 *     end      owner: FLUSHING -> light fence -> flags. CANCELLED seen: under the lock.
 *              Otherwise: job count - held, then word = 0 (L4).
 *     draw     owner: FLUSHING -> light fence -> flags. Any seen: no reserved count. Otherwise:
 *              job count + RESERVED, then held + RESERVED.
 *     spend    owner: FLUSHING -> light fence -> flags. Any seen: not spent. Otherwise:
 *              held - 1, and the job is pushed.
 *     cancel   flag -> heavy fence -> each word: wait while FLUSHING, mark COUNTED and add
 *              its held -> close the job count. What is outstanding and not held never runs.
 *     pending  job count -> each word, while not FLUSHING, then its owner's mark -> job count; again if that
 *              fell meanwhile. Held and not in a job is done, or a reserved count.
 *
 * Edges    L3  start, end <-> cancel   light/heavy fence   the starter sees the flag, or the
 *                                                          canceller the start
 *          L4  start, end -> pending,  release/acquire     who sees a job held sees it begun; who
 *              cancel                                      sees the word gone, the job count told
 *          L11 close -> draw           release/acquire     a cancel's looks come before what a run holds
 *                                                          of a count behind its close
 *
 * How the wait of who cancels or asks ends: by the owner, a few instructions after it set FLUSHING.
 */
#ifndef ODI_WORKER_RUN_H
#define ODI_WORKER_RUN_H

#include <stdint.h>

#include "include/od_queue.h"
#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Runs (or discards, or diverts) one job. `heed` are the record's flags that matter: all of
 * them, or CANCELLED alone for a line that runs its own. */
void odi_worker_run(odi_worker *worker, odi_entry job, uint32_t heed);

/* The job that runs, which is of no record, goes on as one that `record` has counted. False: that has been
 * cancelled, and is not counted any more. */
bool odi_worker_begin_within(odi_worker *worker, odi_record *record);
/* It goes on as itself. */
void odi_worker_end_within(odi_worker *worker);

/* Tells the job count of the run's record of some submissions to come. False: the record has flags. Owner. */
bool odi_worker_reserve_counts(odi_worker *worker);

#define ODI_RUN_COUNTED UINT64_C(1)
#define ODI_RUN_FLUSHING UINT64_C(2)
#define ODI_RUN_HELD_ONE UINT64_C(4)

/* Counts a submission to the record of the worker's own run without touching its job count.
 * False: the record is another, or has flags; the caller counts on the job count. Owner. */
ODI_HOT_INLINE bool odi_worker_use_reserved(odi_worker *worker, odi_record *record)
{
    if (worker->run_record != record)
        return false;
    if (ODI_UNLIKELY(worker->reserved == 0) && !odi_worker_reserve_counts(worker))
        return false;
    uint64_t word = odi_load_relaxed(&worker->run) & ~ODI_RUN_COUNTED; /* relaxed, owner's */
    odi_store_relaxed(&worker->run, word | ODI_RUN_FLUSHING); /* relaxed: L3's fence follows */
    odi_fence_light(L3);
    /* relaxed: the fence stands before it */
    if (ODI_UNLIKELY(odi_load_relaxed(&record->flags) != 0)) {
        odi_store_relaxed(&worker->run, word); /* relaxed: no longer FLUSHING, nothing else */
        return false;
    }
    worker->reserved--;
    /* relaxed: who sees the flag set waits for a word that is not FLUSHING, and it says all that he asks */
    odi_store_relaxed(&worker->run, word - ODI_RUN_HELD_ONE);
    return true;
}

/* Ends the worker's run: its record's job count is up to date afterwards. False: what that told, or what the
 * caller did before, has forked, and this is the child, where the calling thread is no worker. Owner. */
bool odi_worker_end_run(odi_worker *worker);

/* The record of which the worker's run holds jobs, or NULL. Anyone. */
odi_record *odi_worker_run_record(odi_worker *worker);

/* Cancels the records of a queue's chain from `first` to the one before `end`: nothing of them starts after
 * this returns. Returns how many of their jobs will never have run. They accept no further ones. One heavy fence
 * serves all. Anyone, under the queue's lock. */
uint64_t odi_record_cancel(odi_team *team, odi_record *first, const odi_record *end);

/* Jobs of the record that are not done: what its job count says, less what is done and still in a
 * run's word. Exact while none of them begins or ends, and 0 when and only when nothing is outstanding,
 * whose ends are seen by who asks. `team`: NULL: no run is of the record. Anyone. */
uint64_t odi_record_pending(odi_team *team, odi_record *record);

/* Jobs of a chain of records that run outside of runs at this moment. */
uint64_t odi_records_running_outside(odi_record *first, odi_record_walk *next);

/* Runs a labelled job on a thread that is no worker, or nested in a job that a worker runs.
 * False: it was cancelled, and is discarded. */
bool odi_run_outside(odi_team *team, odi_entry job);

/* Takes back the count of a job, without its label, that is not to run for now. False: a cancel has counted it
 * meanwhile, and it is discarded. */
bool odi_record_withdraw(odi_record *record, odi_entry job);

/* Discards a labelled job of a pool that stops, and counts it as cancelled unless a cancel of
 * its record has. What the engine submitted to itself is run: a line's drainer sees
 * odi_discarding and discards what came after the line was cancelled. */
void odi_run_discard(odi_team *team, odi_entry job);
extern _Thread_local bool odi_discarding __attribute__((tls_model("initial-exec")));

/* The jobs that run outside of a run on the calling thread, innermost first; and the scopes in queues,
 * which are between them. */
typedef struct odi_outside {
    odi_record *record;
    const od_scope *scopes; /* it runs within these */
    struct odi_outside *outer;
} odi_outside;
extern _Thread_local odi_outside *odi_outsides;
extern _Thread_local od_scope *odi_scopes;

/* Where a walk begins that goes outwards through what the calling thread is in. */
odi_around odi_around_here(void);

/* Goes one step outwards: to a scope, or to a job's record. False: there is no further one. */
bool odi_around_next(odi_around *at, const od_scope **scope, odi_record **record);

/* Whether a stolen branch, or a job set apart, runs on the calling thread. */
extern _Thread_local const odi_descent *odi_descended;

/* The same for a line, which has unlabelled the job and decided that it may run. */
bool odi_run_outside_of(odi_record *record, odi_entry job);

#pragma GCC visibility pop

#endif
