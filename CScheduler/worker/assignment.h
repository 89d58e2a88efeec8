/* assignment.h — the assignment of workers to the places of the placement plan, and its changes.
 *
 * A *place* of the plan is a node, with or without a CPU. The first slots have one *assigned place* each; the
 * other slots (spares) share places. A slot keeps its place until the plan changes, its worker parks while a
 * worker without a place runs, or its worker is called back. Then two slots exchange their places. A running
 * worker *moves* between two jobs: it goes to its new site with its jobs and applies its new CPU mask.
 *
 * Owns     the assigned places, the plan, and the marks of workers that must move (team's lock).
 * Never    knows why a plan changes; pool/ does.
 * Threads  holders of the lock; odi_assignment_settle: the worker only.
 */
#ifndef ODI_WORKER_ASSIGNMENT_H
#define ODI_WORKER_ASSIGNMENT_H

#include <stdbool.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* Returns false if an allocation fails. */
bool odi_assignment_init(odi_team *team);

/* Assigns to every slot the place with its number: at creation, and in a forked child, which has no workers. */
void odi_assignment_number(odi_team *team);

/* Replaces the plan (NULL: keeps it) and renumbers the places, except that workers stay on their node if
 * possible. Returns the old plan for the caller to free. Lock held. */
odi_plan *odi_assignment_replan(odi_team *team, odi_plan *plan);

/* Returns the site of a slot's assigned place, and whether the slot has a place that it does not share. Lock
 * held. */
int odi_assignment_site(const odi_team *team, int slot);
bool odi_assignment_is_own(const odi_team *team, int slot);

/* Gives an unshared place, if one is left, to the slot, whose worker is about to run. Lock held. */
void odi_assignment_take(odi_team *team, int slot);

/* Gives the place of a parked worker to a running worker without an unshared place. Lock held. */
void odi_assignment_give(odi_team *team);

/* Moves a worker to its assigned place. The worker has no thread, or is the caller between two jobs. Lock
 * held. */
void odi_assignment_put(odi_worker *worker);

/* Applies the CPU mask of the worker's assigned place to the calling thread, the worker's own. */
void odi_assignment_settle(odi_worker *worker);

#pragma GCC visibility pop

#endif
