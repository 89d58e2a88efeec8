/* bench.h — how a worker leaves: for the bench while it is one too many, for another site when its assigned place is
 * there, or for good. All of it is the worker's own.
 */
#ifndef ODI_WORKER_BENCH_H
#define ODI_WORKER_BENCH_H

#include <stdbool.h>

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

typedef enum {
    ODI_BENCH_GOES_ON, /* it goes on with the jobs it has, or is not one too many */
    ODI_BENCH_RETURNS, /* it was called back */
    ODI_BENCH_LEAVES   /* its thread is to end */
} odi_bench_result;

/* A worker at a job boundary saw ODI_SURPLUS: it goes to the bench if it still is one too
 * many and can hand its jobs over. */
odi_bench_result odi_team_bench(odi_worker *worker);

/* On the bench already, as a team's first spare is from its beginning: waits there. The last one on the bench stays
 * there until it is called back: a team with a spare keeps two threads at least. */
odi_bench_result odi_team_sit(odi_worker *worker);

/* Gives the token back without a job in hand. False: the worker had none. Owner. */
bool odi_worker_stop_searching(odi_worker *worker);

/* A worker at a job boundary has to move: it goes to its new assigned place. */
void odi_team_move(odi_worker *worker);

/* A worker's thread ends: it is taken off the table and its slot is free. */
void odi_team_depart(odi_worker *worker, bool from_bench);

#pragma GCC visibility pop

#endif
