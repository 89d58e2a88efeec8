/* dump.c — where everybody is, in a program that does not go on. The locks that it takes may be held for
 * ever: whoever asks does not wait long. */
#include "Random/world.h"

#include "include/od_report.h"

static void dump_ops(void)
{
    for (int i = 0; i < w.program.ops; i++) {
        const entry *each = &w.entry[i];
        unsigned began = atomic_load(&each->began), ran = atomic_load(&each->ran);

        if (atomic_load(&each->acting))
            fprintf(stderr, "  at %d: %s\n", i, word_of(w.program.op[i].kind));
        if (began > 0 && !atomic_load(&each->ended) && !atomic_load(&each->discarded) &&
            is_closure(w.program.op[i].kind))
            fprintf(stderr, "  %d: %s, %s\n", i, word_of(w.program.op[i].kind),
                    ran ? "runs" : atomic_load(&each->after) ? "submitted" : "is submitted");
        if (began > atomic_load(&each->told) &&
            (w.program.op[i].kind == GROUP_NOTIFY || w.program.op[i].kind == QUEUE_NOTIFY))
            fprintf(stderr, "  %d: %s, not told\n", i, word_of(w.program.op[i].kind));
    }
}

static void dump_workers(void)
{
    static const char *const doing[] = {"idle", "runs", "blocks", "spare"};
    od_worker_report workers[80];
    int count = od_pool_report_workers(w.pool, workers, 80);

    for (int i = 0; i < count; i++)
        fprintf(stderr, "  worker %d (%d): %s, %llu jobs in its deques\n", workers[i].index,
                workers[i].thread_id, doing[workers[i].doing], (unsigned long long)workers[i].waiting);
    fprintf(stderr, "  %llu jobs wait outside\n", (unsigned long long)od_pool_waiting(w.pool));
}

static void dump_queues(void)
{
    for (int i = 0; i < w.program.queues; i++)
        fprintf(stderr, "  queue %d: %llu pending, %llu running, %d inside\n", i,
                (unsigned long long)od_queue_pending(w.queue[i].queue),
                (unsigned long long)od_queue_running(w.queue[i].queue), atomic_load(&w.queue[i].running));
}

void dump_world(void)
{
    dump_ops();
    dump_workers();
    dump_queues();
}
