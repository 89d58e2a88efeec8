/* current.c — queries of the calling thread's queues, permits and band, by a walk through its scopes and
 * jobs. The file never changes a queue. */
#include "gate/current.h"

#include "base/invariant.h"
#include "worker/worker.h"

_Thread_local odi_set_apart *odi_apart;

bool odi_is_in_scope(void)
{
    odi_around at = odi_around_here();
    const od_scope *scope = NULL;
    odi_record *record;

    while (scope == NULL && odi_around_next(&at, &scope, &record)) {
    }
    return scope != NULL;
}

/* Goes outwards from `queue` to `end`, at most *steps steps. Returns the queue reached, or NULL at the end. */
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
    /* relaxed: the record of a job that this thread is running */
    return outwards(odi_load_relaxed(&record->queue), NULL, steps);
}

od_queue *od_queue_of_thread(int depth)
{
    odi_around at = odi_around_here();
    const od_scope *scope;
    odi_record *record;
    od_queue *queue = NULL;

    while (queue == NULL && odi_around_next(&at, &scope, &record))
        queue = scope != NULL ? outwards(scope->queue, scope->beyond, &depth) : outwards_of(record, &depth);
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
    odi_around at = odi_around_here();
    const od_scope *scope;
    odi_record *record;

    while (odi_around_next(&at, &scope, &record)) {
        if (scope != NULL && scope->queue == queue && scope->exclusive)
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
    odi_around at = odi_around_here();
    const od_scope *scope;
    odi_record *record;
    int band = od_pool_current_band();

    while (odi_around_next(&at, &scope, &record) && scope != NULL && !scope->drains) {
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

bool odi_scope_holds(const od_scope *scope, const od_queue *queue)
{
    od_queue *each = scope->holds_place ? scope->queue : NULL;

    while (each != NULL && each != queue) {
        each = odi_target_gate(each);
        if (each == scope->beyond)
            return false;
    }
    return each != NULL;
}

bool odi_scopes_hold(const od_scope *scope, const od_queue *queue)
{
    while (scope != NULL && !odi_scope_holds(scope, queue))
        scope = scope->outer;
    return scope != NULL;
}
