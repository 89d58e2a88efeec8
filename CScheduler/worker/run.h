/* run.h — starts jobs, counts them in runs, and cancels jobs that have not started.
 *
 * A *run* is a worker's uninterrupted sequence of jobs of one record (the completion counter of a queue,
 * group and band). The run's word counts the jobs that the worker holds, and the record's job count is
 * reduced once, at the end of the run. This delays no waiter, because during the run another job of the
 * record is outstanding anyway. A cancel reads the word to tell started jobs from others.
 *
 * A worker that submits to the record of its own run reserves *counts*: one addition to the job count serves
 * many submissions. Unused counts are returned at the end of the run. The word holds a reserved count like a
 * started job until a submission uses it.
 *
 *     word     record's tag (24) | held (38) | FLUSHING | COUNTED
 *     start    owner: marked as in a job -> held + 1 (L4) -> light fence -> flags. If CANCELLED is
 *              set, the record's cancel lock decides: COUNTED there means that the canceller has
 *              counted this job as started.
 *     end      owner: FLUSHING -> light fence -> flags. If CANCELLED is set: under the lock.
 *              Otherwise: job count - held, then word = 0 (L4).
 *     draw     owner: FLUSHING -> light fence -> flags. If any is set: no reserved count. Otherwise:
 *              job count + RESERVED, then held + RESERVED.
 *     spend    owner: FLUSHING -> light fence -> flags. If any is set: not spent. Otherwise:
 *              held - 1, and the job is pushed.
 *     cancel   flag -> heavy fence -> each word: wait while FLUSHING, mark COUNTED and add
 *              its held -> close the job count. Jobs outstanding and not held never run.
 *     pending  job count -> each word, while not FLUSHING, then its owner's mark -> job count; again
 *              if that fell in between. Held and not in a job means done, or a reserved count.
 *
 * Edges    L3  start, end <-> cancel   light/heavy fence   the starter sees the flag, or the
 *                                                          canceller the start
 *          L4  start, end -> pending,  release/acquire     a reader of a held job sees it begun; a
 *              cancel                                      reader of an empty word sees the job count
 *          L11 close -> draw           release/acquire     the cancel's reads come before any use of a
 *                                                          count that was drawn after its close
 *
 * A thread that cancels or queries waits for an owner in FLUSHING, which ends after a few instructions.
 */
#ifndef ODI_WORKER_RUN_H
#define ODI_WORKER_RUN_H

#include <stdint.h>

#include "include/od_queue.h"
#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Runs, discards or diverts one job. `heed` is the mask of record flags that matter: all flags, or only
 * CANCELLED for a job from a wait queue. */
void odi_worker_run(odi_worker *worker, odi_entry job, uint32_t heed);

/* Whether a job may start; otherwise its run's word no longer holds it. */
typedef enum {
    ODI_STARTS,
    ODI_CANCELLED, /* also in a forked child, where the job belongs to the parent */
    ODI_DIVERTED   /* the job must pass through the wait queue */
} odi_start;

/* Continues the running job, which has no record, as a job that `record` has counted. If the new job does not
 * start, it is no longer counted. */
odi_start odi_worker_begin_within(odi_worker *worker, odi_record *record, uint32_t heed);
/* Ends odi_worker_begin_within: the running job has no record again. */
void odi_worker_end_within(odi_worker *worker);

/* Adds reserved counts for future submissions to the job count of the run's record. Returns false if the
 * record has flags. Owner only. */
bool odi_worker_reserve_counts(odi_worker *worker);

#define ODI_RUN_COUNTED UINT64_C(1)
#define ODI_RUN_FLUSHING UINT64_C(2)
#define ODI_RUN_HELD_ONE UINT64_C(4)

/* Counts a submission to the record of the worker's own run without changing its job count. Returns false if
 * the record differs or has flags; the caller then uses the job count. Owner only. */
