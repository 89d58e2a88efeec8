/* shortage.c — jobs that memory is too short for: there is no record to count them on, or no room in
 * their line. Their submitter runs them, within the queue's limits all the same:
 *
 * - As a rule when its turn comes: it stands in the line like a sync caller, or its job does
 *   (odi_queue_list). Who holds a place of one of the queue's targets earmarks it meanwhile (earmark.h).
 * - In a closure of the queue, of a serial target, or in a target's barrier: at once, on top of that
 *   closure and on its place. Its turn could not come before the closure ends, which stands still
 *   below, so that no place is used twice and nobody else is in there.
 * - On a suspended queue, or one whose target is: as soon as those who began before the suspension
 *   leave it a place. It may be the submitter who resumes the queue. How that wait ends: by those,
 *   or by the resume.
 *
 * - Not on the thread of a stop that gives the pool's work up: it is discarded, for it could wait for
 *   what is stuck.
 *
 * Who fires timers does none of this, because the queue's closures may need that very worker: a
 * timer has room for its call itself, or tries again later (timer.c).
 */
#include "gate/earmark.h"
#include "gate/queue.h"
#include "gate/target.h"
#include "job/group.h"

#include "os/clock.h"
#include "os/futex.h"

/* Whether there is a place on a suspended queue is looked at so often. */
#define LOOK_AGAIN_NS (200 * ODI_MICROSECOND)

static bool is_suspended(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool suspended = queue->gate.suspensions > 0;
    odi_lock_release(&queue->watch.lock);
    return suspended || odi_target_is_suspended(queue);
}

/* Drainers that wait hold places and run nothing: where more than the width hold one, they give
 * theirs up when they come up. */
static bool enter_suspended(od_queue *queue, bool exclusive)
{
    odi_lock_acquire(&queue->watch.lock);
    int32_t inside = queue->gate.held - (int32_t)queue->drainers_waiting;
    bool may = !queue->gate.exclusive;
    if (exclusive)
        may = may && inside == 0 && queue->gate.complete;
    else if (queue->gate.width != ODI_GATE_UNLIMITED)
        may = may && inside < queue->gate.width;
    queue->gate.held += may;
    queue->gate.exclusive |= may && exclusive;
    odi_lock_release(&queue->watch.lock);
    return may;
}

static void take_place(od_queue *queue, bool exclusive, od_queue *through)
{
    odi_atomic(uint32_t) nobody_wakes;
    bool has = false;

    odi_store_relaxed(&nobody_wakes, 0); /* relaxed: not shared */
    while (is_suspended(queue) && !(has = enter_suspended(queue, exclusive))) {
        od_blocking_begin();
        (void)odi_futex_wait(&nobody_wakes, 0, odi_clock_after(LOOK_AGAIN_NS));
        od_blocking_end();
    }
    if (!has)
        odi_queue_wait_for_permit(queue, exclusive, through);
}

/* As odi_target_enter, of queues that are suspended. */
static void take_places(od_scope *scope)
{
    od_queue *through = scope->queue, *each = odi_target_gate(scope->queue);

    if (scope->exclusive)
        odi_queue_keep_line(scope->queue);
    take_place(scope->queue, scope->exclusive, NULL);
    scope->beyond = each;
    odi_scopes = scope;
    while (each != NULL && !od_queue_is_current(each)) {
        take_place(each, false, through);
        through = each;
        scope->beyond = each = odi_target_gate(each);
    }
}

/* False: it runs on top of what the calling thread runs. Otherwise od_queue_sync_end follows. */
static bool begin(od_queue *queue, bool barrier, od_scope *scope)
{
    if (od_queue_is_current(queue) || od_queue_blocked_target(queue) != NULL)
        return false;
    if (is_suspended(queue)) {
        *scope = (od_scope){.queue = queue, .outer = odi_scopes, .holds_place = true,
                          .exclusive = barrier};
        take_places(scope);
    } else if (barrier)
        od_queue_sync_barrier_begin(queue, scope);
    else
        od_queue_sync_begin(queue, scope);
    return true;
}

ODI_COLD void odi_queue_run_uncounted(od_queue *queue, odi_group *group, uint32_t key,
                                      odi_entry job)
{
    od_scope scope;

    if (odi_pool_is_discarded_here(queue->pool)) {
        odi_run_discard(&queue->pool->team, job);
        return;
    }
    if (group != NULL)
        odi_group_enter(group);
    bool began = begin(queue, (key & ODI_KEY_BARRIER) != 0, &scope);
    odi_job_run(job);
    if (began)
        od_queue_sync_end(&scope);
    if (group != NULL)
        odi_group_leave(group);
}

/* A barrier waits for it: nothing that is behind the barrier may keep it waiting. Lock held. */
static bool is_waited_for(const od_queue *queue, odi_entry labelled)
{
    odi_record *record = odi_record_of_job(labelled);

    /* relaxed: set under the lock */
    return !queue->gate.complete && record != NULL && odi_load_relaxed(&record->flags) & ODI_RECORD_STALE;
}

ODI_COLD bool odi_queue_keep_in(od_queue *queue, odi_wait_node *room, odi_entry entry)
{
    odi_lock_acquire(&queue->watch.lock);
    /* relaxed: written under the lock */
    bool kept = odi_load_relaxed(&queue->inbox.diverted) && !odi_entry_is_cancelled(entry) &&
                !is_waited_for(queue, entry);
    if (kept) {
        odi_queue_list(queue, room, entry);
        queue->gate.barriers += odi_entry_is_barrier(entry);
    }
    odi_queue_settle_and_release(queue);
    return kept;
}

ODI_COLD bool odi_queue_run_if_open(od_queue *queue, odi_entry job)
{
    od_scope scope = {.queue = queue, .outer = odi_scopes, .visits = odi_queue_visit(queue)};

    if (!scope.visits)
        return false;
    odi_scopes = &scope;
    odi_job_run(job);
    od_queue_sync_end(&scope);
    return true;
}

ODI_COLD void odi_queue_push_without_memory(od_queue *queue, odi_entry labelled)
{
    bool barrier = odi_entry_is_barrier(labelled), began = false;
    od_scope scope;
    odi_wait_node mine;

    if (odi_pool_is_discarded_here(queue->pool)) {
        odi_run_discard(&queue->pool->team, labelled);
        return;
    }
    odi_lock_acquire(&queue->watch.lock);
    bool at_once = odi_entry_is_cancelled(labelled) || is_waited_for(queue, labelled);
    bool listed = !at_once && queue->gate.suspensions == 0 && !od_queue_is_current(queue) &&
                  !odi_target_is_suspended(queue) && !odi_target_is_held(queue);
    if (listed) {
        odi_queue_list(queue, &mine, labelled);
        queue->gate.barriers += barrier;
    }
    odi_queue_settle_and_release(queue);
    if (listed) {
        odi_queue_await_grant(queue, &mine, "without memory for room in");
        return;
    }
    if (!at_once)
        began = begin(queue, barrier, &scope);
    (void)odi_run_outside(&queue->pool->team, labelled); /* or discards it */
    if (began)
        od_queue_sync_end(&scope);
}
