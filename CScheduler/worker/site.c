/* site.c — selects the site (the pool's part on one NUMA node) for submissions of external threads. */
#include "worker/team.h"

#include "os/affinity.h"

/* A thread asks for its node once per this many submissions. */
enum { LOOK_EVERY = 64 };

odi_site *odi_team_nearest_site(odi_team *team)
{
    static _Thread_local int node;
    static _Thread_local uint32_t looks;

    if (looks++ % LOOK_EVERY == 0)
        node = odi_affinity_node();
    for (int site = 0; site < team->site_count; site++) {
        if (team->sites[site].node == node)
            return &team->sites[site];
    }
    return &team->sites[0]; /* the node is unknown, or has no site */
}
