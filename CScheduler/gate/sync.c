/* sync.c — places of a queue and of what it is on: a sync caller takes one of the queue, then one of each target,
 * outwards, and gives them up at its end; a task holds them across an `await`. */
#include "base/invariant.h"
#include "gate/callers.h"
#include "gate/current.h"
#include "worker/worker.h"

/* ---- giving up ---- */

/* Places of a queue and of what it is on: its own, and a bit for each target, outwards, up to `beyond`. */
typedef struct {
    bool own, exclusive; /* that of a barrier */
    int64_t targets;     /* -1: all of them */
    od_queue *beyond;
    bool deep;    /* those behind the bits are counted in the queues */
    uint8_t level; /* targets that were looked at */
} odi_places;

/* Targets with a bit of their own in what od_queue_hold returns. */
enum { TARGETS_WITH_BIT = 22 };

/* Whether a place behind the bits is to be given up. Holders are alike there: a queue counts its places only. */
static bool take_deep(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool held = queue->more != NULL && queue->more->held_deep > 0;
    if (held)
        queue->more->held_deep--;
    odi_lock_release(&queue->watch.lock);
    return held;
}

/* A place that was given up, and those that were before it. */
typedef struct odi_left_place {
    od_queue *queue;
    odi_settlement settlement;
    const struct odi_left_place *before;
} odi_left_place;

/* All of them before anything follows from it. The queue's own place last: it is what keeps its
 * targets, which end no sooner. A queue that is over by now, or in another generation, has nothing to be done for it. */
static void leave(od_queue *queue, od_queue *each, odi_places places, const odi_left_place *before)
{
    bool behind = places.deep && places.level >= TARGETS_WITH_BIT;
    bool last = each == places.beyond || (places.targets == 0 && !places.deep), over = false;
    odi_left_place here = {.queue = last ? queue : each, .before = before};
    od_queue *next = last ? NULL : odi_target_gate(each);

    if (last ? places.own : behind ? take_deep(each) : places.targets & 1) {
        here.settlement = odi_queue_leave(here.queue, last && places.exclusive, &over);
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

/* Whether the caller runs one of the queue's closures, and asks to be let in once more. Then it is in already, and
 * has no other permit: whoever waits for that closure, a barrier or others of a limited queue, would have to wait
 * for this sync, which stood in line behind them. */
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
    odi_scopes = scope; /* from here on the caller is on what it holds places of */
    od_queue *through = scope->queue;
    while (each != NULL && !od_queue_is_current(each)) {
        odi_queue_wait_for_permit(each, false, through);
        through = each;
        each = odi_target_gate(each);
        scope->beyond = each;
    }
}

/* Forks within the scope that others steal are in it too. */
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
        /* Asked again: the queue may have been inactive, and without a target. */
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

/* ---- places that outlast their jobs ---- */

static bool hold(od_queue *queue, bool deep)
{
    odi_lock_acquire(&queue->watch.lock);
    bool limited = queue->gate.width != ODI_GATE_UNLIMITED;

    if (limited) {
        odi_gate_hold(&queue->gate);
        if (deep)
            queue->more->held_deep++;
        odi_queue_take_back(queue); /* the drainer that is here goes on no further */
    }
    odi_queue_settle_and_release(queue);
    return limited;
}

/* Widths may change meanwhile: a bit for each of the chain's first queues says which place was taken, and one that
 * queues behind them were looked at. Those above say in which process: a forked child holds nothing that its parent
 * took. */
enum { DEEP = 1 << (TARGETS_WITH_BIT + 1), PLACES = 2 * DEEP - 1, ONE_FORK = PLACES + 1 };

static uint32_t forks_since; /* those of the process's forebears since the first */

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
    give_up(queue, (odi_places){.own = places & 1, .targets = (places & (DEEP - 1)) >> 1, .deep = places & DEEP});
}
