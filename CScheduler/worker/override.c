/* override.c — counts band overrides of all waiters and publishes them in one word for all workers. */
#include "worker/override.h"

/* Protects the update of odi_overrides. A thread that finds other overrides counted updates nothing. */
static odi_lock overrides_lock;
static odi_atomic(uint32_t) counts[ODI_BANDS][ODI_BANDS]; /* [overridden band][waiter's band] */

struct odi_overrides odi_overrides;

/* Recomputes the hint after a count became zero or nonzero; the last caller sees all counts. */
static void tell_workers(void)
{
    uint32_t overridden = 0;

    odi_lock_acquire(&overrides_lock);
    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        uint32_t as = 0;

        while (as < band && odi_load_relaxed(&counts[band][as]) == 0) /* relaxed: locked */
            as++;
        overridden |= as < band ? (as + 1) << (4 * band) : 0;
    }
    /* relaxed, both: a hint, on a line that all workers read */
    if (odi_load_relaxed(&odi_overrides.bands) != overridden)
        odi_store_relaxed(&odi_overrides.bands, overridden);
    odi_lock_release(&overrides_lock);
}

/* Sets the band's hint on each site, because workers look farther only if several bands have hints. A useless
 * hint would keep idle workers from forks for a moment, so a pool with forks gets it only if other bands have
 * one. */
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
        if (odi_add_relaxed(&counts[band][override->band], 1) == 0) /* relaxed: tell_workers locks */
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
        uint32_t others = odi_load_relaxed(count); /* relaxed, rechecked by the CAS; see tell_workers */

        while (others > 0 && !odi_cas_relaxed(count, &others, others - 1)) /* 0 in a child of a fork in between */
            ;
        tells |= others == 1;
    }
    if (tells)
        tell_workers();
    /* relaxed, both: a hint. The woken waiter is running now. */
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
