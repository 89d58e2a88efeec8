/* gate.h — who may hold a permit of a gate: the decisions of every queue, as functions of one small
 * state. They touch nothing else, so that Tests/Engine/gate_states_test.c visits all states that a chain of
 * gates comes to, by this very code.
 *
 * A gate has `width` permits and one line of those that wait for them, in the order in which they came:
 * jobs, threads in `sync`, activations of child gates. The line is its owner's; the gate hears what
 * stands at its front.
 *
 *     held         one for each drainer, sync caller and task that is inside. A serial queue has one
 *                  permit, a limited one so many, a concurrent one as many as its pool has workers
 *     coming       of them, by a drainer that no worker has begun: one at most, the next is called by it
 *     exclusive    a barrier is inside. It enters when nobody else is, once the queue is `complete`:
 *                  nothing is left of what went to the pool before the queue was closed
 *     suspensions  withhold the permits: who is inside stays, nobody enters
 *
 * Earmarked permits. A holder in `sync` onto a child gate keeps its permit, and until its turn comes there is
 * one more (`earmarks`), for activations and sync callers of that child alone. These do not stand in the
 * line, where a barrier may be before them that waits for the holder. `used` are held beyond the width.
 * The holder goes on when fewer are used than the other holders have brought; until then it is
 * `returning`, and nobody enters: more are held than the width, and with the earmarks as many. So never
 * more than `width` run.
 *
 * Owns     nothing. Locks: the owner's, around each call. How a wait ends: by the event after which one of
 * these functions says yes; the owner asks after each event that can make it do so (odi_queue_settle).
 */
#ifndef ODI_JOB_GATE_H
#define ODI_JOB_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define ODI_GATE_UNLIMITED (-1) /* no width that a user may choose */

typedef struct {
    int32_t width; /* permits for who is new, or ODI_GATE_UNLIMITED */
    int32_t most;  /* drainers of an unlimited gate; constant */
    int32_t held, coming;
    int32_t earmarks, used;
    uint32_t returning;
    uint32_t suspensions; /* being inactive is one of them */
    uint32_t barriers;    /* in the line */
    bool exclusive, complete;
    bool inactive;
    bool closed; /* it keeps its line for good */
} odi_gate;

/* What stands at the front of the line for who holds permits itself. */
typedef enum {
    ODI_FRONT_FREE,    /* whatever is next, or nothing */
    ODI_FRONT_BARRIER, /* a barrier, by one */
    ODI_FRONT_HELD     /* nothing, until who is inside has left */
} odi_front;

static inline int32_t odi_gate_permits(const odi_gate *gate)
{
    return gate->width == ODI_GATE_UNLIMITED ? gate->most : gate->width;
}

/* Its first job comes: it is open from here on, so that its jobs go to the pool, past the gate; or never. */
static inline bool odi_gate_opens(odi_gate *gate)
{
    gate->closed |= gate->width != ODI_GATE_UNLIMITED || gate->suspensions > 0;
    gate->complete &= gate->closed;
    return !gate->closed;
}

/* ---- the line ---- */

/* `barrier`: one is next in the line. `own`: permits that who asks holds itself. */
static inline odi_front odi_gate_front(const odi_gate *gate, bool barrier, int32_t own)
{
    if (gate->exclusive)
        return ODI_FRONT_HELD;
    if (!barrier)
        return ODI_FRONT_FREE;
    return gate->held - gate->coming > own || !gate->complete ? ODI_FRONT_HELD : ODI_FRONT_BARRIER;
}

/* ---- entering ---- */

/* A thread or a waiter enters, past a line that is clear. */
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

/* Whom an earmarked permit is for, or a free one serves. No barrier is inside: a holder is. */
static inline bool odi_gate_enter_earmarked(odi_gate *gate)
{
    bool may = gate->suspensions == 0 && gate->held - gate->earmarks < odi_gate_permits(gate);

    gate->used += may && gate->held >= odi_gate_permits(gate);
    gate->held += may;
    return may;
}

/* The line wants a drainer. `waits`: something does that `front` lets through, or that lies
 * before it with a drainer that blocks; `earmarked`: something that an earmarked permit is for. */
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

/* Whether who adds to the line has to see whether a drainer is to be called. */
static inline bool odi_gate_wants_drainer(const odi_gate *gate, odi_front front)
{
    return gate->suspensions == 0 && gate->coming == 0 && front == ODI_FRONT_FREE &&
           gate->held < odi_gate_permits(gate);
}

/* A permit that is held may be used for the next in the line. */
static inline bool odi_gate_may_take(const odi_gate *gate)
{
    return gate->suspensions == 0 && gate->held <= odi_gate_permits(gate);
}

/* It is: by a job that its holder runs, or a waiter that has the permit now. */
static inline void odi_gate_take(odi_gate *gate, odi_front front)
{
    gate->barriers -= front == ODI_FRONT_BARRIER;
    gate->exclusive = front == ODI_FRONT_BARRIER;
}

/* It may be used for what an earmarked one is for. */
static inline bool odi_gate_may_take_earmarked(const odi_gate *gate)
{
    return gate->suspensions == 0 && gate->returning == 0 &&
           gate->held - gate->earmarks <= odi_gate_permits(gate);
}

/* A permit is taken, whether or not there is one: by a task that a holder leaves behind. */
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

/* Where the width has grown, or somebody has left, who held an earmarked permit holds one of the
 * gate's own. */
static inline void odi_gate_recount(odi_gate *gate)
{
    int32_t beyond = gate->held - odi_gate_permits(gate);

    if (gate->used > beyond)
        gate->used = beyond > 0 ? beyond : 0;
}

/* A holder whose turn in the child has come goes on, and its earmark is over. `idle`: a drainer that
 * no worker runs holds a permit, which it gives up for that. */
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

/* In a forked child: nobody holds or waits, but for what its one thread enters again. What the pool was
 * given is the parent's. */
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
