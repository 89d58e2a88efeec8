/* gate_world.h — a model of three gates in a chain, and the threads and closures that enter them. The model
 * is one plain value, so that a test can visit all its states.
 *
 * The engine's own job/gate.h decides about admission. This file models the other parts of a queue: its wait
 * queues and its sleeping threads.
 *
 * Gate 0 targets gate 1, which targets gate 2, whose drainers come from a pool with enough threads. An actor
 * is a closure (submitted to a gate and run by its drainer) or a thread. Each step is one critical section of
 * the engine, or the end of a closure.
 */
#ifndef SUPPORT_GATE_WORLD_H
#define SUPPORT_GATE_WORLD_H

#include "Support/check.h"

#include "job/gate.h"

enum { GATES = 3, ROOT = GATES - 1, ACTORS = 6, LINE = 12, DRAINERS = 6, NOBODY = -1 };

typedef enum { BODY, BARRIER, SYNC, SYNC_BARRIER, SUSPENDS, WIDENS, NARROWS, CANCELS } deed;

typedef struct {
    deed deed;
    int8_t home; /* the gate of a closure; NOBODY: a thread */
    int8_t onto; /* the gate that it syncs onto, suspends, … */
    bool later;  /* a closure that may be submitted at any time; the others wait in a queue from the start */
} actor_plan;

/* A scenario: constant while it is explored. */
typedef struct {
    int32_t width[GATES]; /* 0: unlimited, with two workers */
    bool outside; /* jobs that went to the pool before the root was closed are not finished */
    int actors;
    actor_plan plan[ACTORS];
} gate_plan;

typedef enum { NEW, IN_LINE, LENDS, ASKS, SLEEPS, TAKES_BACK, RETURNS, RUNS, LEAVES, OVER } stage;

typedef struct {
    uint8_t stage;
    int8_t wants;       /* the gate whose permit it takes or returns next */
    int8_t level;       /* the gate that it reaches while it earmarks permits and gets them back */
    uint8_t overridden; /* a bit per gate whose permit it has earmarked */
    uint8_t entered; /* gates that it has entered; a closure is also in its drainer's gates */
    bool called;    /* it has got a permit and may continue */
} actor;

enum { ACTIVATION = ACTORS }; /* in a wait queue: a drain request of the gate's child */
typedef struct {
    int8_t count, at[LINE];
} line;

typedef struct {
    odi_gate gate;
    line line, ahead; /* entries for ordinary permits, and for earmarked ones */
    line returning;
    int8_t drainers_waiting; /* called drainers that no worker runs */
    int8_t unsent;           /* drain requests that an earlier step has called for */
    int8_t awaited;          /* holders of the parent's permits that wait for a permit of this gate */
} owner;

typedef struct {
    bool there, comes_up;
    int8_t gate;    /* the gate that it serves, inside the gates above it */
    int8_t closure; /* the closure that it runs */
} drainer;

typedef struct {
    owner owners[GATES];
    actor actors[ACTORS];
    drainer drainers[DRAINERS];
    int8_t pool; /* drain requests of the root */
    bool outside;
} world;

static const gate_plan *plan;

/* ---- wait queues ---- */

static inline void append(line *where, int who)
{
    assert_true(where->count < LINE);
    where->at[where->count++] = (int8_t)who;
}

static inline int take_at(line *where, int place)
{
    int who = where->at[place];

    memmove(&where->at[place], &where->at[place + 1], (size_t)(where->count - place - 1));
    where->at[--where->count] = 0; /* so that equal states have equal values */
    return who;
}

static inline bool is_caller(int who)
{
    return who != ACTIVATION && plan->plan[who].deed >= SYNC;
}

static inline bool is_barrier(const world *now, int who, int gate)
{
    if (who == ACTIVATION)
        return false;
    if (is_caller(who)) /* its barrier applies to the gate that it syncs onto, not to those above */
        return plan->plan[who].deed == SYNC_BARRIER && plan->plan[who].onto == gate &&
               now->actors[who].stage != OVER && plan->plan[who].home != gate;
    return plan->plan[who].deed == BARRIER;
}

