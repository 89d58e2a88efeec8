#include "gate/current.h"

#include "base/invariant.h"
#include "worker/worker.h"

_Thread_local odi_set_apart *odi_apart;

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
            odi_invariant(scope != NULL); /* an outside job began within it */
            queue = outwards(scope->queue, scope->beyond, &depth);
            scope = scope->outer;
        }
    }
    if (queue == NULL && odi_worker_self != NULL && odi_apart == NULL &&
        odi_worker_self->run_record != NULL)
        queue = outwards_of(odi_worker_self->run_record, &depth);
    return queue;
}

bool od_queue_is_current(od_queue *queue)
{
    od_queue *around;

    for (int depth = 0; (around = od_queue_of_thread(depth)) != NULL; depth++) {
        if (around == queue)
            return true;
    }
    return false;
}

bool od_queue_is_alone(od_queue *queue)
{
    for (od_scope *scope = odi_scopes; scope != NULL; scope = scope->outer) {
        if (scope->queue == queue && scope->exclusive)
            return true;
    }
    return od_queue_width(queue) == 1 && od_queue_is_current(queue);
}

od_queue *od_queue_blocked_target(od_queue *queue)
{
    od_queue *each = odi_target_gate(queue);

    while (each != NULL && !od_queue_is_alone(each))
        each = odi_target_gate(each);
    return each;
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

uint32_t odi_band_of_thread(void)
{
    int band = od_queue_current_band();

    if (band >= 0)
        return (uint32_t)band;
    return od_thread_is_main() ? OD_BAND_USER_INTERACTIVE : OD_BAND_DEFAULT;
}

bool odi_scopes_hold(const od_scope *scope, const od_queue *queue)
{
    for (; scope != NULL; scope = scope->outer) {
        for (od_queue *each = scope->queue; scope->holds_place && each != NULL && each != scope->beyond;
             each = odi_target_gate(each)) {
            if (each == queue)
                return true;
        }
    }
    return false;
}
