/* work.h — whether a team has work, asked of all places where some may lie.
 *
 * Threads  anyone.
 */
#ifndef ODI_WORKER_WORK_H
#define ODI_WORKER_WORK_H

#include <stdbool.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* Whether any source holds work; exact after a fence the caller has with the pushers. */
bool odi_team_has_work(odi_team *team);

/* The same without forks, which not every worker may take at any time. */
bool odi_team_has_jobs(odi_team *team);

/* Whether something is due. */
bool odi_team_is_due(odi_team *team);

/* The same by the hints that are set before anything is published: for a finder of work,
 * who only must not miss what was published while it held the token. */
bool odi_team_seems_to_have_work(odi_team *team);

#pragma GCC visibility pop

#endif
