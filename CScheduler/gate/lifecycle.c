/* lifecycle.c — creation and release of queues, and their state in a forked child and at a pool's stop. */
#include <stdio.h>

#include "base/invariant.h"
#include "gate/callers.h"
#include "gate/current.h"
#include "gate/cycle.h"
#include "gate/pass.h"
#include "gate/room.h"
#include "gate/settle.h"
#include "gate/submit.h"
#include "gate/target.h"
#include "include/od_report.h"
#include "observe/dump_signal.h"
#include "observe/trace.h"

/* Resets a queue that has had no job in this process. relaxed, all: no other thread knows the queue, or only
 * one thread exists */
static void begin_empty(od_queue *queue)
{
    for (uint32_t each = 0; each < ODI_KEYS; each++)
        odi_store_relaxed(&queue->current[each], ODI_CURRENT_NONE);
    queue->records = queue->before = NULL;
    queue->line = queue->early = queue->inbox.fifo = (odi_fifo){0}; /* memory from before a fork is not freed */
    odi_store_relaxed(&queue->inbox.waiting, 0);
    odi_store_relaxed(&queue->inbox.wants, true);
    odi_queue_drop_batches(queue);
    odi_queue_forget_drainers(queue);
    queue->child_passes = 0;
    queue->alone_beyond = 0;
}

od_queue *od_queue_create(od_pool *pool, od_band band, int32_t width, const char *label)
{
    od_queue_options options = {.band = band, .width = width, .label = label};

    return od_queue_create_with(pool, &options);
}

od_queue *od_queue_create_with(od_pool *pool, const od_queue_options *options)
{
    int32_t width = options->width;
    const char *label = options->label != NULL ? options->label : "";
    bool limited = options->pending_limit > 0; /* its jobs are counted in the wait queue */
    /* A queue without a job is closed too, so that a first barrier need not check the pool. */
    bool diverted = width != OD_UNLIMITED || options->inactive || limited ||
                    options->target != NULL || !options->shared;

    if ((uint32_t)options->band >= ODI_BANDS)
        odi_trap("od_queue_create: no such band (%d). Choose one of od_band.",
                 (int)options->band);
    if (width < 0)
        odi_trap("od_queue_create: width too small (%d). Choose 1 or more, or OD_UNLIMITED.", width);
    od_queue *queue = odi_arena_take(&odi_queues);

    if (queue == NULL)
        return NULL;
    if (options->target != NULL && !odi_target_prepare(options->target)) {
        odi_arena_give(&odi_queues, queue);
        return NULL;
    }
    odi_lock_acquire(&queue->watch.lock); /* a late reader of the memory's former queue holds it */
    if ((limited || options->target != NULL) && !odi_queue_has_more(queue)) {
        odi_lock_release(&queue->watch.lock);
        odi_arena_give(&odi_queues, queue);
        return NULL;
    }
    queue->pool = pool;
    queue->band = (uint8_t)options->band;
    snprintf(queue->label, sizeof queue->label, "%s", label);
    odi_store_relaxed(&queue->context, NULL); /* relaxed: not shared */
    begin_empty(queue);
    queue->gate = (odi_gate){
        .width = width != OD_UNLIMITED ? width : ODI_GATE_UNLIMITED,
        .most = (int32_t)pool->team.capacity,
        .suspensions = options->inactive,
        .inactive = options->inactive,
        .complete = diverted, /* no job went directly to the pool */
        .closed = limited,
    };
    queue->released = false;
    odi_store_relaxed(&queue->inbox.diverted, diverted); /* relaxed: not shared */
    queue->takes = 0;
    queue->reach = 0;
    queue->pending_limit = options->pending_limit;
    queue->overflow = (uint8_t)options->overflow;
    queue->shared = options->shared;
    odi_store_relaxed(&queue->target, (od_queue *)NULL); /* relaxed: not shared */
    queue->children = 0;
    if (options->target != NULL)
        odi_target_adopt(queue, options->target);
    odi_lock_release(&queue->watch.lock);
    if (odi_traces()) /* asked after the lock: a trace that begins now names the queue, or is seen here */
        odi_trace_name(queue, queue->label, false);
    return queue;
}

void od_queue_release(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    queue->released = true;
    queue->gate.inactive = false;
    queue->gate.suspensions = 0;
    odi_queue_settle_and_release(queue);
    odi_queue_reap(queue);
}

/* ---- in a forked child ---- */

static bool is_unlocked(odi_lock *lock)
{
    return odi_load_relaxed(&lock->both) == 0; /* relaxed: one thread exists */
}

static bool is_at_rest(od_queue *queue, odi_record *record)
{
    /* relaxed, all: one thread exists */
    return odi_load_relaxed(&record->queue) == queue && odi_load_relaxed(&record->group) == NULL &&
           odi_load_relaxed(odi_queue_current(queue, odi_record_key(record))) == (uintptr_t)record &&
           (odi_load_relaxed(&record->flags) & ~(uint32_t)ODI_RECORD_DIVERTED) == 0 &&
           odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0 &&
           record->first_former == NULL && is_unlocked(&record->cancel_lock);
}

