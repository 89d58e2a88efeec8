/* control.c — suspension, activation and width of a queue, and its number of pending jobs. */
#include "base/invariant.h"
#include "gate/settle.h"
#include "observe/trace.h"
#include "worker/run.h"

void od_queue_suspend(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions++;
    odi_queue_take_back(queue);
    odi_queue_close_if_open(queue);
    if (odi_traces())
        odi_trace(ODI_TRACE_SUSPEND, queue->band, queue, 0);
    odi_lock_release(&queue->watch.lock);
}

void od_queue_resume(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    if (queue->gate.suspensions == queue->gate.inactive)
        odi_trap("TaskQueue.resume(): called more often than suspend() (\"%s\"). Call it once for each suspend().",
                 queue->label);
    queue->gate.suspensions--;
    if (odi_traces())
        odi_trace(ODI_TRACE_RESUME, queue->band, queue, 0);
    odi_queue_settle_and_release(queue);
}

void od_queue_activate(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions -= queue->gate.inactive;
    queue->gate.inactive = false;
    odi_queue_settle_and_release(queue);
}

void od_queue_set_width(od_queue *queue, int32_t width)
{
    if (width < 0)
        odi_trap("od_queue_set_width: width too small (%d). Choose 1 or more, or OD_UNLIMITED.", width);
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.width = width != OD_UNLIMITED ? width : ODI_GATE_UNLIMITED;
    odi_queue_take_back(queue); /* other workers may run these jobs if the drainer blocks */
    if (width != OD_UNLIMITED)
        odi_queue_close_if_open(queue);
    odi_queue_settle_and_release(queue);
}

uint64_t od_queue_pending(od_queue *queue)
{
    uint64_t pending = 0;

    odi_lock_acquire(&queue->watch.lock);
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue)
        pending += odi_record_pending(&queue->pool->team, record);
    odi_lock_release(&queue->watch.lock);
    return pending;
}
