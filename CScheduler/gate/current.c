/* current.c — which queues the calling thread runs closures of, and what their users keep
 * with them.
 *
 * A thread is in several queues at once: it syncs from a job, and a job that a full queue's submitter
 * runs is on top of that one's. Innermost first are scopes (syncs, and the lines that a drainer
 * serves) and, each within its scopes, jobs that run outside of a run; then the job of the worker's run.
 * What runs set apart from the job below it (wait.h) is not in the queues of that one.
 */
#include "gate/queue.h"
#include "gate/target.h"
#include "gate/wait.h"

#include "worker/worker.h"

void *od_queue_context(od_queue *queue)
{
    return odi_load_acquire(&queue->context, Q5);
}

void *od_queue_adopt_context(od_queue *queue, void *context)
{
    void *present = NULL;

    return odi_cas_acqrel_acquire(&queue->context, &present, context, Q5) ? context : present;
}

/* Goes outwards from `queue` to `end`, so many steps at most. NULL: that is further. */
static od_queue *outwards(od_queue *queue, const od_queue *end, int *steps)
{
    for (; queue != NULL && queue != end; queue = odi_target_next(queue)) {
        if ((*steps)-- == 0)
            return queue;
    }
    return NULL;
}

static od_queue *outwards_of(odi_record *record, int *steps)
{
    /* relaxed: the record of a job that this very thread is running */
    return outwards(odi_load_relaxed(&record->queue), NULL, steps);
}

od_queue *od_queue_of_thread(int depth)
{
    const od_scope *scope = odi_scopes;
    const odi_outside *job = odi_outsides;
    od_queue *queue = NULL;

    while (queue == NULL && (scope != NULL || job != NULL)) {
        if (job != NULL && job->scopes == scope) {
            queue = outwards_of(job->record, &depth);
            job = job->outer;
        } else {
            queue = outwards(scope->queue, scope->beyond, &depth);
            scope = scope->outer;
        }
    }
    if (queue == NULL && odi_worker_self != NULL && odi_apart == NULL &&
        odi_worker_self->run_record != NULL)
        queue = outwards_of(odi_worker_self->run_record, &depth);
    return queue;
}

bool od_queue_is_alone(od_queue *queue)
{
    for (od_scope *scope = odi_scopes; scope != NULL; scope = scope->outer) {
        if (scope->queue == queue && scope->exclusive)
            return true;
    }
    return od_queue_width(queue) == 1 && od_queue_is_current(queue);
}

int od_queue_current_band(void)
{
    const od_scope *within = odi_outsides != NULL ? odi_outsides->scopes : NULL;
    int band = od_pool_current_band();

    for (od_scope *scope = odi_scopes; scope != within && !scope->drains; scope = scope->outer) {
        int queues = (int)scope->queue->band;

        band = band >= 0 && band < queues ? band : queues;
    }
    return band;
}
