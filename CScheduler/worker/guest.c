#include "worker/guest.h"

#include "os/pages.h"
#include "os/thread.h"
#include "worker/worker.h"

/* What a guest's stack could fork: the stacks of threads we know nothing of are smaller as a
 * rule, and who overruns this meets the guard page. */
#define GUEST_STACK ((size_t)256 << 20)

/* The place that the thread had last time, and what the monitor is told of the thread. */
static _Thread_local int last_place, own_id, own_clock;

/* Says whose place it is: before the monitor can see it, to whom a clock that is not set, 0, is the wall's. */
static void introduce(odi_forks *guest)
{
    if (ODI_UNLIKELY(own_id == 0)) {
        own_id = odi_thread_id();
        own_clock = odi_thread_cpu_clock();
    }
    /* relaxed, both: for the monitor, which thinks again where another guest has entered */
    odi_store_relaxed(&guest->thread_id, own_id);
    odi_store_relaxed(&guest->cpu_clock, own_clock);
}

/* The place is the calling thread's. */
static odi_forks *settle(odi_forks *guest)
{
    introduce(guest);
    /* relaxed, all: for the monitor, as above */
    odi_store_relaxed(&guest->says_blocking, false);
    odi_store_relaxed(&guest->visits, odi_load_relaxed(&guest->visits) + 1);
    guest->blocking_depth = guest->depth = 0;
    guest->thread = pthread_self();
    return guest;
}

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
            introduce(guest);
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
            return settle(guest);
        }
    }
    odi_forks *guest = make_place(crew);
    return guest != NULL ? settle(guest) : NULL;
}

/* ---- how many may be awake ---- */

bool odi_guests_present(odi_crew *crew)
{
    for (int i = 0; i < odi_guests_seen(crew); i++) {
        odi_forks *guest = odi_guest_at(crew, i);

        if (guest != NULL && odi_load_relaxed(&guest->taken) != 0) /* relaxed: for misuse */
            return true;
    }
    return false;
}

int odi_guests_here(odi_crew *crew)
{
    int here = 0;

    for (int i = 0; i < odi_guests_seen(crew); i++) {
        odi_forks *guest = odi_guest_at(crew, i);

        here += guest != NULL && odi_guest_is_here(guest);
    }
    return here;
}

int odi_guests_excess(odi_crew *crew, int guests)
{
    /* relaxed, all: hints */
    int awake = odi_load_relaxed(&crew->active_seen);

    for (int site = 0; site < crew->site_count; site++)
        awake -= (int)odi_idle_sleepers(&crew->sites[site].idle);
    return awake + guests - odi_load_relaxed(&crew->limit_seen);
}

static bool is_full(odi_crew *crew)
{
    int guests = odi_guests_here(crew);

    return guests > 0 && odi_guests_excess(crew, guests) >= 0;
}

bool odi_guests_leave_room(odi_crew *crew)
{
    if (!is_full(crew))
        return true;
    odi_store_relaxed(&crew->held_back, true); /* relaxed: F7's fence follows */
    odi_fence_seqcst(F7);
    if (!is_full(crew))
        return true; /* a guest has gone meanwhile, and may not have seen the note */
    if (odi_load_relaxed(&crew->attention) & ODI_MONITOR_OFF) /* relaxed: a hint */
        crew->arm_monitor(crew); /* a guest may block without saying so */
    return false;
}

/* Forks were held back: a worker may take the guest's part now. */
ODI_COLD static void call_for_help(odi_crew *crew)
{
    /* relaxed: F7's fence stands before it, or who wrote the note sees the room itself */
    if (odi_swap_relaxed(&crew->held_back, false) && odi_crew_has_work(crew))
        odi_crew_publish(crew, odi_crew_site_here(crew));
}

/* The calling guest counts no more: `taken` says so, or `says_blocking`. */
static void make_room(odi_crew *crew)
{
    odi_fence_seqcst(F7);
    if (ODI_UNLIKELY(odi_load_relaxed(&crew->held_back))) /* relaxed: F7's fence */
        call_for_help(crew);
}

void odi_guest_leave(odi_forks *guest)
{
    od_forks_self = NULL;
    odi_guest_give_up(guest);
}

void odi_guest_give_up(odi_forks *guest)
{
    odi_crew *crew = guest->crew;

    guest->thread = (pthread_t)0;
    odi_store_release(&guest->taken, 0, F6);
    make_room(crew);
}

void odi_guest_block(odi_forks *guest)
{
    if (guest->blocking_depth++ > 0)
        return;
    odi_store_relaxed(&guest->says_blocking, true); /* relaxed: F7's fence follows */
    make_room(guest->crew);
}

void odi_guest_unblock(odi_forks *guest)
{
    /* A section that began before the guest came ends here: then there is none. */
    if (guest->blocking_depth > 0 && --guest->blocking_depth == 0)
        odi_store_relaxed(&guest->says_blocking, false); /* relaxed: a hint */
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

        if (odi_load_relaxed(&guest->taken) != 0 && /* relaxed: one thread exists */
            pthread_equal(guest->thread, pthread_self()))
            odi_forks_lose(guest); /* it comes back to these forks, from a stay inside perhaps */
        else {
            odi_forks_drop(guest);
            odi_store_relaxed(&guest->taken, 0); /* relaxed: as above */
        }
        odi_store_relaxed(&guest->seems_blocked, false); /* relaxed: as above */
    }
    odi_store_relaxed(&crew->held_back, false); /* relaxed: as above */
}

void odi_guest_forget_thread(void)
{
    own_id = 0;
}