/* Whether an entry of the parent's wait queue belongs to the child. */
static inline bool is_of_child(const world *now, int who, int parent)
{
    return who == ACTIVATION ||
           (is_caller(who) && now->actors[who].stage == SLEEPS &&
            now->actors[who].entered & 1u << (parent - 1));
}

static inline void move_childs(world *now, int parent, line *from, line *to)
{
    for (int place = 0; place < from->count;) {
        if (is_of_child(now, from->at[place], parent))
            append(to, take_at(from, place));
        else
            place++;
    }
}

/* ---- the queue's part ---- */

static inline odi_front front_of(const world *now, int gate, int own)
{
    const owner *it = &now->owners[gate];

    return odi_gate_front(&it->gate,
                          it->line.count > 0 && is_barrier(now, it->line.at[0], gate), own);
}

static inline void settle(world *now, int gate)
{
    owner *it = &now->owners[gate];

    if (it->gate.earmarks > 0) {
        bool comes = true;

        odi_gate_recount(&it->gate);
        while (it->returning.count > 0 && comes) {
            bool gave_up;

            comes = odi_gate_return(&it->gate, it->drainers_waiting > 0, &gave_up);
            it->drainers_waiting -= gave_up;
            if (comes) {
                it->gate.returning--;
                now->actors[take_at(&it->returning, 0)].called = true;
            }
        }
        for (int place = 0; place < it->ahead.count;) {
            if (it->ahead.at[place] == ACTIVATION)
                place++;
            else if (!odi_gate_enter_earmarked(&it->gate))
                break;
            else
                now->actors[take_at(&it->ahead, place)].called = true;
        }
    }
    bool activations = false;
    for (int place = 0; place < it->ahead.count; place++)
        activations |= it->ahead.at[place] == ACTIVATION;
    bool starts = odi_gate_call_drainer(
        &it->gate, it->line.count > 0 && front_of(now, gate, 0) != ODI_FRONT_HELD, activations);
    it->drainers_waiting += starts;
    it->unsent += starts;
}

static inline void send(world *now, int gate)
{
    now->owners[gate].unsent--;
    if (gate == ROOT) {
        now->pool++;
        return;
    }
    owner *target = &now->owners[gate + 1];
    append(now->owners[gate].awaited > 0 ? &target->ahead : &target->line, ACTIVATION);
    settle(now, gate + 1);
}

/* Takes the next entry for a holder of a permit. Returns NOBODY if no entry may be taken. */
static inline int take_next(world *now, int gate, bool callers)
{
    owner *it = &now->owners[gate];

    if (!callers && it->gate.earmarks > 0 && odi_gate_may_take_earmarked(&it->gate)) {
        for (int place = 0; place < it->ahead.count; place++) {
            if (it->ahead.at[place] == ACTIVATION)
                return take_at(&it->ahead, place);
        }
    }
    odi_front front = front_of(now, gate, 1);
    if (!odi_gate_may_take(&it->gate) || it->line.count == 0 || front == ODI_FRONT_HELD ||
        (callers && !is_caller(it->line.at[0])))
        return NOBODY;
    if (callers && plan->plan[it->line.at[0]].home == gate) /* a closure, not a caller of this gate */
        return NOBODY;
    odi_gate_take(&it->gate, front);
    return take_at(&it->line, 0);
}

/* ---- drainers ---- */

static inline bool wants_back(const world *now, int gate)
{
    for (int each = gate + 1; each < GATES; each++) {
        if (!odi_gate_may_take(&now->owners[each].gate) || now->owners[each].line.count > 0)
            return true;
    }
    return false;
}

static inline void up(drainer *it)
{
    it->there = it->gate < ROOT;
    it->gate += it->there;
    it->closure = NOBODY;
}

static inline void line_up(world *now, drainer *it)
{
    now->owners[it->gate].drainers_waiting++;
    now->owners[it->gate].unsent++;
    up(it);
}

