/* assignment.h — which place of the plan each worker has, and what happens when the plan changes.
 *
 * A *place* is one of the plan's: a node, perhaps a CPU. As many slots as there are places have
 * one of their own, their *assigned place*; the others (spares) share them. A slot keeps its assigned place until
 * the plan changes, until its worker sits on the bench while another works that has none, or
 * until it is called back. Then two assigned places are exchanged, and who runs already *moves*: between
 * two jobs it goes to its new site and applies its new mask. Its jobs move with it.
 *
 * Owns     the assigned places, the plan, and the mark of who has to move (under the team's lock).
 * Never    knows why a plan changes: pool/ does.
 * Threads  whoever holds the lock; odi_assignment_settle: the worker itself.
 */
#ifndef ODI_WORKER_ASSIGNMENT_H
#define ODI_WORKER_ASSIGNMENT_H

#include <stdbool.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* False: memory is short. */
bool odi_assignment_init(odi_team *team);

/* Every slot at the place with its number: at first, and again in a forked child, which has no workers. */
void odi_assignment_number(odi_team *team);

/* Replaces the plan (NULL: keeps it), and gives each slot the place with its number again, but for workers that can
 * stay on their node. Returns what is to be freed. Lock held. */
odi_plan *odi_assignment_replan(odi_team *team, odi_plan *plan);

/* The site of a slot's assigned place, and whether that is its own. Lock held. */
int odi_assignment_site(const odi_team *team, int slot);
bool odi_assignment_is_own(const odi_team *team, int slot);

/* The slot's worker is about to work: it has an assigned place of its own if one is left. Lock held. */
void odi_assignment_take(odi_team *team, int slot);

/* A worker sits on the bench: its assigned place goes to one that works without. Lock held. */
void odi_assignment_give(odi_team *team);

/* Puts a worker that has no thread, or is the caller between two jobs, at its assigned place. Lock held. */
void odi_assignment_put(odi_worker *worker);

/* Applies the mask of the worker's assigned place to the calling thread, which is the worker's. */
void odi_assignment_settle(odi_worker *worker);

#pragma GCC visibility pop

#endif
