/* pool.c — creates and frees pools: limits, placement plan, sites and team. Stopping is in stop.c. */
#include "os/control.h"
#include "pool/pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "observe/dump_signal.h"
#include "observe/page.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "os/numa.h"
#include "os/pages.h"
#include "os/process.h"
#include "os/thread.h"
#include "pool/options.h"
#include "worker/external.h"
#include "worker/worker.h"

enum { DEFAULT_SPARES = 64 };
#define BENCH_NS (200 * ODI_MILLISECOND)

static od_status out_of_memory(char *message, size_t capacity)
{
    if (message != NULL)
        snprintf(message, capacity, "out of memory for a pool");
    return OD_NO_MEMORY;
}

/* Ranks the other sites by distance. Class 1 holds the sites as near as the nearest one with usable CPUs. */
static void rank_sites(const odi_topology *topology, int site, int count,
                       int order[ODI_MOST_SITES], uint8_t classes[ODI_MOST_SITES])
{
    bool taken[ODI_NODE_LIMIT] = {false};
    int rank = 0, nearest = INT_MAX;

    for (int at = site; at >= 0; at = odi_topology_nearest(topology, site, taken)) {
        int distance = odi_topology_distance(topology, site, at);

        taken[at] = true;
        if (at != site && topology->nodes[at].cpu_count > 0 && nearest == INT_MAX)
            nearest = distance;
        if (at < count) {
            classes[rank] = at == site ? 0 : distance <= nearest ? 1 : 2;
            order[rank++] = at;
        }
    }
}

/* Makes one site per node, so that every submitter finds its own site; without NUMA one site. A node without
 * usable CPUs has no workers. */
static bool make_sites(od_pool *pool)
{
    odi_team *team = &pool->team;
    odi_topology *topology = pool->topology;
    int nodes = topology != NULL ? topology->node_count : 1;

    team->site_count = nodes < ODI_MOST_SITES ? nodes : ODI_MOST_SITES;
    team->sites = odi_pages_new((size_t)team->site_count * sizeof(odi_site), ODI_ANY_NODE);
    int(*order)[ODI_MOST_SITES] = calloc((size_t)team->site_count, sizeof *order);
    uint8_t(*classes)[ODI_MOST_SITES] = calloc((size_t)team->site_count, sizeof *classes);
    if (team->sites == NULL || order == NULL || classes == NULL) {
        free(classes);
        free(order);
        return false;
    }
    for (int site = 0; site < team->site_count; site++) {
        if (topology != NULL && team->site_count > 1) /* best effort, before the first touch */
            odi_numa_bind(&team->sites[site], sizeof team->sites[site], topology->nodes[site].id);
        team->sites[site].node = topology != NULL ? topology->nodes[site].id : 0;
        if (topology != NULL)
            rank_sites(topology, site, team->site_count, order[site], classes[site]);
    }
    team->site_order = (const int(*)[ODI_MOST_SITES])order;
    team->site_classes = (const uint8_t(*)[ODI_MOST_SITES])classes;
    return true;
}

static void free_parts(od_pool *pool)
{
    odi_team *team = &pool->team;

    free((void *)(uintptr_t)team->site_order);
    free((void *)(uintptr_t)team->site_classes);
    odi_pages_free(team->sites, (size_t)team->site_count * sizeof(odi_site));
    odi_plan_free(team->plan);
    odi_topology_free(pool->topology);
    free(pool->cgroups);
    odi_pages_free(pool, sizeof *pool);
}

static odi_source this_machine;

static void open_this_machine(void)
{
    this_machine = odi_source_live();
}

/* Opens the source once per process, and again in a child that was forked during the first call. */
static const odi_source *live_source(void)
{
    static pthread_once_t opened = PTHREAD_ONCE_INIT;

    pthread_once(&opened, open_this_machine);
    return &this_machine;
}

