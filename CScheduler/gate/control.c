#include "gate/queue.h"
#include "gate/target.h"

#include "base/invariant.h"
#include "gate/cycle.h"
#include "gate/earmark.h"
#include "gate/wait.h"
#include "job/group.h"
#include "sleep/idle.h"
#include "worker/worker.h"

/* Waits of a few microseconds are common while workers are awake: worth waiting awake for.
 * But not after waking one, because it may need this very CPU: across CPUs a wake takes ten
 * times as long. */
enum { WAIT_SPINS = 600 };

/* ---- suspension and width ---- */

void od_queue_suspend(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions++;
    odi_queue_take_back(queue);
    odi_queue_close_if_open(queue);
    odi_lock_release(&queue->watch.lock);
}

void od_queue_resume(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    if (queue->gate.suspensions == queue->gate.inactive)
        odi_trap("TaskQueue.resume() of \"%s\" was called more often than suspend()",
                 queue->label);
    queue->gate.suspensions--;
    odi_queue_settle_and_release(queue);
}

bool od_queue_is_suspended(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool suspended = queue->gate.suspensions > queue->gate.inactive;
    odi_lock_release(&queue->watch.lock);
    return suspended;
}

void od_queue_activate(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions -= queue->gate.inactive;
    queue->gate.inactive = false;
    odi_queue_settle_and_release(queue);
}

bool od_queue_is_active(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool active = !queue->gate.inactive;
    odi_lock_release(&queue->watch.lock);
    return active;
}

void od_queue_set_width(od_queue *queue, int32_t width)
{
    if (width < 0)
        odi_trap("od_queue_set_width: the width is %d; choose 1 or more, or OD_UNLIMITED", width);
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.width = width != OD_UNLIMITED ? width : ODI_GATE_UNLIMITED;
    odi_queue_take_back(queue); /* others may run it now, if the drainer blocks */
    if (width != OD_UNLIMITED)
        odi_queue_close_if_open(queue);
    odi_queue_settle_and_release(queue);
}

int32_t od_queue_width(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    int32_t width = queue->gate.width;
    odi_lock_release(&queue->watch.lock);
    return width != ODI_GATE_UNLIMITED ? width : OD_UNLIMITED;
}

/* ---- sync ---- */

bool od_queue_is_current(od_queue *queue)
{
    od_queue *around;

    for (int depth = 0; (around = od_queue_of_thread(depth)) != NULL; depth++) {
        if (around == queue)
            return true;
    }
    return false;
}

/* Takes a place without waiting: when nobody is before us. An open queue has places too: for whoever is inside
 * without one a barrier would not wait. */
static bool enter_at_once(od_queue *queue, bool exclusive)
{
    odi_lock_acquire(&queue->watch.lock);
    bool at_once = odi_gate_enter(&queue->gate, exclusive, odi_queue_is_clear(queue));
    odi_lock_release(&queue->watch.lock);
    return at_once;
}

ODI_COLD void odi_queue_wait_for_permit(od_queue *queue, bool exclusive, od_queue *through)
{
    odi_sync_wait wait;
    odi_earmarks earmarks = {.awaited = queue};

    if (odi_scopes != NULL)
        odi_earmark_give(&earmarks);
    if (ODI_FINDS_CYCLES)
        odi_cycle_enter(&wait, queue);
    odi_queue_take_permit(queue, exclusive, through);
    if (ODI_FINDS_CYCLES)
        odi_cycle_leave(&wait);
    if (ODI_UNLIKELY(earmarks.given != 0))
        odi_earmark_take_back(&earmarks);
}

/* Whether the caller runs one of the queue's closures, and asks to be let in once more. Then it is in already, and
 * has no other permit: whoever waits for that closure, a barrier or others of a limited queue, would have to wait
 * for this sync, which stood in line behind them. */
static bool is_inside(od_queue *queue)
{
    if (ODI_LIKELY(odi_scopes == NULL && odi_worker_self == NULL && odi_outsides == NULL) ||
        !od_queue_is_current(queue))
        return false;
    if (odi_scopes != NULL && od_queue_width(queue) == 1)
        odi_trap("TaskQueue.sync on the serial queue \"%s\" from one of its own closures "
                 "would wait for itself: call the function directly instead",
                 queue->label);
    return true;
}

void od_queue_sync_begin(od_queue *queue, od_scope *scope)
{
    *scope = (od_scope){.queue = queue, .outer = odi_scopes, .holds_place = !is_inside(queue)};
    if (scope->holds_place) {
        if (ODI_UNLIKELY(odi_target_next(queue) != NULL))
            odi_target_check(queue);
        if (!enter_at_once(queue, false))
            odi_queue_wait_for_permit(queue, false, NULL);
        /* Asked again: the queue may have been inactive, and without a target. */
        if (ODI_UNLIKELY(odi_target_next(queue) != NULL))
            odi_target_enter(scope);
    }
    odi_scopes = scope;
}

void od_queue_sync_barrier_begin(od_queue *queue, od_scope *scope)
{
    *scope = (od_scope){.queue = queue, .outer = odi_scopes, .holds_place = true, .exclusive = true};
    if (od_queue_is_current(queue))
        odi_trap("TaskQueue.sync(flags: .barrier) on \"%s\" from one of its own closures would "
                 "wait for itself: call the function directly instead",
                 queue->label);
    odi_target_check(queue);
    odi_queue_keep_line(queue);
    if (!enter_at_once(queue, true))
        odi_queue_wait_for_permit(queue, true, NULL);
    odi_target_enter(scope);
}

