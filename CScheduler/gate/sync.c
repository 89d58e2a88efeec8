/* sync.c — permits of a queue and its targets. A sync caller takes a permit of the queue, then of each target
 * outwards, and returns them at its end. A task holds them across an `await`. */
#include "base/invariant.h"
#include "gate/callers.h"
#include "gate/current.h"
#include "worker/worker.h"

/* ---- returning permits ---- */

/* Permits of a queue and its targets: the queue's own, and a bit per target outwards, up to `beyond`. */
typedef struct {
    bool own, exclusive; /* `exclusive`: a barrier's permit */
    bool held;           /* the permit was kept by od_queue_hold; its barrier was exclusive until now */
    int64_t targets;     /* -1: all targets */
    od_queue *beyond;
    bool deep;    /* targets beyond the bits count their permits themselves */
    uint8_t level; /* number of targets visited */
} odi_places;

/* Targets with a bit in the value that od_queue_hold returns. */
enum { TARGETS_WITH_BIT = 22 };

/* Takes a permit beyond the bits, if there is one. These holders are alike: a queue only counts their
 * permits. */
static bool take_deep(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool held = queue->more != NULL && queue->more->held_deep > 0;
    if (held)
        queue->more->held_deep--;
    odi_lock_release(&queue->watch.lock);
    return held;
}

/* A returned permit, linked to those returned before it. */
typedef struct odi_left_place {
    od_queue *queue;
    odi_settlement settlement;
    const struct odi_left_place *before;
} odi_left_place;

/* Returns all permits before any consequence. The queue's own permit comes last, because it keeps the targets
 * alive. Nothing is to be done for a queue that is freed or in another generation by then. */
static void leave(od_queue *queue, od_queue *each, odi_places places, const odi_left_place *before)
{
    bool behind = places.deep && places.level >= TARGETS_WITH_BIT;
    bool last = each == places.beyond || (places.targets == 0 && !places.deep), over = false;
    odi_left_place here = {.queue = last ? queue : each, .before = before};
    od_queue *next = last ? NULL : odi_target_gate(each);

    if (last ? places.own : behind ? take_deep(each) : places.targets & 1) {
        here.settlement = odi_queue_leave(here.queue, places.held || (last && places.exclusive), &over);
        before = &here;
    }
    places.targets >>= 1;
    places.level += !behind;
    if (!last) {
        leave(queue, next, places, before);
        return;
    }
    for (; before != NULL; before = before->before)
        odi_queue_carry_out(before->queue, before->settlement);
    if (over)
        odi_queue_reap(queue);
}

static void give_up(od_queue *queue, odi_places places)
{
    leave(queue, odi_target_gate(queue), places, NULL);
}

/* ---- sync ---- */

/* Whether the caller already runs one of the queue's closures. It then needs no second permit. A barrier, or
 * other jobs of a limited queue, may wait for that closure. They would wait for this sync, which would queue
 * behind them. */
static bool is_inside(od_queue *queue)
{
    if (ODI_LIKELY(odi_scopes == NULL && odi_worker_self == NULL && odi_outsides == NULL &&
                   odi_descended == NULL) ||
        !od_queue_is_current(queue))
        return false;
    if (odi_is_in_scope() && od_queue_width(queue) == 1)
        odi_trap("TaskQueue.sync: a closure of the queue would wait for itself (\"%s\"). Call the function directly.",
                 queue->label);
    return true;
}

static void check_targets(od_queue *queue)
{
    od_queue *blocked = od_queue_blocked_target(queue);

    if (blocked != NULL && !od_queue_is_current(queue))
        odi_trap("TaskQueue.sync: a %s of the target would wait for itself (\"%s\" on \"%s\"). Call the function directly.",
                 od_queue_width(blocked) == 1 ? "closure" : "barrier", queue->label, blocked->label);
}

static void enter_targets(od_scope *scope)
{
    od_queue *each = odi_target_gate(scope->queue);

    scope->beyond = each;
    odi_scopes = scope; /* from here on the caller runs in the queues whose permits it holds */
    od_queue *through = scope->queue;
    while (each != NULL && !od_queue_is_current(each)) {
        odi_queue_wait_for_permit(each, false, through);
        through = each;
        each = odi_target_gate(each);
        scope->beyond = each;
    }
}

/* Forks within the scope that thieves take belong to the scope too. */
static void note_scope(od_scope *scope)
{
    if (ODI_LIKELY(od_forks_self == NULL))
        return;
    odi_around around = odi_around_here();
    scope->noted = odi_forks_note_around(&around);
}

