/* work.h — whether a team has work, checked in every source. Any thread may call these functions. */
#ifndef ODI_WORKER_WORK_H
#define ODI_WORKER_WORK_H

#include <stdbool.h>

#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* Whether any source holds work. Exact after a fence that the caller shares with the pushing threads. */
bool odi_team_has_work(odi_team *team);

/* Whether there is work other than forks, which not every worker may take at all times. */
bool odi_team_has_jobs(odi_team *team);

/* Whether a timer is due. */
bool odi_team_is_due(odi_team *team);

/* Whether the hints, which are set before a publication, show work. For a worker that has found work and
 * returns the search token. It must not miss work that was published while it held the token. */
bool odi_team_seems_to_have_work(odi_team *team);

#pragma GCC visibility pop

#endif
