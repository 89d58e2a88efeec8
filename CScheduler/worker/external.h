/* external.h — external threads: threads that are not workers and fork in a team.
 *
 * An external thread takes a slot with a fork stack until it joins its outermost fork. Thieves visit this
 * stack like a worker's. Slots are created when first needed and live as long as the team. A thread reuses
 * its previous slot if it is free.
 *
 * An external thread counts towards the team's number of running threads. If that number is reached, new
 * forks are exposed without waking a worker (held back). The thread that holds forks back leaves a note and
 * checks once more. An external thread that leaves, or announces that it blocks, looks for the note and wakes
 * a worker. A thread that blocks without announcing it still counts.
 *
 * Threads  enter, leave: the external thread. The other functions: any thread.
 *
 * States   free -> here (enter) -> free (leave); while here, it may block
 *
 * Edges    F6  leave -> enter                 release/acquire  the slot's fork stack is empty
 *          F7  hold back <-> leave, sleep     full fences      the external thread sees the note and
 *                                                              its forks, or the author of the note
 *                                                              sees the room
 */
#ifndef ODI_WORKER_EXTERNAL_H
#define ODI_WORKER_EXTERNAL_H

#include "worker/forks.h"
#include "worker/team.h"

#pragma GCC visibility push(hidden)

/* Takes a slot for the calling thread. Returns NULL if an allocation fails or all slots are taken. */
odi_forks *odi_external_enter(odi_team *team);

/* Releases the external thread's slot before its root's join. */
void odi_external_give_up(odi_forks *external);

/* Frees all slots. No external thread may use them. */
void odi_externals_free(odi_team *team);

/* In a forked child: keeps the calling thread's slots, several if its scopes are nested. The slots of other
 * threads are abandoned. */
void odi_externals_forked(odi_team *team);

/* In a forked child whose only thread was this worker: turns its open forks into those of an external thread,
 * until their root is joined. */
void odi_external_begin_as(odi_worker *worker);

/* Whether an external thread is here, blocked or not. */
bool odi_externals_present(odi_team *team);

/* Returns the number of external threads that count as running now. */
int odi_externals_here(odi_team *team);

/* Returns how far the number of awake threads would exceed the limit with `externals` external threads. */
int odi_externals_excess(odi_team *team, int externals);

/* For a thread that has exposed forks: whether one more worker may be woken. False: the forks are held back,
 * and a note is left. */
bool odi_externals_leave_room(odi_team *team);

/* Marks the calling external thread as blocked outside the pool, or as running again. */
void odi_external_block(odi_forks *external);
void odi_external_unblock(odi_forks *external);

/* Returns the number of slots that exist; a slot that is not visible yet is NULL. */
static inline int odi_externals_seen(odi_team *team)
{
    return odi_load_relaxed(&team->externals_seen); /* relaxed: a hint, or the caller's fence */
}

static inline odi_forks *odi_external_at(odi_team *team, int place)
{
    return odi_load_acquire(&team->externals[place], W4);
}

/* Returns the team's next slot from *place on and advances *place; NULL at the end. */
static inline odi_forks *odi_external_next(odi_team *team, int *place)
{
    odi_forks *external = NULL;

    while (external == NULL && *place < odi_externals_seen(team))
        external = odi_external_at(team, (*place)++);
    return external;
}

#pragma GCC visibility pop

#endif