void od_queue_sync_begin(od_queue *queue, od_scope *scope)
{
    *scope = (od_scope){.queue = queue, .outer = odi_scopes, .holds_place = !is_inside(queue)};
    if (scope->holds_place) {
        if (ODI_UNLIKELY(odi_target_next(queue) != NULL))
            check_targets(queue);
        if (!odi_queue_enter_at_once(queue, false))
            odi_queue_wait_for_permit(queue, false, NULL);
        /* Read again: the queue may have been inactive, and without a target. */
        if (ODI_UNLIKELY(odi_target_next(queue) != NULL))
            enter_targets(scope);
    }
    odi_scopes = scope;
    note_scope(scope);
}

void od_queue_sync_barrier_begin(od_queue *queue, od_scope *scope)
{
    *scope = (od_scope){.queue = queue, .outer = odi_scopes, .holds_place = true, .exclusive = true};
    if (od_queue_is_current(queue))
        odi_trap("TaskQueue.sync(flags: .barrier): a closure of the queue would wait for itself (\"%s\"). "
                 "Call the function directly.",
                 queue->label);
    check_targets(queue);
    odi_queue_keep_line(queue);
    if (!odi_queue_enter_at_once(queue, true))
        odi_queue_wait_for_permit(queue, true, NULL);
    enter_targets(scope);
    note_scope(scope);
}

void od_queue_sync_end(od_scope *scope)
{
    if (ODI_UNLIKELY(scope->noted))
        odi_forks_strike();
    odi_scopes = scope->outer;
    if (scope->holds_place && odi_target_gate(scope->queue) != scope->beyond)
        give_up(scope->queue, (odi_places){.own = true, .exclusive = scope->exclusive, .targets = -1, .beyond = scope->beyond});
    else if (scope->holds_place)
        odi_queue_give_permit(scope->queue, scope->exclusive);
}

bool odi_queue_try_enter(od_queue *queue, bool exclusive, od_scope *scope)
{
    *scope = (od_scope){.queue = queue, .outer = odi_scopes, .holds_place = true, .exclusive = exclusive, .drains = true};
    if (!odi_queue_enter_at_once(queue, exclusive))
        return false;
    scope->beyond = odi_target_gate(queue);
    odi_scopes = scope;
    while (scope->beyond != NULL && odi_queue_enter_at_once(scope->beyond, false))
        scope->beyond = odi_target_gate(scope->beyond);
    if (scope->beyond != NULL)
        od_queue_sync_end(scope);
    else
        note_scope(scope);
    return scope->beyond == NULL;
}

/* ---- permits that outlast their jobs ---- */

static bool hold(od_queue *queue, bool deep)
{
    odi_lock_acquire(&queue->watch.lock);
    bool alone = queue->gate.exclusive, limited = queue->gate.width != ODI_GATE_UNLIMITED || alone;

    if (limited) {
        queue->alone_beyond += alone;
        odi_gate_hold(&queue->gate);
        if (deep)
            queue->more->held_deep++;
        odi_queue_take_back(queue); /* the current drainer must not continue */
    }
    odi_queue_settle_and_release(queue);
    return limited;
}

/* Bits record which permits were taken, because widths may change in between: one bit for each of the first
 * queues of the chain. One more bit says that queues behind them were visited. The bits above identify the
 * process: a forked child holds none of its parent's permits. */
enum { DEEP = 1 << (TARGETS_WITH_BIT + 1), PLACES = 2 * DEEP - 1, ONE_FORK = PLACES + 1 };

static uint32_t forks_since; /* the number of forks from the first process to this one */

void odi_holds_forked(void)
{
    forks_since += ONE_FORK;
}

uint32_t od_queue_hold(od_queue *queue)
{
    uint32_t places = 0, place = 1;

    for (od_queue *each = queue; each != NULL; each = odi_target_gate(each)) {
        if (hold(each, place == DEEP))
            places |= place;
        if (place < DEEP)
            place <<= 1;
    }
    return places != 0 ? places | forks_since : 0;
}

void od_queue_unhold(od_queue *queue, uint32_t places)
{
    if (places == 0 || ((places ^ forks_since) & ~(uint32_t)PLACES) != 0)
        return;
    give_up(queue, (odi_places){.own = places & 1, .targets = (places & (DEEP - 1)) >> 1, .deep = places & DEEP, .held = true});
}
