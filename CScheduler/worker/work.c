/* work.c — whether a team has work, asked of all places where some may lie. */
#include "worker/team.h"

#include "worker/due.h"
#include "worker/external.h"
#include "worker/worker.h"

static bool has_jobs(odi_team *team)
{
    const odi_table *table = odi_load_acquire(&team->table, W1);

    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++) {
            if (odi_injector_has_claimable(&team->sites[site].injectors[band]))
                return true;
        }
    }
    for (int i = 0; i < table->first[team->site_count]; i++) {
        for (int band = 0; band < ODI_BANDS; band++) {
            if (odi_deque_size(&table->workers[i]->deques[band]) > 0)
                return true;
        }
    }
    return false;
}

bool odi_team_has_jobs(odi_team *team)
{
    odi_reader_join();
    odi_read_begin();
    bool has = has_jobs(team);
    odi_read_end();
    odi_reader_leave();
    return has;
}

bool odi_team_has_work(odi_team *team)
{
    odi_reader_join();
    odi_read_begin();
    bool has = has_jobs(team) || odi_team_holds_forks(team);
    odi_read_end();
    odi_reader_leave();
    return has || odi_team_is_due(team);
}

/* Not by the site's `bands`, whose bits another may have set: a submitter puts nothing but its
 * ticket before its look at the token (S2). */
static bool injectors_seem_full(odi_site *site)
{
    for (int band = 0; band < ODI_BANDS; band++) {
        if (odi_injector_size(&site->injectors[band]) > 0)
            return true;
    }
    return false;
}

static bool deques_seem_full(odi_worker *worker)
{
    /* relaxed: S2's fence stands before it */
    for (uint32_t bands = odi_load_relaxed(&worker->bands); bands != 0; bands &= bands - 1) {
        if (odi_deque_size(&worker->deques[__builtin_ctz(bands)]) > 0)
            return true;
    }
    return false;
}

bool odi_team_seems_to_have_work(odi_team *team)
{
    bool seems = false;

    for (int site = 0; site < team->site_count && !seems; site++)
        seems = injectors_seem_full(&team->sites[site]);
    odi_read_begin();
    const odi_table *table = odi_load_acquire(&team->table, W1);
    for (int i = 0; i < table->first[team->site_count] && !seems; i++)
        seems = deques_seem_full(table->workers[i]);
    seems = seems || odi_team_wants_fork_thieves(team);
    odi_read_end();
    return seems;
}
