/* steal_fork.c — how idle workers find forks, and when a worker is woken for them.
 *
 * A thief first checks the shared parts of all fork stacks, which owners rarely write. Only if these are
 * empty does it ask one owner for more, and not too often.
 *
 * An external thread counts towards the team's number while it is here. Surplus workers then leave forks to
 * other threads.
 */
#include "base/rng.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "worker/external.h"
#include "worker/find.h"
#include "worker/recruit.h"
#include "worker/worker.h"

/* `announced`: the worker already counts as a sleeper. */
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

    /* relaxed, both: set once per team, and the publication's fence follows (S1), or F7's */
    if (ODI_UNLIKELY(!odi_load_relaxed(&team->forks_used)))
        odi_store_relaxed(&team->forks_used, true);
    /* No thread to spare: a worker that runs out of work finds the fork. */
    if (!odi_externals_leave_room(team))
        return;
    /* A thief that has migrated forks may be on another site than the forks' owner. */
    odi_team_publish(team, forks->worker != NULL && forks->worker == odi_worker_self
                                     ? forks->worker->site
                                     : odi_team_site_here(team));
}

/* ---- all fork stacks ---- */

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
        odi_forks_published(victim); /* the request that was met may belong to a sleeper */
    return it->worker->request.asked == victim; /* one request at a time */
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

/* Runs the stolen fork as the worker's next job. */
static void run_stolen(void *raw)
{
    odi_worker *worker = raw;

    toggle_in_fork(worker);
    if (odi_traces())
        odi_trace(ODI_TRACE_BRANCH, ODI_TRACE_NO_BAND, NULL, 0);
    odi_forks_run(&worker->forks, worker->stolen_from, worker->stolen);
    if (odi_traces())
        odi_trace(ODI_TRACE_BRANCH_END, ODI_TRACE_NO_BAND, NULL, 0);
    toggle_in_fork(worker);
}

bool odi_worker_steal_fork(odi_worker *worker, odi_entry *job)
{
    odi_team *team = worker->team;
    fork_search it = {.worker = worker};

    if (!odi_load_relaxed(&team->forks_used)) /* relaxed: a hint; before a sleep S1 makes it visible */
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
        worker->request.asked = NULL; /* the victim may have left */
    if (!taken)
        return false;
    /* The request that the owner has met stood for all thieves: it is renewed for those that still sleep.
     * (Without a fence a fork of this moment may be missed; the next fork is not.) */
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
    /* External threads may keep this worker from forks: they see this note, or it sees them leave (F7). */
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
