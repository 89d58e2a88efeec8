/* find.h — finds a worker's next job: in its own deques, then among other workers' jobs and forks.
 *
 * Only the worker's own thread calls these functions.
 */
#ifndef ODI_WORKER_FIND_H
#define ODI_WORKER_FIND_H

#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Takes a job from the worker's deques or its site's injectors. */
bool odi_worker_find_local(odi_worker *worker, odi_entry *job);

/* Takes jobs from other deques and injectors, nearest first, or a fork. Further jobs go into the worker's
 * deque. The worker's deques are empty at the call. */
bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *job);

/* Whether bands other than `band` may have local work. A hint. Owner only. */
bool odi_worker_other_bands(odi_worker *worker, uint32_t band);

/* Counts one more started job of `band`. Returns true if other workers or sites hold untaken work of at least
 * this urgency; the worker's next search takes it first. Owner only. */
bool odi_worker_is_wanted_far(odi_worker *worker, uint32_t band);

/* ---- steal_fork.c ---- */

/* Steals a fork of another thread. */
bool odi_worker_steal_fork(odi_worker *worker, odi_entry *job);

/* Before a sleep: asks all fork owners to announce their next fork. The caller's heavy fence follows. */
void odi_worker_want_forks(odi_worker *worker);

/* Whether the worker could steal a fork; exact after that fence. */
bool odi_worker_could_steal_fork(odi_worker *worker);

#pragma GCC visibility pop

#endif
