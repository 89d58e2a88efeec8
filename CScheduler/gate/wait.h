/* wait.h — what a thread does that waits for jobs to end: a group's, a queue's.
 *
 * It runs nothing but what it waits for. A worker that waits without a deadline first takes what is
 * at either end of its own deques and belongs to the set: that has to end before the wait does,
 * wherever it runs, and recursion needs no thread for each level. Then, like everybody else, it gives
 * its place over and sleeps until the set is empty. With a deadline it takes nothing, because what it
 * takes may last longer.
 *
 * A job that is run like this knows nothing of the one below: it is on no queue that that one is
 * on, and holds none of its places (`odi_set_apart`).
 *
 * How a wait ends: by who finds the set's next empty moment (job/watch.h), or its deadline.
 * Threads  anyone.
 */
#ifndef ODI_GATE_WAIT_H
#define ODI_GATE_WAIT_H

#include "gate/queue.h"

#pragma GCC visibility push(hidden)

/* What is waited for: a set of records, and what is known beside. */
typedef struct {
    odi_set set;
    struct odi_group *group; /* it is this one's jobs; NULL: the queue's */
    od_queue *queue; /* jobs of this one are among it, or are waited for by it; may be NULL */
    uint32_t band;   /* they are in this one */
} odi_awaited;

/* Sleeps until the set has been empty. False: the deadline (nanoseconds from now) came first. */
bool odi_await(const odi_awaited *set, int64_t deadline_ns);

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

    /* relaxed: a hint. Past a stop's deadline the drainer discards what is left, and hands nothing on. */
    return ODI_UNLIKELY(below != NULL) && below->watch == &queue->watch &&
           !(odi_load_relaxed(&queue->pool->team.attention) & ODI_CANCELLING) &&
           (below->waiter->met || (queue->child_passes > 0 && queue->gate.width != 1));
}

#pragma GCC visibility pop

#endif
