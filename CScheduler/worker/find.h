/* find.h — where a worker's next job comes from: what is its own, then others' jobs and forks.
 *
 * Threads  the worker's own.
 */
#ifndef ODI_WORKER_FIND_H
#define ODI_WORKER_FIND_H

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* The worker's own deques and its site's injectors. */
bool odi_worker_find_local(odi_worker *worker, odi_entry *job);

/* Everybody else's deques and injectors, nearest first; what is more than one goes into the
 * worker's deque. The deques are empty when this is called. */
bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *job);

/* Whether bands other than `band` may have work at hand. A hint. Owner. */
bool odi_worker_other_bands(odi_worker *worker, uint32_t band);

/* Counts one more job of `band` that the worker has begun. True: other workers or sites hold work that is served at
 * least as urgently and nobody takes; the worker's next look takes it first. Owner. */
bool odi_worker_is_wanted_far(odi_worker *worker, uint32_t band);

/* ---- steal_fork.c ---- */

/* A fork of somebody else's. */
bool odi_worker_steal_fork(odi_worker *worker, odi_entry *job);

/* Before it sleeps: has everybody's next fork announced. The caller's heavy fence follows. */
void odi_worker_want_forks(odi_worker *worker);

/* Whether it could come by a fork; exact after that fence. */
bool odi_worker_could_steal_fork(odi_worker *worker);

#pragma GCC visibility pop

#endif
