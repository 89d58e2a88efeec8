/* hunt.c — how idle workers come by forks, and when one is woken for them.
 *
 * A hunter looks at everybody's shared parts first, which owners rarely write; only then, and
 * at most once in a while, does it ask somebody for more. A worker that has run a short fork
 * leaves forks alone for a moment, longer each time: where trees are small their owners are
 * done sooner alone. It goes on at once where the victim's word is as it left it, because that
 * owner is busy elsewhere.
 *
 * A guest (a thread that is no worker) counts as one of the crew's number while it is there:
 * workers that are then too many leave forks to the others.
 */
#include "base/rng.h"
#include "os/clock.h"
#include "worker/guest.h"
#include "worker/worker.h"

/* A fork that ran for less than this was hardly worth taking. */
enum { SHORT_NS = 5000, FIRST_REST_NS = 10000, LONGEST_REST_NS = 80000 };

/* `announced`: the worker is counted among the sleepers already. */
static bool may_hunt(odi_worker *worker, bool announced)
{
    odi_crew *crew = worker->crew;
    int guests = odi_guests_here(crew);

    /* relaxed: a hint */
    return guests == 0 || odi_guests_excess(crew, guests) + announced <= 0 ||
           worker->slot < odi_load_relaxed(&crew->limit_seen) - guests;
}

void odi_forks_published(odi_forks *forks)
{
    odi_crew *crew = forks->crew;

    /* relaxed: once for the crew's life */
    if (ODI_UNLIKELY(!odi_load_relaxed(&crew->forks_used))) {
        odi_store_relaxed(&crew->forks_used, true);
        odi_fence_light(S1);
    }
    /* Nobody to spare: whoever runs out of work finds the fork by itself. */
    if (!odi_guests_leave_room(crew))
        return;
    /* A thief that has helped itself may not ask where another worker is at home. */
    odi_crew_publish(crew, forks->worker != NULL && forks->worker == odi_worker_self
                                     ? forks->worker->site
                                     : odi_crew_site_here(crew));
}

/* ---- everybody's forks ---- */

/* Calls `visit` for every stack of forks but `own`, until it says true. Inside a read section:
 * the table may be replaced. */
static bool visit_all(odi_crew *crew, const odi_forks *own, uint32_t start,
                      bool (*visit)(odi_forks *victim, void *context), void *context)
{
    const odi_table *table = odi_load_acquire(&crew->table, W1);
    uint32_t workers = (uint32_t)table->first[crew->site_count];
    bool done = false;

    for (int i = 0; i < odi_guests_seen(crew) && !done; i++) {
        odi_forks *guest = odi_guest_at(crew, i);

        done = guest != NULL && guest != own && visit(guest, context);
    }
    for (uint32_t i = 0; i < workers && !done; i++) {
        odi_forks *forks = &table->workers[(start + i) % workers]->forks;

        done = forks != own && visit(forks, context);
    }
    return done;
}

typedef struct {
    odi_worker *worker;
    odi_forks *victim;
    od_fork_slot *slot;
    int64_t now;
} hunt;

static bool take_shared(odi_forks *victim, void *raw)
{
    hunt *it = raw;

    it->slot = odi_forks_steal(victim);
    it->victim = victim;
    return it->slot != NULL;
}

static bool ask(odi_forks *victim, void *raw)
{
    hunt *it = raw;

    odi_forks_ask(victim, &it->worker->press, it->now);
    return it->worker->press.asked == victim; /* one at a time */
}

static bool want(odi_forks *victim, void *unused)
{
    (void)unused;
    odi_forks_want(victim);
    return false;
}

static bool holds_work(odi_forks *victim, void *unused)
{
    (void)unused;
    return odi_forks_hold_work(victim);
}

/* ---- the hunter ---- */