/* Whether nothing of the queue was under way at the fork: a child has nothing to reset, and copies none of its memory. */
static bool rests(od_queue *queue)
{
    const odi_gate *gate = &queue->gate;

    /* relaxed: one thread exists */
    if (!is_unlocked(&queue->watch.lock) || !is_unlocked(&queue->inbox.lock) || queue->more != NULL || queue->batches != NULL ||
        odi_load_relaxed(&queue->watch.interested) != 0 || gate->held != 0 || gate->earmarks != 0 || gate->used != 0 ||
        gate->returning != 0 || gate->barriers != 0 || gate->exclusive || (gate->closed && !gate->complete) ||
        !odi_queue_is_clear(queue) || queue->before != NULL || queue->drainers_waiting != 0 || queue->raised != 0 ||
        queue->pass_is_out || queue->sends || queue->child_passes != 0)
        return false;
    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        if (queue->passes[band] != 0)
            return false;
    }
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue) {
        if (!is_at_rest(queue, record))
            return false;
    }
    return true;
}

static bool record_rests(odi_record *record)
{
    od_queue *queue = odi_load_relaxed(&record->queue); /* relaxed: one thread exists */

    return record->owner == &odi_queue_record_owner && queue != NULL && is_at_rest(queue, record) && rests(queue);
}

static void forget_what_waits(void *object)
{
    od_queue *queue = object;

    if (rests(queue))
        return;
    queue->watch.lock = (odi_lock){0};
    queue->watch.notifications = NULL; /* the parent calls them */
    queue->watch.waiters = NULL;       /* and wakes these */
    odi_store_relaxed(&queue->watch.interested, 0); /* relaxed: one thread exists */
    queue->inbox.lock = (odi_lock){0};
    begin_empty(queue);
    if (queue->more != NULL)
        *queue->more = (odi_queue_more){.refused = queue->more->refused};
    odi_gate_forked(&queue->gate);
}

static void hold_again(const od_scope *scope)
{
    for (; scope != NULL; scope = scope->outer) {
        od_queue *each = scope->queue;

        do {
            each->gate.held += scope->holds_place;
            each = odi_target_gate(each);
        } while (each != NULL && each != scope->beyond);
        scope->queue->gate.exclusive |= scope->exclusive;
    }
}

/* Restores the permits that the surviving thread holds, in a sync or a drainer. None is earmarked: a thread
 * with earmarks waits and does not fork. */
static void forked(void)
{
    odi_arena_forked(&odi_queues, forget_what_waits);
    odi_cycles_forked();
    odi_room_forked();
    odi_holds_forked();
    odi_descents_forked();
    hold_again(odi_scopes);
    for (const odi_set_apart *below = odi_apart; below != NULL; below = below->outer)
        hold_again(below->scopes);
}

/* ---- at a stop ---- */

static void cancel_if_of(void *object, void *pool)
{
    od_queue *queue = object;

    odi_lock_acquire(&queue->watch.lock);
    if (queue->pool == pool && queue->records != NULL)
        (void)odi_queue_cancel(queue);
    else
        odi_lock_release(&queue->watch.lock);
}

typedef struct {
    const od_pool *pool;
    bool found;
} drainer_search;

/* Whether a called drainer is not yet in the pool or a target's wait queue. A released queue has no called
 * drainer. */
static void find_pending_drainer(void *object, void *raw)
{
    od_queue *queue = object, *target;
    drainer_search *it = raw;

    odi_lock_acquire(&queue->watch.lock);
    bool owed = queue->pool == it->pool && queue->gate.coming > 0;
    if (owed && (target = odi_target_gate(queue)) != NULL) {
        odi_lock_acquire(&target->watch.lock);
        owed = target->child_passes == 0 && !queue->more->pass_is_ahead;
        odi_lock_release(&target->watch.lock);
    }
    odi_lock_release(&queue->watch.lock);
    it->found |= owed;
}

static bool is_drainer_pending(od_pool *pool)
{
    drainer_search it = {pool, false};

    odi_arena_visit(&odi_queues, find_pending_drainer, &it);
    return it.found;
}

/* A queue released in between has no records, and its memory always stays a queue's. */
static void cancel_all_of(od_pool *pool)
{
    odi_arena_visit(&odi_queues, cancel_if_of, pool);
}

static bool scopes_are_of(const od_scope *scope, const od_pool *pool)
{
    while (scope != NULL && scope->queue->pool != pool)
        scope = scope->outer;
    return scope != NULL;
}

/* Whether this thread runs a job of the pool, including jobs below one with a saved context. */
static bool is_inside_of(od_pool *pool)
{
    odi_around at = odi_around_here();
    const od_scope *scope;
    odi_record *record;
    bool inside = false;

    while (!inside && odi_around_next(&at, &scope, &record)) /* relaxed: the record of a job that runs on this
                                                                thread */
        inside = scope != NULL ? scope->queue->pool == pool : odi_load_relaxed(&record->team) == &pool->team;
    for (const odi_set_apart *below = odi_apart; below != NULL && !inside; below = below->outer)
        inside = scopes_are_of(below->scopes, pool);
    return inside;
}

/* ---- for a trace ---- */

static void name_queue(void *object, void *unused)
{
    od_queue *queue = object;

    (void)unused;
    odi_lock_acquire(&queue->watch.lock);
    if (queue->pool != NULL) /* it has been one */
        odi_trace_name(queue, queue->label, true);
    odi_lock_release(&queue->watch.lock);
}

static void name_all(void)
{
    odi_arena_visit(&odi_queues, name_queue, NULL);
}

/* Before any other constructor, which may create a queue. */
__attribute__((constructor(101))) static void register_with_those_below(void)
{
    odi_drain = odi_queue_drain;
    odi_fork_above = forked;
    odi_record_rests_above = record_rests;
    odi_cancel_above = cancel_all_of;
    odi_owed_above = is_drainer_pending;
    odi_inside_above = is_inside_of;
    odi_trace_name_all_above = name_all;
    odi_dump_above = od_dump; /* so that a program that takes the engine from an archive has it */
}
