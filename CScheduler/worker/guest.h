/* guest.h — threads that are no workers and fork in a crew all the same.
 *
 * A guest takes a place, whose forks thieves visit like a worker's, for as long as its
 * outermost fork lasts. Places are made when first needed and live as long as the crew; a
 * thread finds the one it had last time first.
 *
 * It counts as one of the crew's number while it is here. So forks may be held back: exposed,
 * and nobody woken for them, because as many threads run as may. Who holds them back leaves a
 * note, and looks once more; a guest that makes room (it leaves, or blocks and says so, as it
 * does asleep in a join) looks for the note, and wakes a worker. One that blocks and does not say so is found
 * by the monitor, which is armed with the note.
 *
 * Threads  enter, leave: the guest. The others: anyone.
 *
 * States   free -> here (enter) -> free (leave); meanwhile it may block
 *
 * Edges    F6  leave -> enter                 release/acquire  the place's stack is empty
 *          F7  hold back <-> leave, sleep     full fences      the guest sees the note, and the
 *                                                              forks that it is about; or who
 *                                                              wrote it sees the room
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

/* In a forked child: nobody is there but, perhaps, the calling thread, at more than one place
 * where its stays are nested. */
void odi_guests_forked(odi_crew *crew);

/* In a forked child, whatever pools there are: its thread has another number. */
void odi_guest_forget_thread(void);

/* Whether a guest is here, in whatever state. */
bool odi_guests_present(odi_crew *crew);

/* How many guests count as workers now. */
int odi_guests_here(odi_crew *crew);

/* How many threads more than the crew's number would be awake with that many guests. */
int odi_guests_excess(odi_crew *crew, int guests);

/* For who has exposed forks and would wake a worker for them: whether there is room for one.
 * False: they are held back, and it has been noted. */
bool odi_guests_leave_room(odi_crew *crew);

/* The calling guest waits (or not any more) for something outside of the pool, and says so. */
void odi_guest_block(odi_forks *guest);
void odi_guest_unblock(odi_forks *guest);

/* Places that exist: those of a lower number that are not NULL. */
static inline int odi_guests_seen(odi_crew *crew)
{
    return odi_load_relaxed(&crew->guests_seen); /* relaxed: a hint, or the caller's fence */
}

static inline odi_forks *odi_guest_at(odi_crew *crew, int place)
{
    return odi_load_acquire(&crew->guests[place], W1);
}

/* Here, and counted. */
static inline bool odi_guest_is_here(odi_forks *guest)
{
    /* relaxed, all: hints, or F7's fence */
    return odi_load_relaxed(&guest->taken) != 0 && !odi_load_relaxed(&guest->says_blocking) &&
           !odi_load_relaxed(&guest->seems_blocked);
}

#pragma GCC visibility pop

#endif
