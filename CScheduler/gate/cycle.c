/* cycle.c — finds cycles of waiting closures. callers.c and wait.c list their waits here after 100 ms. The
 * search runs on the waiting thread and never changes a queue. */
#include "gate/cycle.h"

#include <stdio.h>

#include "include/od_thread.h"
#include "job/group.h"
#include "sleep/lock.h"
#include "worker/worker.h"

static odi_lock waits_lock;
static odi_cycle_wait *waits;

enum { SENTENCE_BYTES = 1024, NAME_BYTES = 160, RECORDS_LOOKED_AT = 64 };

/* ---- the context of a wait; the list's lock is held ---- */

/* A walk outwards through the scopes and jobs of a listed thread. */
typedef struct {
    odi_around at;
    const odi_set_apart *below;
} walk;

static walk walk_of(const odi_cycle_wait *holder)
{
    return (walk){holder->around, holder->below};
}

static bool walk_on(walk *it, const od_scope **scope, odi_record **record)
{
    while (!odi_around_next(&it->at, scope, record)) {
        if (it->below == NULL)
            return false;
        it->at = it->below->around;
        it->below = it->below->outer;
    }
    return true;
}

typedef enum { HOLDS_NOTHING, HOLDS_PERMIT, HOLDS_ALONE } holding;

/* How the holder's thread holds the queue: with one of several permits, or alone as a barrier or a serial
 * queue's closure. */
static holding held_by(const odi_cycle_wait *holder, od_queue *queue)
{
    walk at = walk_of(holder);
    const od_scope *scope;
    odi_record *record;
    holding found = HOLDS_NOTHING;

    while (found != HOLDS_ALONE && walk_on(&at, &scope, &record)) {
        if (scope == NULL || !odi_scope_holds(scope, queue))
            continue;
        found = (scope->exclusive && scope->queue == queue) || od_queue_width(queue) == 1 ? HOLDS_ALONE : HOLDS_PERMIT;
    }
    return found;
}

/* Whether the holder's thread runs a job of the group, or if that is NULL, of the queue. */
static bool runs_job_of(const odi_cycle_wait *holder, const odi_group *group, const od_queue *queue)
{
    walk at = walk_of(holder);
    const od_scope *scope;
    odi_record *record;

    while (walk_on(&at, &scope, &record)) {
        /* relaxed, both: a running job's record keeps its fields */
        if (record != NULL && (group != NULL ? odi_load_relaxed(&record->group) == group
                                             : odi_load_relaxed(&record->queue) == queue))
            return true;
    }
    return false;
}

static bool runs_work(const odi_cycle_wait *holder, const od_awaited_work *awaited)
{
    bool runs = holder->work != NULL && awaited->is_of(awaited->work, holder->work);

    for (const odi_set_apart *below = holder->below; below != NULL && !runs; below = below->outer)
        runs = below->work != NULL && awaited->is_of(awaited->work, below->work);
    return runs;
}

/* ---- who waits for whom; the list's lock is held ---- */

/* The holders of a question: one wait, or if NULL, all that are stuck. */
static odi_cycle_wait *next_stuck(odi_cycle_wait *each)
{
    while (each != NULL && !each->stuck)
        each = each->after;
    return each;
}

static odi_cycle_wait *first_of(odi_cycle_wait *only)
{
    return only != NULL ? only : next_stuck(waits);
}

static odi_cycle_wait *next_of(const odi_cycle_wait *only, const odi_cycle_wait *each)
{
    return only != NULL ? NULL : next_stuck(each->after);
}

/* Whether the holders prevent an entry into the queue, or of a barrier. One holder of a limited queue takes
 * part in that. */
static bool is_held(odi_cycle_wait *wait, odi_cycle_wait *only, od_queue *queue, bool by_barrier)
{
    int32_t width = od_queue_width(queue), count = 0;

    for (odi_cycle_wait *each = first_of(only); each != NULL; each = next_of(only, each)) {
        holding how = held_by(each, queue);

        if (how == HOLDS_ALONE || (by_barrier && (how == HOLDS_PERMIT || runs_job_of(each, NULL, queue)))) {
            wait->alone = true;
            return true;
        }
        count += how == HOLDS_PERMIT;
    }
    wait->alone = false;
    return width != OD_UNLIMITED && count >= (only != NULL ? 1 : width);
}

/* Returns the first queue of the chain of targets that the holders hold, or NULL. */
static od_queue *held_on_the_way(odi_cycle_wait *wait, odi_cycle_wait *only, od_queue *queue)
{
    while (queue != NULL && !is_held(wait, only, queue, false))
        queue = odi_target_gate(queue);
    return queue;
}

