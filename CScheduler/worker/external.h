/* external.h — threads that are no workers and fork in a team all the same.
 *
 * An external thread takes a place, whose forks thieves visit like a worker's, for as long as its
 * outermost fork lasts. Places are made when first needed and live as long as the team; a
 * thread finds the one it had last time first.
 *
 * It counts as one of the team's number while it is here. So forks may be held back: exposed,
 * and nobody woken for them, because as many threads run as may. Who holds them back leaves a
 * note, and looks once more; an external thread that makes room (it leaves, or blocks and says so, as it
 * does asleep in a join) looks for the note, and wakes a worker. One that blocks and does not say so counts on.
 *
 * Threads  enter, leave: the external thread. The others: anyone.
 *
 * States   free -> here (enter) -> free (leave); meanwhile it may block
 *
 * Edges    F6  leave -> enter                 release/acquire  the place's stack is empty
 *          F7  hold back <-> leave, sleep     full fences      the external thread sees the note, and the
 *                                                              forks that it is about; or who
 *                                                              wrote it sees the room
 */
#ifndef ODI_WORKER_EXTERNAL_H
#define ODI_WORKER_EXTERNAL_H

#include "worker/forks.h"
#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* Takes a place for the calling thread. NULL: memory is short, or all are taken. */
odi_forks *odi_external_enter(odi_team *team);

/* The external thread goes without being asked to by its root's join. */
void odi_external_give_up(odi_forks *external);

/* Frees all places. No external thread is there. */
void odi_externals_free(odi_team *team);

/* In a forked child: the places that the calling thread is at stay, more than one where its scopes are nested. Others'
 * are left to themselves with what lies there. */
void odi_externals_forked(odi_team *team);

/* In a forked child, whose only thread was this worker: what it is in the midst of forking is an external
 * thread's from here on, until its root is joined. */
void odi_external_begin_as(odi_worker *worker);

/* Whether an external thread is here, in whatever state. */
bool odi_externals_present(odi_team *team);

/* How many external threads count as workers now. */
int odi_externals_here(odi_team *team);

/* How many threads more than the team's number would be awake with that many external threads. */
int odi_externals_excess(odi_team *team, int externals);

/* For who has exposed forks and would wake a worker for them: whether there is room for one.
 * False: they are held back, and it has been noted. */
bool odi_externals_leave_room(odi_team *team);

/* The calling external thread waits (or not any more) for something outside of the pool, and says so. */
void odi_external_block(odi_forks *external);
void odi_external_unblock(odi_forks *external);

/* Places that exist: those of a lower number that are not NULL. */
static inline int odi_externals_seen(odi_team *team)
{
    return odi_load_relaxed(&team->externals_seen); /* relaxed: a hint, or the caller's fence */
}

static inline odi_forks *odi_external_at(odi_team *team, int place)
{
    return odi_load_acquire(&team->externals[place], W4);
}

/* The team's first place from *place on, which goes behind it; NULL: there is none. */
static inline odi_forks *odi_external_next(odi_team *team, int *place)
{
    odi_forks *external = NULL;

    while (external == NULL && *place < odi_externals_seen(team))
        external = odi_external_at(team, (*place)++);
    return external;
}

#pragma GCC visibility pop

#endif
