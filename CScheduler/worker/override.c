#include "worker/override.h"

/* The lock is of what is told; who finds others counted already tells nothing. */
static odi_lock overrides_lock;
static odi_atomic(uint32_t) counts[ODI_BANDS][ODI_BANDS]; /* [of][as] */

struct odi_overrides odi_overrides;

/* Each count that ceased to be zero, or became it, is followed by this; the last one has seen them all. */
static void tell_workers(void)
{
    uint32_t overridden = 0;

    odi_lock_acquire(&overrides_lock);
    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        uint32_t as = 0;

        while (as < band && odi_load_relaxed(&counts[band][as]) == 0) /* relaxed: whoever comes next looks behind the lock */
            as++;
        overridden |= as < band ? (as + 1) << (4 * band) : 0;
    }
    /* relaxed, both: a hint, on a line that all workers read */
    if (odi_load_relaxed(&odi_overrides.bands) != overridden)
        odi_store_relaxed(&odi_overrides.bands, overridden);
    odi_lock_release(&overrides_lock);
}

/* Workers with work of another band look farther only where several bands are hinted at. (Where
 * forks are used a hint for nothing would keep idle workers from looking for them, for a moment.) */
static void hint(odi_team *team, uint32_t band)
{
    /* relaxed, all: hints */
    bool forks_used = odi_load_relaxed(&team->forks_used);

    for (int i = 0; i < team->site_count; i++) {
        uint32_t present = odi_load_relaxed(&team->sites[i].bands);

        if ((present != 0 || !forks_used) && !(present & band))
            odi_or_relaxed(&team->sites[i].bands, band);
    }
}

void odi_override_begin(odi_override *override, odi_team *team, uint32_t band)
{
    if (band <= override->band)
        return;
    if (!(override->bands & 1u << band)) {
        override->bands |= 1u << band;
        if (odi_add_relaxed(&counts[band][override->band], 1) == 0) /* relaxed: see tell_workers */
            tell_workers();
    }
    hint(team, 1u << band);
}

void odi_override_end(odi_override *override)
{
    if (override->bands == 0)
        return;
    bool tells = false;
    for (; override->bands != 0; override->bands &= override->bands - 1) {
        odi_atomic(uint32_t) *count = &counts[__builtin_ctz(override->bands)][override->band];
        uint32_t others = odi_load_relaxed(count); /* relaxed: see tell_workers, and rechecked by the CAS */

        while (others > 0 && !odi_cas_relaxed(count, &others, others - 1)) /* 0: the child of a fork in between */
            ;
        tells |= others == 1;
    }
    if (tells)
        tell_workers();
    /* relaxed, both: a hint, as above. It has come, if it was woken. */
    if (odi_load_relaxed(&odi_overrides.yields) & 1)
        odi_and_relaxed(&odi_overrides.yields, ~1u);
}

void odi_overrides_forked(void)
{
    overrides_lock = (odi_lock){0};
    for (uint32_t each = 0; each < ODI_BANDS * ODI_BANDS; each++)
        odi_store_relaxed(&counts[each / ODI_BANDS][each % ODI_BANDS], 0); /* relaxed: one thread exists */
    tell_workers();
}