/* Returns the first queue that the holders hold, among the queues of the group's jobs and their targets. The
 * group exists, because a thread waits for it. */
static od_queue *held_of_group(odi_cycle_wait *wait, odi_cycle_wait *only)
{
    odi_group *group = wait->group;
    od_queue *held = NULL;
    int looked = 0;

    odi_lock_acquire(&group->watch.lock);
    /* relaxed, all: hints. A record with jobs keeps its queue and team. */
    if (wait->queue != NULL && odi_counts_outstanding(odi_load_relaxed(&group->own.counts)) > 0 &&
        (wait->awaited == NULL || wait->awaited->is_queued(wait->awaited->work)))
        held = held_on_the_way(wait, only, wait->queue);
    for (odi_record *record = group->records; record != NULL && held == NULL && looked < RECORDS_LOOKED_AT;
         record = record->next_of_group, looked++) {
        if (record != &group->own && odi_record_pending(odi_load_relaxed(&record->team), record) > 0)
            held = held_on_the_way(wait, only, odi_load_relaxed(&record->queue));
    }
    odi_lock_release(&group->watch.lock);
    return held;
}

/* Whether the awaited jobs or work run on the holders' threads. */
static bool is_run(const odi_cycle_wait *wait, odi_cycle_wait *only)
{
    for (odi_cycle_wait *each = first_of(only); each != NULL; each = next_of(only, each)) {
        if (wait->awaited != NULL ? runs_work(each, wait->awaited) : runs_job_of(each, wait->group, wait->queue))
            return true;
    }
    return false;
}

/* Whether the holders prevent the wait's end, or one of them takes part in that. */
static bool is_prevented(odi_cycle_wait *wait, odi_cycle_wait *only)
{
    wait->held = NULL;
    if (wait->in_sync) {
        wait->held = is_held(wait, only, wait->queue, wait->exclusive) ? wait->queue : NULL;
        return wait->held != NULL;
    }
    wait->held = wait->group != NULL ? held_of_group(wait, only) : held_on_the_way(wait, only, wait->queue);
    return wait->held != NULL || is_run(wait, only);
}

/* Searches all stuck waits that the thread of `mine` blocks, directly or indirectly. Returns true if `mine` is
 * one of them; the `next` links then form the cycle. */
static bool leads_back(odi_cycle_wait *mine)
{
    odi_cycle_wait *last = mine;

    for (odi_cycle_wait *each = waits; each != NULL; each = each->after)
        each->next = each->reached = NULL;
    for (odi_cycle_wait *holder = mine; holder != NULL; holder = holder->reached) {
        for (odi_cycle_wait *each = next_stuck(waits); each != NULL; each = next_stuck(each->after)) {
            if (each->next != NULL || !is_prevented(each, holder))
                continue;
            each->next = holder;
            if (each == mine)
                return true;
            last = last->reached = each;
        }
    }
    return false;
}

/* Leaves only those waits stuck that stuck waits prevent together. */
static void keep_stuck(void)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (odi_cycle_wait *each = next_stuck(waits); each != NULL; each = next_stuck(each->after)) {
            if (is_prevented(each, NULL))
                continue;
            each->stuck = false;
            changed = true;
        }
    }
}

/* The first search is the usual end: it looks only at waits behind `mine`. */
static bool is_cycle(odi_cycle_wait *mine)
{
    for (odi_cycle_wait *each = waits; each != NULL; each = each->after)
        each->stuck = true;
    if (!leads_back(mine))
        return false;
    keep_stuck();
    return mine->stuck && leads_back(mine);
}

/* Whether only syncs are in the cycle, each for a queue that the next thread holds alone. */
static bool is_of_syncs(const odi_cycle_wait *mine)
{
    const odi_cycle_wait *wait = mine;

    while (wait->in_sync && wait->alone && wait->next != mine)
        wait = wait->next;
    return wait->in_sync && wait->alone;
}

/* ---- messages ---- */

/* Writes the name of the queue or work that the wait needs, quoted if it is a label. Lock held. */
static void name_awaited(const odi_cycle_wait *wait, char name[NAME_BYTES])
{
    const od_queue *queue = wait->held != NULL ? wait->held : wait->queue;

    if (wait->held == NULL && wait->awaited != NULL)
        wait->awaited->name(wait->awaited->work, name, NAME_BYTES);
    else if (queue != NULL)
        snprintf(name, NAME_BYTES, "\"%s\"", queue->label);
    else
        snprintf(name, NAME_BYTES, "a group");
}

