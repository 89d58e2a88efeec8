/* current.h — the calling thread's place: queues whose closures it runs, permits it holds, and saved
 * contexts.
 *
 * A thread can be in several queues at once. A job may sync into another queue, and a submitter to a full
 * queue may run the job inside its own. Innermost are scopes (syncs, and wait queues that a drainer serves)
 * and inline jobs, each within its scopes. The job of the worker's run is outermost. A job that runs with a
 * saved context (wait.c) is not in the queues of the job below it.
 */
#ifndef ODI_GATE_CURRENT_H
#define ODI_GATE_CURRENT_H

#include "gate/queue.h"
#include "worker/run.h"

#pragma GCC visibility push(hidden)

/* The saved context of the job below, while an unrelated job runs on its stack. */
typedef struct odi_set_apart {
    od_scope *scopes;
    odi_around around; /* the same context for a walk, with */
    void *work;        /* its od_thread_work */
    const odi_watch *watch; /* the watch of the set for which the job below waits */
    const odi_watch_waiter *waiter;
    struct odi_set_apart *outer;
} odi_set_apart;
extern _Thread_local odi_set_apart *odi_apart;

/* Whether the wait below is for this queue and its drainer must stop. Either the wait has ended, so that the
 * queue's remaining jobs are unrelated, or a queue that targets this one has unrelated jobs. The queue's lock
 * is held. */
static inline bool odi_wait_is_over(const od_queue *queue)
{
    const odi_set_apart *below = odi_apart;

    /* After a stop's deadline the drainer discards the remaining jobs and hands nothing on. */
    return ODI_UNLIKELY(below != NULL) && below->watch == &queue->watch &&
           !odi_queue_is_past_deadline(queue) &&
           (below->waiter->met || (queue->child_passes > 0 && queue->gate.width != 1));
}

/* Whether the calling thread's job is in a sync, or was started by a drainer. */
bool odi_is_in_scope(void);

/* Whether a thread in this scope, or in these scopes, holds a permit of the queue. No lock is held. */
bool odi_scope_holds(const od_scope *scope, const od_queue *queue);
bool odi_scopes_hold(const od_scope *scope, const od_queue *queue);

/* Returns the band of the calling thread's job. Outside jobs it is the highest band on the main thread, and
 * the default band elsewhere. */
uint32_t odi_band_of_thread(void);

#pragma GCC visibility pop

#endif