static inline void serve(world *now, drainer *it)
{
    owner *own = &now->owners[it->gate];
    bool begins = false, held_up = false;

    if (it->comes_up) {
        it->comes_up = false;
        if (own->drainers_waiting == 0) { /* its permit was given up */
            up(it);
            return;
        }
        own->drainers_waiting--;
        begins = own->gate.coming > 0;
        own->gate.coming -= begins;
    }
    for (int each = it->gate + 1; each < GATES; each++)
        held_up |= now->owners[each].gate.suspensions > 0;
    if (held_up) {
        if (begins)
            settle(now, it->gate);
        line_up(now, it);
        return;
    }
    int next = take_next(now, it->gate, false);
    if (next == NOBODY) {
        odi_gate_leave(&own->gate);
        settle(now, it->gate);
        up(it);
        return;
    }
    if (begins)
        settle(now, it->gate);
    if (next == ACTIVATION) {
        it->gate--;
        it->comes_up = true;
    } else if (is_caller(next) && plan->plan[next].home != it->gate) {
        now->actors[next].called = true;
        up(it);
    } else {
        it->closure = (int8_t)next;
        now->actors[next].stage = is_caller(next) ? LENDS : RUNS;
    }
}

static inline bool drainer_step(world *now, drainer *it)
{
    if (!it->there || (it->closure != NOBODY && now->actors[it->closure].stage != OVER))
        return false;
    if (it->closure == NOBODY) {
        serve(now, it);
        return true;
    }
    if (plan->plan[it->closure].deed == BARRIER) {
        now->owners[it->gate].gate.exclusive = false;
        settle(now, it->gate);
    }
    it->closure = NOBODY;
    if (wants_back(now, it->gate))
        line_up(now, it);
    return true;
}

/* ---- sync callers ---- */

static inline bool holds(const world *now, int who, int gate)
{
    int home = plan->plan[who].home;

    return (home != NOBODY && home <= gate) || now->actors[who].entered & 1u << gate;
}

static inline bool exclusive_at(int who, int gate)
{
    return plan->plan[who].deed == SYNC_BARRIER && plan->plan[who].onto == gate;
}

/* Called when it has got the permit: it continues to the next gate, or is inside. */
static inline void goes_on(world *now, int who)
{
    actor *it = &now->actors[who];

    it->entered |= (uint8_t)(1u << it->wants);
    it->wants++;
    it->stage = it->wants < GATES && !holds(now, who, it->wants) ? ASKS : RUNS;
    it->level = it->wants;
}

static inline void override_set(world *now, actor *it)
{
    owner *child = &now->owners[it->level - 1], *parent = &now->owners[it->level];

    if (child->awaited++ == 0)
        move_childs(now, it->level, &parent->line, &parent->ahead);
    parent->gate.earmarks++;
    it->overridden |= (uint8_t)(1u << it->level);
    settle(now, it->level);
    settle(now, it->level - 1);
}

static inline bool take_back(world *now, int who)
{
    actor *it = &now->actors[who];
    owner *child = &now->owners[it->level - 1], *parent = &now->owners[it->level];
    bool gave_up;

    if (--child->awaited == 0)
        move_childs(now, it->level, &parent->ahead, &parent->line);
    bool comes = odi_gate_return(&parent->gate, parent->drainers_waiting > 0, &gave_up);
    parent->drainers_waiting -= gave_up;
    if (comes)
        it->overridden &= (uint8_t)~(1u << it->level);
    else {
        append(&parent->returning, who);
        parent->gate.returning++;
    }
    settle(now, it->level);
    settle(now, it->level - 1);
    return comes;
}