/* Writes what the other waits of the cycle need. Lock held. */
static void name_others(const odi_cycle_wait *mine, const char *between, char text[SENTENCE_BYTES])
{
    char name[NAME_BYTES];
    int length = 0;

    text[0] = '\0';
    for (odi_cycle_wait *wait = mine->next; wait != mine && length < SENTENCE_BYTES; wait = wait->next) {
        name_awaited(wait, name);
        length += snprintf(text + length, (size_t)(SENTENCE_BYTES - length), "%s%s", length > 0 ? between : "", name);
    }
}

/* Lock held; releases it. */
_Noreturn ODI_COLD static void trap(odi_cycle_wait *mine)
{
    char others[SENTENCE_BYTES];
    bool serial = od_queue_width(mine->queue) == 1;

    name_others(mine, ", which waits for ", others);
    odi_lock_release(&waits_lock);
    odi_trap("TaskQueue.sync: a circle of %s (\"%s\" waits for %s, which runs the caller). "
             "Use async in one of them.", serial ? "serial queues" : "barriers", mine->queue->label, others);
}

/* Whether queues alone are in the cycle. */
static bool is_of_queues(const odi_cycle_wait *mine)
{
    const odi_cycle_wait *wait = mine;

    while (wait->held != NULL && wait->next != mine)
        wait = wait->next;
    return wait->held != NULL;
}

/* Lock held; releases it. */
ODI_COLD static void warn(odi_cycle_wait *mine)
{
    char others[SENTENCE_BYTES], own[NAME_BYTES];
    bool alone = mine->next == mine, of_queues = is_of_queues(mine);

    name_awaited(mine, own);
    name_others(mine, ", which waits for ", others);
    odi_lock_release(&waits_lock);
    if (alone && of_queues)
        odi_warn_of_hang("wait: the work seems to begin only after the closure that waits for it (queue %s). "
                         "Wait for it outside of the queue.", own);
    else if (of_queues)
        odi_warn_of_hang("wait: closures seem to wait for each other's work (on %s for %s, which waits for the "
                         "first). Wait outside of the queues.", own, others);
    else if (alone)
        odi_warn_of_hang("wait: the work seems to wait for itself (%s). Wait for it elsewhere.", own);
    else
        odi_warn_of_hang("wait: tasks or closures seem to wait for each other (%s waits for %s, which waits for the "
                         "first). Remove one of these waits.", own, others);
}

/* ---- the list ---- */

bool odi_cycle_may_hold(void)
{
    return odi_worker_self != NULL || odi_scopes != NULL || odi_outsides != NULL || od_thread_work() != NULL;
}

/* Adds a wait to the list. Lock held. */
static void list(odi_cycle_wait *wait)
{
    wait->around = odi_around_here();
    wait->work = od_thread_work();
    wait->below = odi_apart;
    wait->after = waits;
    waits = wait;
}

void odi_cycle_enter_sync(odi_cycle_wait *wait, od_queue *wanted, bool exclusive)
{
    odi_lock_acquire(&waits_lock);
    *wait = (odi_cycle_wait){.queue = wanted, .in_sync = true, .exclusive = exclusive};
    list(wait);
    if (!is_cycle(wait))
        odi_lock_release(&waits_lock);
    else if (is_of_syncs(wait))
        trap(wait);
    else
        warn(wait);
}

void odi_cycle_enter(odi_cycle_wait *wait, odi_group *group, od_queue *queue, const od_awaited_work *work)
{
    /* The last warning: what the thread waited for, and its count of jobs. A group's memory may serve another
     * group. */
    static _Thread_local const void *said;
    static _Thread_local uint64_t said_in;
    const void *awaited = group != NULL ? (const void *)group : queue;
    uint64_t job = odi_worker_self != NULL ? odi_worker_activity(odi_worker_self) : 0;

    odi_lock_acquire(&waits_lock);
    *wait = (odi_cycle_wait){.queue = queue, .group = group, .awaited = work};
    list(wait);
    if ((awaited == said && job == said_in) || !is_cycle(wait)) {
        odi_lock_release(&waits_lock);
        return;
    }
    said = awaited;
    said_in = job;
    warn(wait);
}

void odi_cycle_leave(odi_cycle_wait *wait)
{
    odi_lock_acquire(&waits_lock);
    odi_cycle_wait **link = &waits;
    while (*link != wait)
        link = &(*link)->after;
    *link = wait->after;
    odi_lock_release(&waits_lock);
}

void odi_cycles_forked(void)
{
    waits_lock = (odi_lock){0};
    waits = NULL;
}
