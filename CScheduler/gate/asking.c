/* asking.c — queries of a queue: its properties, its user's pointer, and the number of its running jobs. */
#include "include/od_control.h"
#include "gate/queue.h"
#include "os/control.h"
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

const char *od_queue_label(od_queue *queue)
{
    return queue->label;
}

od_band od_queue_band(od_queue *queue)
{
    return (od_band)queue->band;
}

static odi_gate gate_of(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    odi_gate gate = queue->gate;
    odi_lock_release(&queue->watch.lock);
    return gate;
}

int32_t od_queue_width(od_queue *queue)
{
    int32_t width = gate_of(queue).width;

    return width != ODI_GATE_UNLIMITED ? width : OD_UNLIMITED;
}

bool od_queue_is_suspended(od_queue *queue)
{
    odi_gate gate = gate_of(queue);

    return gate.suspensions > gate.inactive;
}

bool od_queue_is_active(od_queue *queue)
{
    return !gate_of(queue).inactive;
}

uint32_t od_queue_pending_limit(od_queue *queue)
{
    return queue->pending_limit;
}

od_overflow od_queue_overflow(od_queue *queue)
{
    return (od_overflow)queue->overflow;
}

uint64_t od_queue_refused(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    uint64_t refused = queue->more != NULL ? queue->more->refused : 0;
    odi_lock_release(&queue->watch.lock);
    return refused;
}

/* ---- running ---- */

/* Whether the worker runs a job of the queue in its run. Its count of jobs is odd while a job runs. The run's
 * word is read second, so it is not an older one, and names the record. Inline jobs on top are counted
 * elsewhere. */
static bool runs_job_of(odi_worker *worker, const od_queue *queue)
{
    bool in_job = odi_load_acquire(&worker->jobs, W2) & 1;
    odi_record *record = odi_worker_run_record(worker);

    /* relaxed: under the queue's lock its records keep their queue */
    return in_job && record != NULL && odi_load_relaxed(&record->queue) == queue;
}

static uint64_t running_on_workers(odi_team *team, const od_queue *queue)
{
    odi_worker *worker;
    uint64_t running = 0;

    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;)
        running += runs_job_of(worker, queue);
    return running;
}

/* Returns the number of running jobs. A report may ask for a queue that has been released and now belongs to
 * another pool. While the queue has records under its lock, its pool exists. */
uint64_t od_queue_running(od_queue *queue)
{
    uint64_t running = 0;

    odi_lock_acquire(&queue->watch.lock); /* keeps the list of records stable. Lock order: queue before
                                             cancel_lock */
    if (queue->records != NULL)
        running = odi_records_running_outside(queue->records, odi_record_next_of_queue) +
                  running_on_workers(&queue->pool->team, queue);
    odi_lock_release(&queue->watch.lock);
    return running;
}

bool od_control_owns(const void *queue)
{
    uint64_t made_in = ((const od_queue *)queue)->pool->team.controlled;

    return made_in != 0 && made_in == odi_control_run_now();
}
