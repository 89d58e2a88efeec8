/* od_report.h — the state of a pool at a moment: its workers, and the queues with pending work.
 *
 * A report does not stop the pool: each value was true at some moment during the call. Any thread may ask for
 * one.
 */
#ifndef OD_REPORT_H
#define OD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "od_queue.h"

OD_BEGIN_DECLS

typedef enum od_worker_doing {
    OD_WORKER_IDLE = 0,   /* it looks for work, or sleeps */
    OD_WORKER_RUNS = 1,   /* it runs a job */
    OD_WORKER_BLOCKS = 2, /* its job has begun to block; a spare may replace the worker */
    OD_WORKER_SPARE = 3   /* a parked spare */
} od_worker_doing;

typedef struct od_worker_report {
    int index;
    int thread_id;
    int node; /* the kernel's number */
    od_worker_doing doing;
    int64_t running_ns;         /* how long its job has run, at least */
    int64_t running_at_most_ns; /* how long its job has run, at most; equal to the former if known exactly */
    int64_t waiting_ns;         /* how long it has waited, if it reports a wait */
    const char *waits_for;      /* the kind of wait, such as "in sync on" or "for a group": a static string,
                                   or NULL if unknown */
    char waits_at[OD_LABEL_BYTES]; /* label of the queue that it waits for, "" for none */
    char queue[OD_LABEL_BYTES]; /* label of its job's queue, "" for none */
    uintptr_t waits_at_id;      /* identities of these queues: */
    uintptr_t queue_id;         /* two queues may have equal labels */
    uint64_t executed;          /* jobs, over the worker's lifetime */
    uint64_t waiting;           /* jobs in its own deques */
} od_worker_report;

/* Writes at most `room` reports; returns the number written. */
int od_pool_report_workers(od_pool *pool, od_worker_report *reports, int room);

/* Returns the number of jobs from external threads that no worker has taken yet. */
uint64_t od_pool_waiting(od_pool *pool);

typedef struct od_queue_report {
    char label[OD_LABEL_BYTES];
    uintptr_t id; /* the queue's identity */
    od_band band;
    int32_t width; /* OD_UNLIMITED or more */
    bool suspended, active;
    uint64_t pending; /* submitted and not finished */
    uint64_t running; /* pending jobs that have begun */
} od_queue_report;

/* Reports the queues that have pending jobs, are suspended or are inactive. Writes at most `room` reports;
 * returns the number of such queues. */
int od_pool_report_queues(od_pool *pool, od_queue_report *reports, int room);

/* Reports the queue with this identity, also if it has no pending job. Returns false if the pool has no such queue now.
 * `id` is the identity of a queue that exists or has existed. */
bool od_pool_report_queue(od_pool *pool, uintptr_t id, od_queue_report *report);

/* Sends the engine's warnings to `take` instead of stderr, one sentence each without a newline; NULL restores
 * stderr. Any thread may call `take` at any time, pool threads included, with a stack of at least 256 KiB.
 * `take` must not wait for the pool, free a pool, or wait for a thread that frees a pool. The caller
 * initialises everything that `take` uses before this call. Fatal errors still go to stderr. */
void od_warnings_to(void (*take)(const char *sentence));

/* Calls `dump` on a thread of the engine for each signal that OVERDRIVE_SIGNAL names. Signals that come during a call
 * have one call together. Returns false if the environment names no signal; it is read when the first pool is created. */
bool od_dump_signal_to(void (*dump)(void));

/* Writes the state of all pools to stderr, for a debugger: `call (void)od_dump()`. It waits for no lock and allocates
 * nothing, so it also works while all other threads are stopped. The last line counts the rows that it could not read. */
void od_dump(void);

OD_END_DECLS
#endif
