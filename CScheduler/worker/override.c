#include "worker/override.h"

#include "worker/worker.h"

static odi_lock overrides_lock;
static odi_override *overrides;
static uint32_t times_forked; /* an override of before is the parent's */

void odi_override_name(odi_override *override, odi_team *team, uint32_t band)
{
    uint32_t i = 0;

    if (band <= override->band)
        return;
    while (i < override->count && override->of[i].team != team)
        i++;
    if (i == ODI_OVERRIDE_TEAMS)
        return;
    override->count += i == override->count;
    override->of[i].team = team;
    override->of[i].bands |= 1u << band;
}

/* What each band is served as, in four bits: one more than the highest that overrides it, or 0. Lock
 * held. */
static void tell_workers(odi_team *team)
{
    uint32_t overridden = 0;

    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        uint32_t as = 0;

        while (as < band && team->overrides[band][as] == 0)
            as++;
        overridden |= as < band ? (as + 1) << (4 * band) : 0;
    }
    odi_store_relaxed(&team->overridden, overridden); /* relaxed: a hint */
}

/* Workers with work of another band look farther only where several bands are hinted at. (Where
 * forks are used a hint for nothing would keep idle workers from looking for them, for a moment.) */
static void hint(odi_team *team, uint32_t bands)
{
    /* relaxed, all: hints */
    bool forks_used = odi_load_relaxed(&team->forks_used);

    for (int i = 0; i < team->site_count; i++) {
        uint32_t present = odi_load_relaxed(&team->sites[i].bands);

        if ((present != 0 || !forks_used) && (present & bands) != bands)
            odi_or_relaxed(&team->sites[i].bands, bands);
    }
}

/* Lock held. */
static void count_bands(const odi_override *override, uint32_t change)
{
    for (uint32_t i = 0; i < override->count; i++) {
        odi_team *team = override->of[i].team;

        if (team == NULL)
            continue;
        for (uint32_t bands = override->of[i].bands; bands != 0; bands &= bands - 1)
            team->overrides[__builtin_ctz(bands)][override->band] += change;
        tell_workers(team);
        odi_and_relaxed(&team->yields, ~1u); /* relaxed: a hint. It has come, if it was woken. */
        if (change == 1)
            hint(team, override->of[i].bands);
    }
}

void odi_override_begin(odi_override *override)
{
    if (override->count == 0)
        return;
    odi_lock_acquire(&overrides_lock);
    override->forks = times_forked;
    override->before = NULL;
    override->after = overrides;
    if (overrides != NULL)
        overrides->before = override;
    overrides = override;
    count_bands(override, 1);
    odi_lock_release(&overrides_lock);
}

void odi_override_end(odi_override *override)
{
    if (override->count == 0)
        return;
    odi_lock_acquire(&overrides_lock);
    if (override->forks == times_forked) {
        if (override->before != NULL)
            override->before->after = override->after;
        else
            overrides = override->after;
        if (override->after != NULL)
            override->after->before = override->before;
        count_bands(override, (uint32_t)-1);
    }
    odi_lock_release(&overrides_lock);
    *override = odi_override_of(override->band);
}

void odi_overrides_forget(odi_team *team)
{
    odi_lock_acquire(&overrides_lock);
    for (odi_override *override = overrides; override != NULL; override = override->after) {
        for (uint32_t i = 0; i < override->count; i++) {
            if (override->of[i].team == team)
                override->of[i].team = NULL;
        }
    }
    odi_lock_release(&overrides_lock);
}

void odi_overrides_forked(void)
{
    overrides_lock = (odi_lock){0};
    overrides = NULL;
    times_forked++;
}