/* One critical section of odi_queue_wait_for_permit and of its callers. */
static inline bool sync_step(world *now, int who)
{
    actor *it = &now->actors[who];
    int onto = plan->plan[who].onto;
    owner *own = &now->owners[it->wants < GATES ? it->wants : ROOT];

    switch ((stage)it->stage) {
    case NEW: /* a thread */
    case LENDS:
        if (it->stage == NEW || it->level == 0) {
            it->wants = (int8_t)onto;
            it->level = it->wants;
            it->stage = ASKS;
            own = &now->owners[onto];
        }
        /* fall through */
    case ASKS: /* enters immediately, or first earmarks its permits, from `wants` outwards by `level` */
        if (it->level == it->wants) {
            if (odi_gate_enter(&own->gate, exclusive_at(who, it->wants), own->line.count == 0)) {
                goes_on(now, who);
                return true;
            }
            it->level++;
            return true;
        }
        while (it->level < GATES && !holds(now, who, it->level))
            it->level++;
        if (it->level < GATES) {
            override_set(now, it);
            it->level++;
            return true;
        }
        it->level = it->wants;
        if (odi_gate_enter(&own->gate, exclusive_at(who, it->wants), own->line.count == 0))
            it->stage = TAKES_BACK;
        else {
            bool of_awaited = it->wants > 0 && it->entered & 1u << (it->wants - 1) &&
                              now->owners[it->wants - 1].awaited > 0;

            it->stage = SLEEPS;
            own->gate.barriers += exclusive_at(who, it->wants);
            append(of_awaited ? &own->ahead : &own->line, who);
            settle(now, it->wants);
        }
        return true;
    case SLEEPS:
    case RETURNS:
        if (!it->called)
            return false;
        it->called = false;
        if (it->stage == RETURNS)
            it->overridden &= (uint8_t)~(1u << it->level);
        it->stage = TAKES_BACK;
        return true;
    case TAKES_BACK:
        while (it->level < GATES && !(it->overridden & 1u << it->level))
            it->level++;
        if (it->level == GATES)
            goes_on(now, who);
        else if (!take_back(now, who))
            it->stage = RETURNS;
        return true;
    case RUNS: /* returns the targets' permits first, outwards, and then its own */
        it->stage = LEAVES;
        it->wants = (int8_t)(onto + 1);
        return true;
    case LEAVES:
        if (it->wants < GATES && !(it->entered & 1u << it->wants))
            it->wants = (int8_t)onto;
        else if (it->wants == GATES)
            it->wants = (int8_t)onto;
        own = &now->owners[it->wants];
        it->entered &= (uint8_t)~(1u << it->wants);
        if (exclusive_at(who, it->wants))
            own->gate.exclusive = false;
        int next = take_next(now, it->wants, true);
        if (next != NOBODY)
            now->actors[next].called = true;
        else
            odi_gate_leave(&own->gate);
        settle(now, it->wants);
        it->stage = it->wants == onto ? OVER : LEAVES;
        it->wants++;
        return true;
    default:
        return false;
    }
}

/* ---- other actors ---- */

static inline void cancel(world *now, int gate)
{
    owner *it = &now->owners[gate];

    for (int place = 0; place < it->line.count;) {
        int who = it->line.at[place];

        if (who == ACTIVATION || (is_caller(who) && plan->plan[who].home != gate)) {
            place++;
            continue;
        }
        it->gate.barriers -= is_barrier(now, who, gate);
        now->actors[take_at(&it->line, place)].stage = OVER;
    }
    settle(now, gate);
}

static inline bool actor_step(world *now, int who)
{
    const actor_plan *it = &plan->plan[who];
    actor *own = &now->actors[who];

    if (it->home != NOBODY && own->stage == NEW) {
        owner *home = &now->owners[it->home];

        home->gate.barriers += it->deed == BARRIER;
        append(&home->line, who);
        own->stage = IN_LINE;
        settle(now, it->home);
        return true;
    }
    if (it->deed == SYNC || it->deed == SYNC_BARRIER)
        return own->stage != IN_LINE && sync_step(now, who);
    if (it->home != NOBODY) {
        bool ends = own->stage == RUNS;

        own->stage = ends ? OVER : own->stage;
        return ends;
    }
    if (own->stage == OVER)
        return false;
    odi_gate *gate = &now->owners[it->onto].gate;
    own->stage = it->deed == SUSPENDS && own->stage == NEW ? RUNS : OVER;
    if (it->deed == CANCELS)
        cancel(now, it->onto);
    else if (it->deed == WIDENS || it->deed == NARROWS) {
        gate->width += it->deed == WIDENS ? 1 : -1;
        settle(now, it->onto);
    } else {
        gate->suspensions += own->stage == RUNS ? 1u : UINT32_MAX;
        if (own->stage == OVER)
            settle(now, it->onto);
    }
    return true;
}

