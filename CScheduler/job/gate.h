/* gate.h — admission to a queue: decides which thread may hold a permit, as functions of one small state.
 *
 * The functions read and write only that state. Tests/Engine/gate_states_test.c therefore visits, with this
 * very code, every reachable state of a chain of gates.
 *
 * A gate has `width` permits and one wait queue in arrival order: jobs, threads in `sync`, and drain requests
 * of child gates. The queue that owns the gate stores the wait queue; the gate learns only what is at its
 * front.
 *
 *     held         one per drainer, sync caller and task inside. A serial queue has one permit, a
 *                  limited queue as many as its width, a concurrent queue one per pool worker
 *     coming       held permits whose drainer no worker has started; at most one, because a
 *                  drainer that starts calls the next
 *     exclusive    a barrier is inside. It enters when the gate is empty and `complete`: no job
 *                  that went to the pool before the queue was closed is left
 *     suspensions  while nonzero, nothing enters; holders stay
 *
 * Earmarked permits: a holder that waits in `sync` on a child gate keeps its permit. Until its wait ends
 * there is one additional permit (`earmarks`), only for drain requests and sync callers of that child. These
 * bypass the wait queue, because a barrier there might wait for the holder. `used` counts permits held beyond
 * the width. The holder continues when fewer are used than the other holders have earmarked. Until then it is
 * `returning`, and nothing else enters. So at most `width` holders run at any time.
 *
 * Owns nothing. The owner's lock is held around each call. A wait ends by an event after which one of these
 * functions admits the waiter; the owner asks after each such event (odi_queue_settle).
 */
#ifndef ODI_JOB_GATE_H
#define ODI_JOB_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define ODI_GATE_UNLIMITED (-1) /* not a width that a user may choose */

typedef struct {
    int32_t width; /* permits for new holders, or ODI_GATE_UNLIMITED */
    int32_t most;  /* drainers of an unlimited gate; constant */
    int32_t held, coming;
    int32_t earmarks, used;
    uint32_t returning;
    uint32_t suspensions; /* an inactive queue counts as one suspension */
    uint32_t barriers;    /* barriers in the wait queue */
    bool exclusive, complete;
    bool inactive;
    bool closed; /* keeps its wait queue permanently */
} odi_gate;

/* The front of the wait queue, as seen by a thread that holds permits. */
typedef enum {
    ODI_FRONT_FREE,    /* the next entry, or nothing, may be taken */
    ODI_FRONT_BARRIER, /* a barrier, which one holder may take */
    ODI_FRONT_HELD     /* nothing, until the holders inside have left */
} odi_front;

static inline int32_t odi_gate_permits(const odi_gate *gate)
{
    return gate->width == ODI_GATE_UNLIMITED ? gate->most : gate->width;
}

/* The first job decides: the gate opens, so that jobs go directly to the pool, or it never opens. */
static inline bool odi_gate_opens(odi_gate *gate)
{
    gate->closed |= gate->width != ODI_GATE_UNLIMITED || gate->suspensions > 0;
    gate->complete &= gate->closed;
    return !gate->closed;
}

/* ---- the wait queue ---- */

/* `barrier`: the next entry is a barrier. `own`: permits that the caller holds. */
static inline odi_front odi_gate_front(const odi_gate *gate, bool barrier, int32_t own)
{
    if (gate->exclusive)
        return ODI_FRONT_HELD;
    if (!barrier)
        return ODI_FRONT_FREE;
    return gate->held - gate->coming > own || !gate->complete ? ODI_FRONT_HELD : ODI_FRONT_BARRIER;
}

/* ---- entering ---- */

/* Admits a thread or waiter that does not pass the wait queue, which is clear. */
static inline bool odi_gate_enter(odi_gate *gate, bool exclusive, bool line_is_clear)
{
    bool may = gate->suspensions == 0 && !gate->exclusive;

    if (exclusive)
        may = may && gate->held == gate->coming && gate->complete && line_is_clear;
    else if (gate->width == ODI_GATE_UNLIMITED)
        may = may && gate->barriers == 0;
    else
        may = may && gate->held < gate->width && line_is_clear;
    gate->held += may;
    gate->exclusive |= may && exclusive;
    return may;
}

