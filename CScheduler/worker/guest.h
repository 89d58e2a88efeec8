/* guest.h — threads that are no workers and fork in a crew all the same.
 *
 * A guest takes a place, whose forks thieves visit like a worker's, for as long as its
 * outermost fork lasts. Places are made when first needed and live as long as the crew; a
 * thread finds the one it had last time first.
 *
 * Threads  enter, leave: the guest. The others: anyone.
 *
 * States   free -> here (enter) -> asleep in a join -> here -> free (leave)
 *
 * Edges    F6  leave -> enter   release/acquire   the place's stack is empty
 */
#ifndef ODI_WORKER_GUEST_H
#define ODI_WORKER_GUEST_H

#include "worker/crew.h"
#include "worker/forks.h"

#pragma GCC visibility push(hidden)

/* Takes a place for the calling thread. NULL: memory is short, or all are taken. */
odi_forks *odi_guest_enter(odi_crew *crew);

/* The guest goes without being asked to by its root's join. */
void odi_guest_give_up(odi_forks *guest);

/* Frees all places. No guest is there. */
void odi_guests_free(odi_crew *crew);

/* In a forked child: nobody is there but, perhaps, the calling thread. */
void odi_guests_forked(odi_crew *crew);

/* Places that exist: those of a lower number that are not NULL. */
static inline int odi_guests_seen(odi_crew *crew)
{
    return odi_load_relaxed(&crew->guests_seen); /* relaxed: a hint, or the caller's fence */
}

static inline odi_forks *odi_guest_at(odi_crew *crew, int place)
{
    return odi_load_acquire(&crew->guests[place], W1);
}

static inline bool odi_guest_is_here(odi_forks *guest)
{
    return odi_load_relaxed(&guest->taken) == 1; /* relaxed: a hint */
}

#pragma GCC visibility pop

#endif