/* ---- the model ---- */

enum { STEPS = ACTORS + DRAINERS + GATES + 2 };

static inline void world_begin(world *now)
{
    memset(now, 0, sizeof *now);
    for (int gate = 0; gate < GATES; gate++) {
        now->owners[gate].gate.width =
            plan->width[gate] != 0 ? plan->width[gate] : ODI_GATE_UNLIMITED;
        now->owners[gate].gate.most = 2;
        now->owners[gate].gate.complete = gate < ROOT || !plan->outside;
        now->owners[gate].gate.closed = true;
    }
    now->outside = plan->outside;
    for (int each = 0; each < DRAINERS; each++)
        now->drainers[each].closure = NOBODY;
    for (int who = 0; who < plan->actors; who++) {
        if (plan->plan[who].home != NOBODY && !plan->plan[who].later)
            (void)actor_step(now, who);
    }
    for (int who = plan->actors; who < ACTORS; who++)
        now->actors[who].stage = OVER;
}

/* Performs one step, if it is possible now. */
static inline bool world_step(world *now, int step)
{
    if (step < ACTORS)
        return now->actors[step].stage != OVER && actor_step(now, step);
    step -= ACTORS;
    if (step < DRAINERS)
        return drainer_step(now, &now->drainers[step]);
    step -= DRAINERS;
    if (step < GATES) {
        bool may = now->owners[step].unsent > 0;

        if (may)
            send(now, step);
        return may;
    }
    step -= GATES;
    if (step == 0) { /* a worker takes a drain request from the pool */
        int free = 0;

        while (free < DRAINERS && now->drainers[free].there)
            free++;
        if (now->pool == 0 || free == DRAINERS)
            return false;
        now->pool--;
        now->drainers[free] = (drainer){true, true, ROOT, NOBODY};
        return true;
    }
    if (!now->outside)
        return false;
    now->outside = false;
    now->owners[ROOT].gate.complete = true;
    settle(now, ROOT);
    return true;
}

/* ---- invariants ---- */

/* Returns the actors that run inside a gate, a bit each. An actor that sleeps in a sync onto a child has lent
 * its permit and does not count. *barrier: one of them is a barrier. */
static inline unsigned inside(const world *now, int gate, bool *barrier)
{
    unsigned all = 0;

    *barrier = false;
    for (int who = 0; who < plan->actors; who++) {
        const actor_plan *it = &plan->plan[who];
        stage at = (stage)now->actors[who].stage;
        bool of_gate = it->home != NOBODY && it->home <= gate && at >= LENDS && at != OVER;
        bool entered = now->actors[who].entered & 1u << gate;

        if (!of_gate && !entered)
            continue;
        if (!(now->actors[who].overridden & 1u << gate))
            all |= 1u << who;
        *barrier |= (it->deed == BARRIER && it->home == gate) ||
                    (entered && exclusive_at(who, gate));
    }
    return all;
}

/* Returns the number of permits held. */
static inline int holders(const world *now, int gate)
{
    int count = now->owners[gate].drainers_waiting;

    for (int each = 0; each < DRAINERS; each++) {
        const drainer *it = &now->drainers[each];

        count += it->there && it->gate <= gate && !(it->comes_up && it->gate == gate);
    }
    for (int who = 0; who < plan->actors; who++) {
        const actor *it = &now->actors[who];
        bool has = it->wants == gate &&
                   ((it->stage == SLEEPS && it->called) || it->stage == TAKES_BACK || it->stage == RETURNS);

        count += has || it->entered & 1u << gate;
    }
    return count;
}