/* Admits an earmarked entrant, by a free permit or an earmarked permit. No barrier is inside, because a
 * holder is. */
static inline bool odi_gate_enter_earmarked(odi_gate *gate)
{
    bool may = gate->suspensions == 0 && gate->held - gate->earmarks < odi_gate_permits(gate);

    gate->used += may && gate->held >= odi_gate_permits(gate);
    gate->held += may;
    return may;
}

/* Calls a drainer if needed. `waits`: an entry waits that `front` lets through, or that a blocked drainer has
 * taken. `earmarked`: an entry waits that may use an earmarked permit. */
static inline bool odi_gate_call_drainer(odi_gate *gate, bool waits, bool earmarked)
{
    bool enters = false;

    if (gate->suspensions > 0 || gate->coming > 0)
        return false;
    if (waits && gate->held < odi_gate_permits(gate)) {
        gate->held++;
        enters = true;
    } else if (earmarked)
        enters = odi_gate_enter_earmarked(gate);
    gate->coming += enters;
    return enters;
}

/* Whether a thread that adds an entry must check whether a drainer is needed. */
static inline bool odi_gate_wants_drainer(const odi_gate *gate, odi_front front)
{
    return gate->suspensions == 0 && gate->coming == 0 && front == ODI_FRONT_FREE &&
           gate->held < odi_gate_permits(gate);
}

/* Whether a held permit may be used for the next entry. */
static inline bool odi_gate_may_take(const odi_gate *gate)
{
    return gate->suspensions == 0 && gate->held <= odi_gate_permits(gate);
}

/* Uses a held permit for the next entry: a job that its holder runs, or a waiter that now has the permit. */
static inline void odi_gate_take(odi_gate *gate, odi_front front)
{
    gate->barriers -= front == ODI_FRONT_BARRIER;
    gate->exclusive = front == ODI_FRONT_BARRIER;
}

/* Whether a held permit may be used for an earmarked entry. */
static inline bool odi_gate_may_take_earmarked(const odi_gate *gate)
{
    return gate->suspensions == 0 && gate->returning == 0 &&
           gate->held - gate->earmarks <= odi_gate_permits(gate);
}

/* Adds a permit without a check: for a task that outlives the job of a holder. */
static inline void odi_gate_hold(odi_gate *gate)
{
    gate->held++;
}

/* ---- leaving ---- */

static inline void odi_gate_leave(odi_gate *gate)
{
    gate->held--;
    gate->used -= gate->used > 0;
}

/* After the width has grown or a holder has left, holders of earmarked permits count against the gate's own
 * permits. */
static inline void odi_gate_recount(odi_gate *gate)
{
    int32_t beyond = gate->held - odi_gate_permits(gate);

    if (gate->used > beyond)
        gate->used = beyond > 0 ? beyond : 0;
}

/* Lets a holder continue whose wait in the child has ended, and removes its earmark. `idle`: a called drainer
 * that no worker runs gives up its permit for the holder. */
static inline bool odi_gate_return(odi_gate *gate, bool idle, bool *gave_up)
{
    odi_gate_recount(gate);
    *gave_up = gate->used >= gate->earmarks && idle;
    if (gate->used >= gate->earmarks && !idle)
        return false;
    if (*gave_up) {
        gate->coming -= gate->coming > 0;
        odi_gate_leave(gate);
    }
    gate->earmarks--;
    return true;
}

/* In a forked child: no permit is held and no entry waits, except those that its one thread enters again.
 * Jobs given to the pool belong to the parent. */
static inline void odi_gate_forked(odi_gate *gate)
{
    *gate = (odi_gate){
        .width = gate->width,
        .most = gate->most,
        .suspensions = gate->suspensions,
        .inactive = gate->inactive,
        .complete = gate->complete || gate->closed,
        .closed = gate->closed,
    };
}

#endif
