#include "worker/guest.h"

#include "os/pages.h"

/* What a guest's stack could fork: the stacks of threads we know nothing of are smaller as a
 * rule, and who overruns this meets the guard page. */
#define GUEST_STACK ((size_t)256 << 20)

/* The place that the thread had last time. */
static _Thread_local int last_place;

static bool take(odi_forks *guest)
{
    uint32_t taken = 0;

    return guest != NULL && odi_cas_acquire(&guest->taken, &taken, 1, F6);
}

/* A new place, taken by the caller. */
ODI_COLD static odi_forks *make_place(odi_crew *crew)
{
    odi_forks *guest = NULL;

    odi_lock_acquire(&crew->lock);
    int place = odi_load_relaxed(&crew->guests_seen); /* relaxed: written under the lock */
    if (place < ODI_MOST_GUESTS &&
        (guest = odi_pages_new(sizeof *guest, ODI_ANY_NODE)) != NULL) {
        if (odi_forks_make(guest, crew, NULL, GUEST_STACK)) {
            odi_store_relaxed(&guest->taken, 1); /* relaxed: not shared yet */
            odi_store_release(&crew->guests[place], guest, W1);
            odi_store_release(&crew->guests_seen, place + 1, W1);
            last_place = place;
        } else {
            odi_pages_free(guest, sizeof *guest);
            guest = NULL;
        }
    }
    odi_lock_release(&crew->lock);
    return guest;
}

odi_forks *odi_guest_enter(odi_crew *crew)
{
    int places = odi_guests_seen(crew);

    for (int i = 0; i < places; i++) {
        int place = (last_place + i) % places;
        odi_forks *guest = odi_guest_at(crew, place);

        if (take(guest)) {
            last_place = place;
            return guest;
        }
    }
    return make_place(crew);
}

void odi_guest_leave(odi_forks *guest)
{
    od_forks_self = NULL;
    odi_guest_give_up(guest);
}

void odi_guest_give_up(odi_forks *guest)
{
    odi_store_release(&guest->taken, 0, F6);
}

/* ---- life ---- */

void odi_guests_free(odi_crew *crew)
{
    for (int i = 0; i < odi_guests_seen(crew); i++) {
        odi_forks *guest = odi_guest_at(crew, i);

        odi_forks_free(guest);
        odi_pages_free(guest, sizeof *guest);
    }
}

void odi_guests_forked(odi_crew *crew)
{
    for (int i = 0; i < odi_guests_seen(crew); i++) {
        odi_forks *guest = odi_guest_at(crew, i);

        if (&guest->owner != od_forks_self) {
            odi_forks_drop(guest);
            odi_store_relaxed(&guest->taken, 0); /* relaxed: one thread exists */
        }
    }
}