void od_queue_sync_end(od_scope *scope)
{
    odi_scopes = scope->outer;
    if (scope->holds_place && odi_target_gate(scope->queue) != scope->beyond)
        odi_places_leave(scope->queue, (odi_places){true, scope->exclusive, -1, scope->beyond});
    else if (scope->holds_place)
        odi_queue_give_permit(scope->queue, scope->exclusive);
}

/* ---- places that outlast their jobs ---- */

static bool hold(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool limited = queue->gate.width != ODI_GATE_UNLIMITED;

    if (limited) {
        odi_gate_hold(&queue->gate);
        odi_queue_take_back(queue); /* the drainer that is here goes on no further */
    }
    odi_queue_settle_and_release(queue);
    return limited;
}

/* Widths may change meanwhile: a bit for each queue of the chain says which place was taken. */
uint32_t od_queue_hold(od_queue *queue)
{
    uint32_t places = 0, place = 1;

    for (od_queue *each = queue; each != NULL && place != 0; each = odi_target_gate(each)) {
        if (hold(each))
            places |= place;
        place <<= 1;
    }
    return places;
}

void od_queue_unhold(od_queue *queue, uint32_t places)
{
    odi_places_leave(queue, (odi_places){.own = places & 1, .targets = places >> 1});
}

/* ---- cancelling and waiting ---- */

uint64_t odi_queue_cancel(od_queue *queue)
{
    odi_team *team = &queue->pool->team;
    uint64_t cancelled = 0;

    odi_lock_acquire(&queue->inbox.lock); /* nothing is counted in advance meanwhile */
    odi_reserved reserved = odi_inbox_take_reserved(&queue->inbox);
    odi_queue_close_current(queue);
    /* relaxed: set under this lock. Behind the first one that a cancel has closed are others. */
    for (odi_record *record = queue->records;
         record != NULL && !(odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED);
         record = record->next_of_queue)
        cancelled += odi_record_cancel(team, record);
    odi_lock_release(&queue->inbox.lock);
    odi_lock_release(&queue->watch.lock);

    odi_reserved_give_back(reserved);
    odi_queue_purge(queue);
    odi_queue_reap(queue);
    return cancelled;
}

uint64_t od_queue_cancel_all(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    return odi_queue_cancel(queue);
}

uint64_t od_queue_pending(od_queue *queue)
{
    uint64_t pending = 0;

    odi_queue_return_reserved(queue);
    odi_lock_acquire(&queue->watch.lock);
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue)
        pending += odi_record_pending(&queue->pool->team, record);
    odi_lock_release(&queue->watch.lock);
    return pending;
}

bool od_queue_wait(od_queue *queue, int64_t deadline_ns)
{
    odi_awaited jobs = {odi_queue_set(queue), NULL, queue, queue->band};

    return odi_await(&jobs, deadline_ns);
}

void od_queue_notify(od_queue *queue, void (*function)(void *), void *context)
{
    odi_set set = odi_queue_set(queue);

    if (!odi_watch_notify(&set, function, context)) {
        (void)od_queue_wait(queue, INT64_MAX); /* memory is short: wait here instead */
        function(context);
    }
}

const char *od_queue_label(od_queue *queue)
{
    return queue->label;
}

od_band od_queue_band(od_queue *queue)
{
    return (od_band)queue->band;
}

/* ---- groups ---- */

uint64_t od_group_pending(od_group *group)
{
    odi_lock_acquire(&group->watch.lock);
    uint64_t pending = odi_records_outstanding(group->records, odi_record_next_of_group);
    odi_lock_release(&group->watch.lock);
    return pending;
}

/* Whether the wait is likely to be short: a worker was awake when this thread submitted, and
 * not waiting for the very CPU that waiting awake would take. */
static bool may_be_short(od_group *group)
{
    bool woke = odi_woke_a_sleeper, may = false;

    odi_woke_a_sleeper = false;
    if (woke)
        return false;
    /* Under the lock the record stays its queue's, and with that its pool is there. */
    odi_lock_acquire(&group->watch.lock);
    odi_record *last = odi_load_relaxed(&group->last); /* relaxed: written under the lock */
    if (last != NULL) {
        odi_team *team = odi_load_relaxed(&last->team); /* relaxed, all: hints */

        may = odi_load_relaxed(&team->may_spin) &&
              odi_load_relaxed(&team->sites[0].searcher_cpu) != od_thread_cpu();
    }
    odi_lock_release(&group->watch.lock);
    return may;
}

bool od_group_wait(od_group *group, int64_t deadline_ns)
{
    if (odi_worker_self == NULL && deadline_ns > 0 && may_be_short(group)) {
        for (int spins = 0; odi_spins_on(spins < WAIT_SPINS && !odi_group_seems_empty(group)); spins++)
            odi_spin_pause();
    }
    return od_group_wait_for(group, NULL, OD_QUEUE_BAND, deadline_ns);
}

bool od_group_wait_for(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns)
{
    odi_awaited jobs = {odi_group_set(group), group, queue, 0};

    if (queue != NULL)
        jobs.band = band >= 0 && (uint32_t)band < queue->band ? (uint32_t)band : queue->band;
    return odi_await(&jobs, deadline_ns);
}

void od_group_notify(od_group *group, void (*function)(void *), void *context)
{
    odi_set set = odi_group_set(group);

    if (!odi_watch_notify(&set, function, context)) {
        (void)od_group_wait(group, INT64_MAX); /* memory is short: wait here instead */
        function(context);
    }
}
