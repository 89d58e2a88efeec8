/* site.c — which site a thread that is no worker submits to. */
#include "worker/crew.h"

#include "base/rng.h"
#include "os/affinity.h"

/* A thread that submits asks where it is after this many submissions to one of the pools that
 * it remembers. */
enum { SITE_CHECK_EVERY = 64, SITES_REMEMBERED = 8 };

static int site_here(const odi_crew *crew)
{
    int node;

    if (odi_affinity_here(NULL, &node) != 0)
        return 0;
    for (int site = 0; site < crew->site_count; site++) {
        if (crew->sites[site].node == node)
            return site;
    }
    return 0; /* a node that is not among ours */
}

static bool all_claimed(odi_site *site)
{
    uint64_t waiting = 0;

    for (int band = 0; band < ODI_BANDS; band++)
        waiting += odi_injector_size(&site->injectors[band]);
    return waiting == 0;
}

odi_site *odi_crew_nearest_site(odi_crew *crew)
{
    static _Thread_local struct {
        const odi_crew *crew; /* compared only: it may be gone */
        int site;
        uint32_t looks;
    } memory[SITES_REMEMBERED], *last;

    last = &memory[odi_rng_seed((uintptr_t)crew) % SITES_REMEMBERED];
    if (last->crew != crew || last->site >= crew->site_count) {
        last->crew = crew;
        last->site = site_here(crew);
    } else if (++last->looks % SITE_CHECK_EVERY == 0) {
        int site = site_here(crew);

        /* What the thread has submitted before starts before what it submits from now on. */
        if (site != last->site && all_claimed(&crew->sites[last->site]))
            last->site = site;
    }
    return &crew->sites[last->site];
}