ODI_HOT_INLINE bool odi_worker_use_reserved(odi_worker *worker, odi_record *record)
{
    if (worker->run_record != record)
        return false;
    if (ODI_UNLIKELY(worker->reserved == 0) && !odi_worker_reserve_counts(worker))
        return false;
    uint64_t word = odi_load_relaxed(&worker->run) & ~ODI_RUN_COUNTED; /* relaxed: the owner's word */
    odi_store_relaxed(&worker->run, word | ODI_RUN_FLUSHING); /* relaxed: L3's fence follows */
    odi_fence_light(L3);
    /* relaxed: the fence precedes it */
    if (ODI_UNLIKELY(odi_load_relaxed(&record->flags) != 0)) {
        odi_store_relaxed(&worker->run, word); /* relaxed: clears FLUSHING and publishes nothing else */
        return false;
    }
    worker->reserved--;
    /* relaxed: a thread that sees the flag waits for a word without FLUSHING, and that word holds all it
     * needs */
    odi_store_relaxed(&worker->run, word - ODI_RUN_HELD_ONE);
    return true;
}

/* Ends the worker's run and brings the record's job count up to date. Returns false in a forked child, if a
 * callback or an earlier action of the caller has forked: the thread is then not a worker. Owner only. */
bool odi_worker_end_run(odi_worker *worker);

/* Returns the record whose jobs the worker's run holds, or NULL. Any thread. */
odi_record *odi_worker_run_record(odi_worker *worker);

/* The parts of a run's word. */
uint64_t odi_run_held(uint64_t word);
uint32_t odi_run_tag(uint64_t word);

/* Cancels a queue's records from `first` up to, but not including, `end`: none of their jobs starts after the
 * return. Returns the number of jobs that will never run. The records accept no further jobs. One heavy fence
 * serves all records. Any thread, under the queue's lock. */
uint64_t odi_record_cancel(odi_team *team, odi_record *first, const odi_record *end);

/* Returns the unfinished jobs of the record: its job count without the finished jobs in a run's word. Exact
 * while no job begins or ends. The result is 0 exactly if no job is outstanding, and then the caller sees the
 * writes of all jobs. `team` is NULL if no run belongs to the record. Any thread. */
uint64_t odi_record_pending(odi_team *team, odi_record *record);

/* Returns the number of jobs of these records that run outside a worker's run now. */
uint64_t odi_records_running_outside(odi_record *first, odi_record_walk *next);

/* Runs a tagged job inline: on a thread that is not a worker, or nested in a worker's job. Returns false if
 * the job was cancelled and discarded. */
bool odi_run_outside(odi_team *team, odi_entry job);

/* Removes a job without its tag from its record's count, because it will not run for now. Returns false if a
 * cancel has counted the job; it is then discarded. */
bool odi_record_withdraw(odi_record *record, odi_entry job);

/* Discards a tagged job of a stopping pool and counts it as cancelled, unless a cancel of its record has
 * counted it. Internal jobs of the engine still run: a drainer sees odi_discarding and discards jobs that
 * arrived after the queue's cancel. */
void odi_run_discard(odi_team *team, odi_entry job);
extern _Thread_local bool odi_discarding __attribute__((tls_model("initial-exec")));

/* A job that runs inline on the calling thread, innermost first, with its scopes. Inline execution happens
 * outside a worker's run. */
typedef struct odi_outside {
    odi_record *record;
    const od_scope *scopes; /* scopes in queues around this job */
    struct odi_outside *outer;
} odi_outside;
extern _Thread_local odi_outside *odi_outsides;
extern _Thread_local od_scope *odi_scopes;

/* Returns the start of a walk outwards through the calling thread's scopes and jobs. */
odi_around odi_around_here(void);

/* Goes one step outwards, to a scope or to a job's record. Returns false at the end. */
bool odi_around_next(odi_around *at, const od_scope **scope, odi_record **record);

/* Set while a stolen branch, or a job with a saved context, runs on the calling thread. */
extern _Thread_local odi_descent *odi_descended;

/* In a forked child: the calling thread's branches leave the contexts of their forks, which are on the stacks of
 * threads that the child does not have. */
void odi_descents_forked(void);

/* Runs a job inline for a drainer, which has removed the job's tag and decided that the job may run. */
bool odi_run_outside_of(odi_record *record, odi_entry job);

#pragma GCC visibility pop

#endif
