/* assignment.h — where each worker lives, and what happens when the plan changes.
 *
 * A *place* is one of the plan's: a node, perhaps a CPU. Each has the slot with its number. Slots beyond are spares': they
 * belong to the site of the place with their number, counted around, and the kernel moves them as it likes: so no CPU stays
 * without a thread where a spare works for a worker that sits on the bench. When the plan changes, who runs already
 * *moves*: between two jobs it goes to its new site and applies its new mask. Its jobs move with it.
 *
 * Owns     the plan, and the mark of who has to move (under the team's lock).
 * Never    knows why a plan changes: pool/ does.
 * Threads  whoever holds the lock; odi_assignment_settle: the worker itself.
 */
#ifndef ODI_WORKER_ASSIGNMENT_H
#define ODI_WORKER_ASSIGNMENT_H

#include <stdbool.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* Replaces the plan (NULL: keeps it). Returns what is to be freed. Lock held. */
odi_plan *odi_assignment_replan(odi_team *team, odi_plan *plan);

/* The site of a slot, and whether it has a place of its own. Lock held. */
int odi_assignment_site(const odi_team *team, int slot);
bool odi_assignment_is_own(const odi_team *team, int slot);

/* Puts a worker that has no thread, or is the caller between two jobs, at its slot's site. Lock held. */
void odi_assignment_put(odi_worker *worker);

/* Applies the mask of the worker's place to the calling thread, which is the worker's; a spare may go to every CPU of the plan. */
void odi_assignment_settle(odi_worker *worker);

#pragma GCC visibility pop

#endif