static void set_constants(od_pool *pool, const od_pool_options *options, int workers)
{
    odi_team *team = &pool->team;

    team->pool = pool;
    team->arm_monitor = odi_pool_arm_monitor;
    team->stand_by = odi_pool_stand_by;
    team->refresh = odi_pool_refresh;
    team->worker_main = odi_worker_main;
    team->target = workers;
    team->spare_cap = options->spare_workers < 0 ? DEFAULT_SPARES : options->spare_workers;
    team->capacity = ODI_MOST_WORKERS + team->spare_cap;
    team->stack_bytes = options->stack_bytes != 0 ? options->stack_bytes : ODI_STACK_DEFAULT;
    team->bench_ns = BENCH_NS;
    snprintf(team->name, sizeof team->name, "%s",
             options->name != NULL ? options->name : "overdrive");
}

od_status odi_pool_create_in(const od_pool_options *options, const odi_pool_world *world,
                             od_pool **result, char *message, size_t capacity)
{
    od_status status = odi_options_check(options, message, capacity);

    *result = NULL;
    if (status != OD_OK) {
        if (world != NULL)
            odi_topology_free(world->topology);
        return status;
    }
    od_pool *pool = odi_pages_new(sizeof *pool, ODI_ANY_NODE);
    if (pool == NULL)
        return out_of_memory(message, capacity);

    odi_limits limits;
    odi_process_record();
    odi_trace_from_environment();
    odi_page_from_environment();
    pool->team.controlled = odi_control_run_here();
    odi_dump_signal_from_environment();
    pool->placement = options->placement;
    pool->made_up = world != NULL && world->topology != NULL;
    pool->source = world != NULL && world->source != NULL ? world->source : live_source();
    pool->round_down = options->round_quota_down;
    odi_store_relaxed(&pool->follows_limits, options->workers == 0); /* relaxed: not shared yet */
    odi_limits_read(pool->source, &pool->cgroups, &limits);
    odi_worker_advice advice = odi_limits_workers(&limits, pool->round_down, options->workers);
    int workers = advice.workers < ODI_MOST_WORKERS ? advice.workers : ODI_MOST_WORKERS;

    pool->limits = limits;
    pool->topology = world != NULL && world->topology != NULL
                         ? world->topology
                         : odi_topology_discover(pool->source, &limits,
                                                 pool->placement == OD_PLACEMENT_CORE);
    if (pool->topology != NULL)
        pool->team.plan = odi_plan_make(pool->topology, &limits, workers, pool->placement);
    /* relaxed: not shared yet */
    odi_store_relaxed(&pool->pins, pool->team.plan != NULL && pool->team.plan->pins);
    pool->team.first_index = world != NULL ? world->first_index : 0;
    set_constants(pool, options, workers);
    /* relaxed: not shared yet */
    odi_store_relaxed(&pool->team.may_spin, advice.may_spin && pool->team.controlled == 0);
    odi_store_relaxed(&odi_may_spin, advice.may_spin); /* relaxed: a hint */
    odi_store_relaxed(&pool->next_refresh_ns, odi_clock_after(ODI_SECOND));
    odi_store_relaxed(&pool->stop_deadline, ODI_FOREVER);
    if (!make_sites(pool) || !odi_team_init(&pool->team)) {
        free_parts(pool);
        return out_of_memory(message, capacity);
    }
    odi_pool_enlist(pool);
    *result = pool;
    return OD_OK;
}

od_status od_pool_create(const od_pool_options *options, od_pool **pool, char *message,
                         size_t capacity)
{
    return odi_pool_create_in(options, NULL, pool, message, capacity);
}

od_status od_pool_free(od_pool *pool)
{
    /* A thread that runs a job of the pool would still use the pool after the job. */
    if ((odi_inside_above != NULL && odi_inside_above(pool)) || od_pool_stop(pool, INT64_MAX, NULL) == OD_INSIDE)
        return OD_INSIDE;
    if (odi_externals_present(&pool->team))
        odi_trap("od_pool_free: a thread still uses the pool for forks (\"%s\"). Join its forks, and call od_forks_leave, "
                 "first.",
                 pool->team.name);
    odi_pool_await_leaving(pool, 0, ODI_FOREVER); /* a stop with a deadline may have left threads */
    odi_lock_acquire(&pool->team.lock);
    bool stuck = pool->team.present > 0;
    odi_lock_release(&pool->team.lock);
    if (stuck)
        return OD_OK; /* its memory stays: a thread still uses it */
    odi_pool_delist(pool);
    odi_externals_free(&pool->team);
    odi_team_free(&pool->team);
    free_parts(pool);
    return OD_OK;
}
