/* external.c — slots and fork stacks of external threads, and the wake-up of workers for forks that were held
 * back. */
#include "worker/external.h"

#include "os/pages.h"
#include "worker/recruit.h"
#include "worker/work.h"
#include "worker/worker.h"

/* Size of an external thread's fork stack. The stacks of unknown threads are usually smaller; an overrun hits
 * the guard page. */
#define EXTERNAL_STACK ((size_t)256 << 20)

/* The slot that this thread used last. */
static _Thread_local int last_place;

/* Prepares a slot that the calling thread has taken. */
static odi_forks *settle(odi_forks *external, int place)
{
    last_place = place;
    odi_store_relaxed(&external->says_blocking, false); /* relaxed: a hint */
    external->blocking_depth = external->depth = 0;
    external->thread = pthread_self();
    return external;
}

static bool take(odi_forks *external)
{
    uint32_t taken = 0;

    return external != NULL && odi_cas_acquire(&external->taken, &taken, 1, F6);
}

/* Creates a new slot and takes it for the caller. */
ODI_COLD static odi_forks *make_place(odi_team *team)
{
    odi_forks *external = NULL;

    odi_lock_acquire(&team->lock);
    int place = odi_load_relaxed(&team->externals_seen); /* relaxed: written under the lock */
    if (place < ODI_MOST_EXTERNALS &&
        (external = odi_pages_new(sizeof *external, ODI_ANY_NODE)) != NULL) {
        if (odi_forks_make(external, team, NULL, EXTERNAL_STACK)) {
            odi_store_relaxed(&external->taken, 1); /* relaxed: not shared yet */
            odi_store_release(&team->externals[place], settle(external, place), W4);
            odi_store_relaxed(&team->externals_seen, place + 1); /* relaxed: a slot that is not visible yet is
                                                                    NULL */
        } else {
            odi_pages_free(external, sizeof *external);
            external = NULL;
        }
    }
    odi_lock_release(&team->lock);
    return external;
}

odi_forks *odi_external_enter(odi_team *team)
{
    int places = odi_externals_seen(team);

    for (int i = 0; i < places; i++) {
        int place = (last_place + i) % places;
        odi_forks *external = odi_external_at(team, place);

        if (take(external))
            return settle(external, place);
    }
    return make_place(team);
}

/* ---- the limit of awake threads ---- */

static bool is_full(odi_team *team)
{
    int externals = odi_externals_here(team);

    return externals > 0 && odi_externals_excess(team, externals) >= 0;
}

bool odi_externals_leave_room(odi_team *team)
{
    if (!is_full(team))
        return true;
    odi_store_relaxed(&team->held_back, true); /* relaxed: F7's fence follows */
    odi_fence_seqcst(F7);
    return !is_full(team); /* rechecked: an external thread may have left without seeing the note */
}

/* Wakes a worker for forks that were held back; it may replace the external thread. */
ODI_COLD static void call_for_help(odi_team *team)
{
    /* relaxed: F7's fence precedes it, or the author of the note sees the room */
    if (odi_swap_relaxed(&team->held_back, false) && odi_team_has_work(team))
        odi_team_publish(team, odi_team_site_here(team));
}

/* The calling external thread no longer counts, as `taken` or `says_blocking` shows. */
static void make_room(odi_team *team)
{
    odi_fence_seqcst(F7);
    if (ODI_UNLIKELY(odi_load_relaxed(&team->held_back))) /* relaxed: F7's fence */
        call_for_help(team);
}

void odi_external_leave(odi_forks *external)
{
    od_forks_self = NULL;
    odi_external_give_up(external);
}

void odi_external_give_up(odi_forks *external)
{
    odi_team *team = external->team;

    external->thread = (pthread_t)0;
    odi_store_release(&external->taken, 0, F6);
    make_room(team);
}

void odi_external_block(odi_forks *external)
{
    if (external->blocking_depth++ > 0)
        return;
    odi_store_relaxed(&external->says_blocking, true); /* relaxed: F7's fence follows */
    make_room(external->team);
}

void odi_external_unblock(odi_forks *external)
{
    /* A blocking section that began before the thread entered has no count here. */
    if (external->blocking_depth > 0 && --external->blocking_depth == 0)
        odi_store_relaxed(&external->says_blocking, false); /* relaxed: a hint */
}
