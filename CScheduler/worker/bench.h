/* bench.h — how a worker leaves: it parks as a spare, moves to another site, or ends its thread.
 *
 * The run loop calls these functions on the worker's own thread.
 */
#ifndef ODI_WORKER_BENCH_H
#define ODI_WORKER_BENCH_H

#include <stdbool.h>

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

typedef enum {
    ODI_BENCH_GOES_ON, /* continues with its jobs, or is not surplus */
    ODI_BENCH_RETURNS, /* was called back */
    ODI_BENCH_LEAVES   /* its thread must end */
} odi_bench_result;

/* Parks a worker that saw ODI_SURPLUS between two jobs. It parks if it is still surplus and can hand its jobs
 * over. */
odi_bench_result odi_team_bench(odi_worker *worker);

/* Waits as a parked spare, as a team's first spare does from its start. The last parked spare stays parked
 * until it is called back, so a team with spares keeps at least two threads. */
odi_bench_result odi_team_sit(odi_worker *worker);

/* Returns the search token without having found a job. Returns false if the worker had no token. Owner only. */
bool odi_worker_stop_searching(odi_worker *worker);

/* Moves a worker between two jobs to its new assigned place. */
void odi_team_move(odi_worker *worker);

/* Ends a worker's thread: removes the worker from the table and frees its slot. */
void odi_team_depart(odi_worker *worker, bool from_bench);

#pragma GCC visibility pop

#endif
