/* current.h — what the calling thread is in: queues whose closures it runs, places that it holds, and what
 * it runs set apart.
 *
 * A thread is in several queues at once: it syncs from a job, and a job that a full queue's submitter
 * runs is on top of that one's. Innermost first are scopes (syncs, and the lines that a drainer
 * serves) and, each within its scopes, jobs that run outside of a run; then the job of the worker's run.
 * What runs set apart from the job below it (wait.c) is not in the queues of that one.
 */
#ifndef ODI_GATE_CURRENT_H
#define ODI_GATE_CURRENT_H

#include "gate/queue.h"
#include "worker/run.h"

#pragma GCC visibility push(hidden)

/* What the job below was in, on this thread, while a job runs on its stack that knows nothing of it. */
typedef struct odi_set_apart {
    od_scope *scopes;
    const odi_watch *watch; /* of the set that the job below waits for */
    const odi_watch_waiter *waiter;
    struct odi_set_apart *outer;
} odi_set_apart;
extern _Thread_local odi_set_apart *odi_apart;

/* Whether the wait below is for this queue, and over: what the queue holds by now is none of it; or a queue
 * on it has come whose jobs are none of it. Its lock is held. */
static inline bool odi_wait_is_over(const od_queue *queue)
{
    const odi_set_apart *below = odi_apart;

    /* Past a stop's deadline the drainer discards what is left, and hands nothing on. */
    return ODI_UNLIKELY(below != NULL) && below->watch == &queue->watch &&
           !odi_queue_is_past_deadline(queue) &&
           (below->waiter->met || (queue->child_passes > 0 && queue->gate.width != 1));
}

/* Whether the calling thread's job is in a sync, or a line's drainer has begun it. */
bool odi_is_in_scope(void);

/* Whether a thread that has these scopes holds a permit of the queue. Not held. */
bool odi_scopes_hold(const od_scope *scope, const od_queue *queue);

/* The band of what the calling thread does: its job's; outside of jobs the highest on the main
 * thread, and the middle one elsewhere. */
uint32_t odi_band_of_thread(void);

#pragma GCC visibility pop

#endif
