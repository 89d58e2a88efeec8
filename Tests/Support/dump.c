/* dump.c — prints the state of each pool in a program that hangs: its workers, and the queues with work. An
 * archive has this object before pool/fork.c, which is included here for its list of pools.
 *
 * It takes locks that may be held for ever, so its caller limits the time.
 */
#include "pool/fork.c"

#include "Support/pools.h"
#include "include/od_report.h"

enum { MOST = 80 };

static void dump_workers(od_pool *pool)
{
    static const char *const doing[] = {"idle", "runs", "blocks", "spare"};
    od_worker_report workers[MOST];
    int count = od_pool_report_workers(pool, workers, MOST);

    for (const od_worker_report *it = workers; it < workers + count; it++)
        fprintf(stderr, "  worker %d (%d): %s \"%s\" for %lld ms, waits %s \"%s\", %llu jobs in its deques\n", it->index,
                it->thread_id, doing[it->doing], it->queue, (long long)(it->running_ns / ODI_MILLISECOND),
                it->waits_for != NULL ? it->waits_for : "for nothing", it->waits_at, (unsigned long long)it->waiting);
}

static void dump_queues(od_pool *pool)
{
    od_queue_report queues[MOST];
    int count = od_pool_report_queues(pool, queues, MOST);

    for (const od_queue_report *it = queues; it < queues + (count < MOST ? count : MOST); it++)
        fprintf(stderr, "  queue \"%s\" of %d%s%s: %llu pending, %llu running\n", it->label, it->width,
                it->suspended ? ", suspended" : "", it->active ? "" : ", not active", (unsigned long long)it->pending,
                (unsigned long long)it->running);
}

/* Without the list's lock, which the failed thread may hold. */
__attribute__((no_sanitize("thread"))) void dump_pools(void)
{
    for (od_pool *pool = pools; pool != NULL; pool = pool->next_pool) {
        fprintf(stderr, "\npool \"%s\": %llu jobs wait outside\n", pool->team.name,
                (unsigned long long)od_pool_waiting(pool));
        dump_workers(pool);
        dump_queues(pool);
    }
}

/* Whether a test has left threads of a pool. Threads of a pool that was freed with a stuck job end with that
 * job; the default pool's threads stay. */
bool threads_left(void)
{
    for (od_pool *pool = pools; pool != NULL; pool = pool->next_pool) {
        if (strcmp(pool->team.name, "overdrive") != 0 && !COMES_TRUE(all_have_gone(pool)))
            return true;
    }
    return false;
}
