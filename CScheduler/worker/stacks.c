/* stacks.c — walks all fork stacks of a team, workers' and external threads', and counts the awake threads. */
#include "os/pages.h"
#include "worker/external.h"
#include "worker/worker.h"

bool odi_forks_visit(odi_team *team, const odi_forks *own, uint32_t start,
                     odi_forks_visitor *visit, void *context)
{
    const odi_table *table = odi_load_acquire(&team->table, W1);
    uint32_t workers = (uint32_t)table->first[team->site_count];
    odi_forks *external;
    bool done = false;

    for (int place = 0; !done && (external = odi_external_next(team, &place)) != NULL;)
        done = external != own && visit(external, context);
    for (uint32_t i = 0; i < workers && !done; i++) {
        odi_forks *forks = &table->workers[(start + i) % workers]->forks;

        done = forks != own && visit(forks, context);
    }
    return done;
}

static bool holds_work(odi_forks *victim, void *unused)
{
    (void)unused;
    return odi_forks_hold_work(victim);
}

bool odi_team_holds_forks(odi_team *team, const odi_forks *own)
{
    return odi_load_relaxed(&team->forks_used) && /* relaxed: a hint, or the caller's fence */
           odi_forks_visit(team, own, 0, holds_work, NULL);
}

bool odi_team_wants_fork_thieves(odi_team *team)
{
    int externals = odi_externals_here(team);

    return (externals == 0 || odi_externals_excess(team, externals) < 0) && odi_team_holds_forks(team, NULL);
}

/* ---- the limit of awake threads ---- */

bool odi_externals_present(odi_team *team)
{
    odi_forks *external;

    for (int place = 0; (external = odi_external_next(team, &place)) != NULL;) {
        if (odi_load_relaxed(&external->taken) != 0) /* relaxed: a hint, to detect misuse */
            return true;
    }
    return false;
}

/* Whether the external thread is here and counts as running. */
static bool is_here(odi_forks *external)
{
    /* relaxed, both: hints, or F7's fence */
    return odi_load_relaxed(&external->taken) != 0 && !odi_load_relaxed(&external->says_blocking);
}

int odi_externals_here(odi_team *team)
{
    odi_forks *external;
    int here = 0;

    for (int place = 0; (external = odi_external_next(team, &place)) != NULL;)
        here += is_here(external);
    return here;
}

int odi_externals_excess(odi_team *team, int externals)
{
    /* relaxed, all: hints */
    int awake = odi_load_relaxed(&team->active_seen);

    for (int site = 0; site < team->site_count; site++)
        awake -= (int)odi_idle_sleepers(&team->sites[site].idle);
    return awake + externals - odi_load_relaxed(&team->limit_seen);
}

/* ---- slots of external threads ---- */

void odi_externals_free(odi_team *team)
{
    odi_forks *external;

    for (int place = 0; (external = odi_external_next(team, &place)) != NULL;) {
        odi_forks_free(external);
        if (!external->in_worker)
            odi_pages_free(external, sizeof *external);
    }
}

void odi_externals_forked(odi_team *team)
{
    odi_forks *external;
    int kept = 0;

    for (int place = 0; (external = odi_external_next(team, &place)) != NULL;) {
        /* relaxed, all: one thread exists */
        if (odi_load_relaxed(&external->taken) == 0 || !pthread_equal(external->thread, pthread_self()))
            continue; /* never freed in the child */
        odi_forks_lose(external); /* the thread returns to these forks, perhaps from an inner scope */
        odi_store_relaxed(&team->externals[kept++], external);
    }
    odi_store_relaxed(&team->externals_seen, kept); /* relaxed: one thread exists */
}

void odi_external_begin_as(odi_worker *worker)
{
    odi_forks *forks = &worker->forks;
    odi_team *team = worker->team;
    int place = odi_externals_seen(team);
    /* relaxed: owner-only words */
    bool idle = forks->slots == NULL || (forks->depth == 0 && odi_load_relaxed(&forks->owner.head) == forks->slots);

    if (idle && od_forks_self == &forks->owner)
        od_forks_self = NULL; /* its next fork takes a slot like any external thread's */
    if (idle || place == ODI_MOST_EXTERNALS)
        return;
    forks->worker = NULL;
    forks->leaves_at_root = true;
    forks->blocking_depth = 0;
    /* relaxed, all: one thread exists */
    odi_store_relaxed(&forks->says_blocking, false);
    odi_store_relaxed(&forks->taken, 1);
    odi_store_relaxed(&team->externals[place], forks);
    odi_store_relaxed(&team->externals_seen, place + 1);
}
