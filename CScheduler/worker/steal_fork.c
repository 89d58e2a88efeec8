/* steal_fork.c — how idle workers come by forks, and when one is woken for them.
 *
 * A fork thief looks at everybody's shared parts first, which owners rarely write; only then, and
 * at most once in a while, does it ask somebody for more.
 *
 * An external thread (a thread that is no worker) counts as one of the team's number while it is there:
 * workers that are then too many leave forks to the others.
 */
#include "base/rng.h"
#include "os/clock.h"
#include "worker/external.h"
#include "worker/find.h"
#include "worker/recruit.h"
#include "worker/worker.h"

/* `announced`: the worker is counted among the sleepers already. */
static bool may_steal(odi_worker *worker, bool announced)
{
    odi_team *team = worker->team;
    int externals = odi_externals_here(team);

    /* relaxed: a hint */
    return externals == 0 || odi_externals_excess(team, externals) + announced <= 0 ||
           worker->slot < odi_load_relaxed(&team->limit_seen) - externals;
}

void odi_forks_published(odi_forks *forks)
{
    odi_team *team = forks->team;

    /* relaxed, both: once for the team's life, and the publication's fence follows (S1), or F7's */
    if (ODI_UNLIKELY(!odi_load_relaxed(&team->forks_used)))
        odi_store_relaxed(&team->forks_used, true);
    /* Nobody to spare: whoever runs out of work finds the fork by itself. */
    if (!odi_externals_leave_room(team))
        return;
    /* A thief that has helped itself may not ask where another worker is there. */
    odi_team_publish(team, forks->worker != NULL && forks->worker == odi_worker_self
                                     ? forks->worker->site
                                     : odi_team_site_here(team));
}

/* ---- everybody's forks ---- */

typedef struct {
    odi_worker *worker;
    odi_forks *victim;
    od_fork_slot *slot;
    int64_t now;
} fork_search;

static bool take_shared(odi_forks *victim, void *raw)
{
    fork_search *it = raw;

    it->slot = odi_forks_steal(victim);
    it->victim = victim;
    return it->slot != NULL;
}

static bool ask(odi_forks *victim, void *raw)
{
    fork_search *it = raw;

    if (odi_forks_ask(victim, &it->worker->request, it->now))
        odi_forks_published(victim); /* the request that is met may have been a sleeper's */
    return it->worker->request.asked == victim; /* one at a time */
}

static bool want(odi_forks *victim, void *unused)
{
    (void)unused;
    odi_forks_want(victim);
    return false;
}

/* ---- the fork thief ---- */

/* relaxed load: the owner's word */
static void toggle_in_fork(odi_worker *worker)
{
    odi_store_release(&worker->forks_run, odi_load_relaxed(&worker->forks_run) + 1, W7);
}

/* The stolen fork that the worker's next job is. */
static void run_stolen(void *raw)
{
    odi_worker *worker = raw;

    toggle_in_fork(worker);
    odi_forks_run(&worker->forks, worker->stolen_from, worker->stolen);
    toggle_in_fork(worker);
}

bool odi_worker_steal_fork(odi_worker *worker, odi_entry *job)
{
    odi_team *team = worker->team;
    fork_search it = {.worker = worker};

    if (!odi_load_relaxed(&team->forks_used)) /* relaxed: a hint; asleep it is seen (S1) */
        return false;
    it.now = odi_clock_now();
    if (!may_steal(worker, false))
        return false;
    uint32_t start = (uint32_t)odi_rng_next(&worker->random);
    odi_read_begin();
    bool taken = odi_forks_visit(team, &worker->forks, start, take_shared, &it);
    bool asked = !taken && odi_forks_visit(team, &worker->forks, start, ask, &it);
    odi_read_end();
    if (!asked)
        worker->request.asked = NULL; /* whom it had asked may have left */
    if (!taken)
        return false;
    /* The request that its owner has met was everybody's: it stands again for those who sleep
     * on. (Without a fence: a fork of this very moment may be missed, the next one is not.) */
    if (odi_externals_excess(team, odi_externals_here(team)) < 0)
        odi_forks_want(it.victim);
    worker->stolen = it.slot;
    worker->stolen_from = it.victim;
    *job = odi_job_plain(run_stolen, worker, ODI_TAG_INTERNAL);
    return true;
}

void odi_worker_want_forks(odi_worker *worker)
{
    odi_team *team = worker->team;

    if (!odi_load_relaxed(&team->forks_used)) /* relaxed: the heavy fence follows (S1) */
        return;
    /* It may be that external threads keep it from looking for forks: they see this, or it sees them go (F7). */
    if (odi_externals_here(team) > 0)
        odi_store_relaxed(&team->held_back, true); /* relaxed: the heavy fence follows (F7) */
    odi_read_begin();
    (void)odi_forks_visit(team, &worker->forks, 0, want, NULL);
    odi_read_end();
}

bool odi_worker_could_steal_fork(odi_worker *worker)
{
    odi_team *team = worker->team;

    if (!odi_load_relaxed(&team->forks_used) || !may_steal(worker, true)) /* relaxed: S1's fence */
        return false;
    odi_read_begin();
    bool could = odi_team_holds_forks(team, &worker->forks);
    odi_read_end();
    return could;
}
