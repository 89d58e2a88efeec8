/* fork.c — fork(2): in a forked child, which has one thread, the pools restart without queued jobs.
 *
 * Jobs accepted before the fork belong to the parent. The child never calls liburcu, so it does not free
 * retired objects. Locks that the child needs are held across the fork, so that it finds their data
 * consistent.
 */
#include <pthread.h>

#include "job/group.h"
#include "pool/pool.h"
#include "pool/timer_thread.h"
#include "worker/external.h"
#include "worker/override.h"
#include "worker/run.h"
#include "worker/worker.h"

void (*odi_fork_above)(void);
void (*odi_cancel_above)(od_pool *pool);
bool (*odi_owed_above)(od_pool *pool);
bool (*odi_inside_above)(od_pool *pool);
void (*odi_let_on_above)(odi_team *team);
void (*odi_describe_waits_above)(od_pool *pool, char *text, size_t size);

/* Lock order: visit_lock, pools_lock. A fork takes only the second: a visit may wait for locks of a fork's handlers. */
static odi_lock visit_lock;
static odi_lock pools_lock;
static od_pool *pools;
od_pool *const *const odi_pools_list = &pools;
static bool had_pools;

static void before_fork(void)
{
    odi_lock_acquire(&pools_lock);
    for (od_pool *pool = pools; pool != NULL; pool = pool->next_pool) {
        odi_lock_acquire(&pool->plan_lock);
        odi_lock_acquire(&pool->team.lock);
    }
}

static void after_in_parent(void)
{
    for (od_pool *pool = pools; pool != NULL; pool = pool->next_pool) {
        odi_lock_release(&pool->team.lock);
        odi_lock_release(&pool->plan_lock);
    }
    odi_lock_release(&pools_lock);
}

/* Resets a pool. A stopped pool stays stopped. A concurrent stop of another thread belongs to the parent. */
static void restart_pool(od_pool *pool)
{
    bool stopped = odi_load_relaxed(&pool->stop_state) == ODI_STOP_OVER; /* relaxed: one thread exists */

    pool->monitor_present = false;
    odi_timer_thread_forked(pool);
    pool->plan_lock = pool->targets_lock = (odi_lock){0};
    if (!stopped) { /* relaxed, both: one thread exists */
        odi_store_relaxed(&pool->stop_state, 0);
        odi_store_relaxed(&pool->stop_deadline, ODI_FOREVER);
    }
    pool->still_since = 0;
    pool->still_said = false;
    odi_externals_forked(&pool->team);
    odi_team_forked(&pool->team, stopped);
    if (stopped)
        odi_timer_queue_close(&pool->team.timers);
}

static void after_in_child(void)
{
    odi_worker *worker = odi_worker_self;

    if (had_pools) /* without a pool nothing was ever retired */
        odi_reclaim_forked();
    odi_worker_self = NULL;
    odi_records_forked();
    odi_watches_forked();
    odi_groups_forked();
    odi_overrides_forked();
    for (od_pool *pool = pools; pool != NULL; pool = pool->next_pool)
        restart_pool(pool);
    if (worker != NULL)
        odi_external_begin_as(worker);
    visit_lock = pools_lock = (odi_lock){0};
    if (odi_fork_above != NULL)
        odi_fork_above();
}

/* At load time and not at the first pool's creation, because a fork during the creation would find no
 * handler. */
__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(before_fork, after_in_parent, after_in_child);
}

void odi_pool_enlist(od_pool *pool)
{
    odi_lock_acquire(&pools_lock);
    had_pools = true;
    pool->next_pool = pools;
    pools = pool;
    odi_lock_release(&pools_lock);
}

void odi_pools_visit(void (*visit)(od_pool *pool, void *context), void *context)
{
    odi_lock_acquire(&visit_lock); /* no pool is freed */
    odi_lock_acquire(&pools_lock);
    od_pool *first = pools;
    odi_lock_release(&pools_lock);
    for (od_pool *pool = first; pool != NULL; pool = pool->next_pool)
        visit(pool, context);
    odi_lock_release(&visit_lock);
}

void odi_pool_delist(od_pool *pool)
{
    od_pool **link = &pools;

    odi_lock_acquire(&visit_lock);
    odi_lock_acquire(&pools_lock);
    while (*link != pool)
        link = &(*link)->next_pool;
    *link = pool->next_pool;
    odi_lock_release(&pools_lock);
    odi_lock_release(&visit_lock);
}
