/* site.c — which site a thread that is no worker submits to. */
#include "worker/team.h"

#include "base/rng.h"
#include "os/affinity.h"

/* A thread that submits asks where it is after this many submissions to one of the pools that
 * it remembers. */
enum { SITE_CHECK_EVERY = 64, SITES_REMEMBERED = 8 };

static int site_here(const odi_team *team)
{
    int node = odi_affinity_node();

    for (int site = 0; site < team->site_count; site++) {
        if (team->sites[site].node == node)
            return site;
    }
    return 0; /* a node that is not among ours, or unknown */
}

static bool all_claimed(odi_site *site)
{
    uint64_t waiting = 0;

    for (int band = 0; band < ODI_BANDS; band++)
        waiting += odi_injector_size(&site->injectors[band]);
    return waiting == 0;
}

odi_site *odi_team_nearest_site(odi_team *team)
{
    static _Thread_local struct {
        const odi_team *team; /* compared only: it may be gone */
        int site;
        uint32_t looks;
    } memory[SITES_REMEMBERED], *last;

    last = &memory[odi_rng_seed((uintptr_t)team) % SITES_REMEMBERED];
    if (last->team != team || last->site >= team->site_count) {
        last->team = team;
        last->site = site_here(team);
    } else if (++last->looks % SITE_CHECK_EVERY == 0) {
        int site = site_here(team);

        /* What the thread has submitted before starts before what it submits from now on. */
        if (site != last->site && all_claimed(&team->sites[last->site]))
            last->site = site;
    }
    return &team->sites[last->site];
}
