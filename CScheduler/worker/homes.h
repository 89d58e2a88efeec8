/* homes.h — which place of the plan each worker has, and what happens when the plan changes.
 *
 * A *place* is one of the plan's: a node, perhaps a CPU. As many slots as there are places have
 * one of their own, their *home*; the others (spares) share them. A slot keeps its home until
 * the plan changes, until its worker sits on the bench while another works that has none, or
 * until it is called back. Then two homes are exchanged, and who runs already *moves*: between
 * two jobs it goes to its new site and applies its new mask. Its jobs move with it.
 *
 * Owns     the homes, the plan, and the mark of who has to move (under the crew's lock).
 * Never    knows why a plan changes: pool/ does.
 * Threads  whoever holds the lock; odi_home_move, odi_home_settle: the worker itself.
 */
#ifndef ODI_WORKER_HOMES_H
#define ODI_WORKER_HOMES_H

#include <stdbool.h>

#include "worker/crew.h"

#pragma GCC visibility push(hidden)

/* Every slot at the place with its number. False: memory is short. */
bool odi_homes_init(odi_crew *crew);
void odi_homes_free(odi_crew *crew);

/* In a forked child, which has no workers. */
void odi_homes_forked(odi_crew *crew);

/* Replaces the plan (NULL: keeps it) for `workers` places: workers that are there keep their
 * node as far as it has places, the others move. Returns what is to be freed. Lock held. */
odi_plan *odi_homes_replan(odi_crew *crew, odi_plan *plan);

/* The site of a slot's home, and whether that is its own. Lock held. */
int odi_home_site(const odi_crew *crew, int slot);
bool odi_home_is_own(const odi_crew *crew, int slot);

/* The slot's worker is about to work: it has a home of its own if one is left. Lock held. */
void odi_home_take(odi_crew *crew, int slot);

/* The slot's worker goes to the bench: its home goes to one that works without. Lock held. */
void odi_home_give(odi_crew *crew, int slot);

/* Puts a worker without a thread at its home. Lock held. */
void odi_home_put(odi_worker *worker);

/* A worker that leaves has nowhere to move to any more. Lock held. */
void odi_home_forget(odi_worker *worker);

/* Marks a worker as on the bench, where it does not move before it is called back, or as off it. Lock held. */
void odi_home_bench(odi_worker *worker, bool benched);

/* Goes to the site of the worker's home, between two jobs, if it has to move. It holds no
 * token. True: the mask is to be applied anew (odi_home_settle). */
bool odi_home_move(odi_worker *worker);

/* Applies the mask of the worker's home to the calling thread, which is the worker's. */
void odi_home_settle(odi_worker *worker);

#pragma GCC visibility pop

#endif
