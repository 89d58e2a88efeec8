/* work.c — whether a team has work, checked in every source. */
#include "worker/work.h"

#include "os/clock.h"
#include "worker/external.h"
#include "worker/worker.h"

/* `by_hints`: reads hints that are set before a publication. The site's `bands` does not qualify, because
 * another thread may have set its bits. A submitter writes only its ticket before it reads the token (S2). */
static bool has_jobs(odi_team *team, bool by_hints)
{
    const odi_table *table = odi_load_acquire(&team->table, W1);

    for (int site = 0; site < team->site_count; site++) {
        for (int band = 0; band < ODI_BANDS; band++) {
            odi_injector *injector = &team->sites[site].injectors[band];

            if (by_hints ? odi_injector_size(injector) > 0 : odi_injector_has_claimable(injector))
                return true;
        }
    }
    for (int i = 0; i < table->first[team->site_count]; i++) {
        odi_worker *worker = table->workers[i];
        /* relaxed: S2's fence precedes it */
        uint32_t bands = by_hints ? odi_load_relaxed(&worker->bands) : ODI_ALL_BANDS;

        for (; bands != 0; bands &= bands - 1) {
            if (odi_deque_size(&worker->deques[__builtin_ctz(bands)]) > 0)
                return true;
        }
    }
    return false;
}

bool odi_team_has_jobs(odi_team *team)
{
    odi_reader_join();
    odi_read_begin();
    bool has = has_jobs(team, false);
    odi_read_end();
    odi_reader_leave();
    return has;
}

bool odi_team_is_due(odi_team *team)
{
    if (ODI_LIKELY(!odi_timer_queue_is_used(&team->timers)))
        return false;
    int64_t earliest = odi_timer_queue_earliest(&team->timers);

    return earliest != ODI_FOREVER && earliest <= odi_clock_now();
}

bool odi_team_has_work(odi_team *team)
{
    odi_reader_join();
    odi_read_begin();
    bool has = has_jobs(team, false) || odi_team_holds_forks(team, NULL);
    odi_read_end();
    odi_reader_leave();
    return has || odi_team_is_due(team);
}

bool odi_team_seems_to_have_work(odi_team *team)
{
    odi_read_begin();
    bool seems = has_jobs(team, true) || odi_team_wants_fork_thieves(team);
    odi_read_end();
    return seems;
}