/* Returns the fault of a step, in which an actor has begun that must not, or NULL. */
static inline const char *fault_between(const world *before, const world *now)
{
    for (int gate = 0; gate < GATES; gate++) {
        const odi_gate *then = &before->owners[gate].gate;
        const line *line = &before->owners[gate].line;
        bool barrier;
        unsigned was = inside(before, gate, &barrier), is = inside(now, gate, &barrier), came = is & ~was;

        for (int who = 0; who < plan->actors; who++)
            came &= ~(before->actors[who].overridden & 1u << gate ? 1u << who : 0); /* it was inside */
        for (int who = 0; came != 0 && who < plan->actors; who++) {
            stage at = (stage)before->actors[who].stage;
            bool waits = false;

            if (!(came & 1u << who))
                continue;
            if (at == ASKS || at == NEW || at == LENDS) { /* at once */
                for (int place = 0; place < line->count; place++)
                    waits |= plan->width[gate] != 0 || exclusive_at(who, gate) ||
                             is_barrier(before, line->at[place], gate);
                if (waits && (at == ASKS ? before->actors[who].wants : plan->plan[who].onto) == gate)
                    return "somebody passes over the line";
            } else if (at == IN_LINE) {
                if (then->suspensions > 0)
                    return "somebody begins while it is suspended";
                if (then->returning > 0 && plan->plan[who].home == gate)
                    return "somebody begins before a holder that returns";
                if (plan->width[gate] != 0 && plan->plan[who].home == gate &&
                    __builtin_popcount(is) > odi_gate_permits(then))
                    return "somebody begins beside as many as the width";
            }
        }
        const odi_gate *after = &now->owners[gate].gate;
        for (int who = 0; who < plan->actors; who++) {
            const actor *old = &before->actors[who], *it = &now->actors[who];
            bool gets = !old->called && it->called && old->stage == SLEEPS && old->wants == gate;
            bool enters = it->entered & ~old->entered & 1u << gate && old->stage != TAKES_BACK;

            if ((gets || enters) && after->suspensions > 0)
                return "somebody enters while it is suspended";
            if (gets && after->returning > 0)
                return "somebody enters before a holder that returns";
        }
    }
    return NULL;
}

static inline const char *fault_of(const world *now, bool last)
{
    for (int gate = 0; gate < GATES; gate++) {
        const owner *it = &now->owners[gate];
        bool barrier, widens = false;
        int count = __builtin_popcount(inside(now, gate, &barrier));

        if (it->gate.held != holders(now, gate))
            return "not each holder has one permit";
        if (it->returning.count > 0 &&
            it->gate.held - it->gate.earmarks < odi_gate_permits(&it->gate))
            return "a holder waits for a permit that is there";
        if (it->line.count > 0 && front_of(now, gate, 0) != ODI_FRONT_HELD &&
            it->gate.suspensions == 0 && it->gate.coming == 0 && it->gate.held < odi_gate_permits(&it->gate) &&
            plan->width[gate] != 0)
            return "the line's front waits for a permit that is there";
        if (it->gate.coming > 1 || it->gate.coming > it->drainers_waiting)
            return "more than one drainer is coming";
        for (int who = 0; who < plan->actors; who++)
            widens |= plan->plan[who].deed == WIDENS && plan->plan[who].onto == gate;
        if (plan->width[gate] != 0 && count > plan->width[gate] + widens)
            return "more are inside than the width";
        if (barrier && count > 1)
            return "a barrier is not alone";
        if (barrier && now->outside && gate == ROOT)
            return "a barrier does not wait for what was outside";
        if (!last)
            continue;
        if (it->line.count + it->ahead.count + it->returning.count > 0)
            return "something stays in line for ever";
        if (it->gate.held != 0 || it->gate.coming != 0 || it->gate.exclusive)
            return "a permit is lost";
        if (it->gate.earmarks != 0 || it->gate.used != 0 || it->gate.returning != 0)
            return "an earmarked permit is lost";
        if (it->gate.barriers != 0 || it->drainers_waiting != 0 || it->awaited != 0)
            return "the owner's counts are wrong at the end";
    }
    for (int who = 0; last && who < plan->actors; who++) {
        if (now->actors[who].stage != OVER)
            return "somebody waits for ever";
    }
    return NULL;
}

#endif
