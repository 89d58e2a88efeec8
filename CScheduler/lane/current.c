/* current.c — which queues the calling thread runs closures of, and what their users keep
 * with them.
 *
 * A thread is in several queues at once: it syncs from a job, and a job that a full queue's submitter
 * runs is on top of that one's. Innermost first are: stays (syncs, and the lanes that a drainer
 * serves), the job that runs outside of a run, the job of the worker's run. What runs set apart from
 * the job below it (wait.h) is not in the queues of that one.
 */
#include "lane/queue.h"
#include "lane/target.h"
#include "lane/wait.h"

#include "worker/run.h"
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

static od_queue *of_record(odi_record *record)
{
    /* relaxed: the record of a job that this very thread is running */
    return record != NULL ? odi_load_relaxed(&record->queue) : NULL;
}

od_queue *od_queue_of_thread(int depth)
{
    bool has_run = odi_worker_self != NULL && odi_apart == NULL;
    odi_record *const around[2] = {
        odi_record_outside, has_run ? odi_worker_self->run_record : NULL};

    for (od_stay *stay = odi_stays; stay != NULL; stay = stay->outer) {
        for (od_queue *queue = stay->queue; queue != NULL && queue != stay->beyond;
             queue = odi_target_next(queue)) {
            if (depth-- == 0)
                return queue;
        }
    }
    for (int i = 0; i < 2; i++) {
        for (od_queue *queue = of_record(around[i]); queue != NULL;
             queue = odi_target_next(queue)) {
            if (depth-- == 0)
                return queue;
        }
    }
    return NULL;
}

bool od_queue_is_alone(od_queue *queue)
{
    for (od_stay *stay = odi_stays; stay != NULL; stay = stay->outer) {
        if (stay->queue == queue && stay->exclusive)
            return true;
    }
    return od_queue_width(queue) == 1 && od_queue_is_current(queue);
}

int od_queue_current_band(void)
{
    int band = od_pool_current_band();

    for (od_stay *stay = odi_stays; stay != NULL && !stay->drains; stay = stay->outer) {
        int queues = (int)stay->queue->band;

        band = band >= 0 && band < queues ? band : queues;
    }
    return band;
}