/* The stolen fork that the worker's next job is. */
static void run_loot(void *raw)
{
    odi_worker *worker = raw;
    odi_forks *victim = worker->loot_victim;
    od_fork_slot *slot = worker->loot;
    bool more;

    do {
        int64_t before = odi_clock_now();

        odi_worker_toggle_in_fork(worker);
        odi_forks_run(&worker->forks, victim, slot);
        odi_worker_toggle_in_fork(worker);
        if (odi_clock_now() - before >= SHORT_NS)
            worker->rest_ns = 0;
        else if (worker->rest_ns < LONGEST_REST_NS)
            worker->rest_ns = worker->rest_ns == 0 ? FIRST_REST_NS : 2 * worker->rest_ns;
        /* relaxed, both: hints. What else waits, or a change of the crew, is looked at first. */
        more = (odi_load_relaxed(&worker->crew->attention) &
                (ODI_SURPLUS | ODI_STOPPING | ODI_CANCELLING)) == 0 &&
               odi_load_relaxed(&worker->site->bands) == 0 &&
               odi_forks_untouched(victim, slot) &&
               (slot = odi_forks_steal(victim)) != NULL;
    } while (more);
    worker->hunt_again_ns = worker->rest_ns == 0 ? 0 : odi_clock_after(worker->rest_ns);
}

bool odi_worker_hunt(odi_worker *worker, odi_entry *job)
{
    odi_crew *crew = worker->crew;
    hunt it = {.worker = worker};

    if (!odi_load_relaxed(&crew->forks_used)) /* relaxed: a hint; asleep it is seen (S1) */
        return false;
    it.now = odi_clock_now();
    if (it.now < worker->hunt_again_ns || !may_hunt(worker, false))
        return false;
    uint32_t start = (uint32_t)odi_rng_next(&worker->random);
    if (!visit_all(crew, &worker->forks, start, take_shared, &it)) {
        if (!visit_all(crew, &worker->forks, start, ask, &it))
            worker->press.asked = NULL; /* whom it had asked may have left */
        return false;
    }
    worker->press.asked = NULL;
    /* The request that its owner has met was everybody's: it stands again for those who sleep
     * on. (Without a fence: a fork of this very moment may be missed, the next one is not.) */
    if (odi_guests_excess(crew, odi_guests_here(crew)) < 0)
        odi_forks_want(it.victim);
    worker->loot = it.slot;
    worker->loot_victim = it.victim;
    *job = odi_job_plain(run_loot, worker, ODI_TAG_INTERNAL);
    return true;
}

void odi_worker_want_forks(odi_worker *worker)
{
    odi_crew *crew = worker->crew;

    if (!odi_load_relaxed(&crew->forks_used)) /* relaxed: the heavy fence follows (S1) */
        return;
    /* It may be that guests keep it from hunting: they see this, or it sees them go (F7). */
    if (odi_guests_here(crew) > 0)
        odi_store_relaxed(&crew->held_back, true); /* relaxed: the heavy fence follows (F7) */
    odi_read_begin();
    (void)visit_all(crew, &worker->forks, 0, want, NULL);
    odi_read_end();
}

bool odi_worker_could_hunt(odi_worker *worker)
{
    odi_crew *crew = worker->crew;

    if (!odi_load_relaxed(&crew->forks_used) || !may_hunt(worker, true)) /* relaxed: S1's fence */
        return false;
    odi_read_begin();
    bool could = visit_all(crew, &worker->forks, 0, holds_work, NULL);
    odi_read_end();
    return could;
}

bool odi_crew_holds_forks(odi_crew *crew)
{
    return odi_load_relaxed(&crew->forks_used) && /* relaxed: a hint, or the caller's fence */
           visit_all(crew, NULL, 0, holds_work, NULL);
}

bool odi_crew_wants_hunters(odi_crew *crew)
{
    int guests = odi_guests_here(crew);

    return (guests == 0 || odi_guests_excess(crew, guests) < 0) && odi_crew_holds_forks(crew);
}
