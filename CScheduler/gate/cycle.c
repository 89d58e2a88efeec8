/* cycle.c — finds cycles of waiting closures. callers.c and wait.c list their waits here after 100 ms. The
 * search runs on the waiting thread and never changes a queue. */
#include "gate/cycle.h"

#include "gate/current.h"

#include <stdio.h>

#include "job/group.h"
#include "sleep/lock.h"
#include "worker/worker.h"

static odi_lock waits_lock;
static odi_cycle_wait *waits;

enum { SENTENCE_BYTES = 1024, RECORDS_LOOKED_AT = 64 };

/* ---- who waits for whom; the list's lock is held ---- */

/* Whether a thread with these scopes runs alone in the queue: in a serial queue, or as a barrier. */
static bool holds_alone(const od_scope *scope, od_queue *queue)
{
    for (; scope != NULL; scope = scope->outer) {
        if (scope->holds_place && scope->exclusive && scope->queue == queue)
            return true;
    }
    return false;
}

/* Returns the first queue of the chain of targets that the thread holds alone, or NULL. */
static od_queue *held_on_the_way(const od_scope *scopes, od_queue *queue)
{
    while (queue != NULL && !holds_alone(scopes, queue) &&
           !(odi_scopes_hold(scopes, queue) && od_queue_width(queue) == 1))
        queue = odi_target_gate(queue);
    return queue;
}

/* Returns the first queue that the thread holds alone, among the queues of the group's jobs and their
 * targets. The group exists, because a thread waits for it. */
static od_queue *held_of_group(const od_scope *scopes, odi_cycle_wait *wait)
{
    odi_group *group = wait->group;
    od_queue *held = NULL;
    int looked = 0;

    odi_lock_acquire(&group->watch.lock);
    /* relaxed, all: hints. A record with jobs keeps its queue and team. */
    if (wait->queue != NULL && odi_counts_outstanding(odi_load_relaxed(&group->own.counts)) > 0)
        held = held_on_the_way(scopes, wait->queue);
    for (odi_record *record = group->records; record != NULL && held == NULL && looked < RECORDS_LOOKED_AT;
         record = record->next_of_group, looked++) {
        if (record != &group->own && odi_record_pending(odi_load_relaxed(&record->team), record) > 0)
            held = held_on_the_way(scopes, odi_load_relaxed(&record->queue));
    }
    odi_lock_release(&group->watch.lock);
    return held;
}

/* Returns the queue in which `holder` prevents the wait's end, or NULL. */
static od_queue *held_against(odi_cycle_wait *holder, odi_cycle_wait *wait)
{
    od_queue *queue = wait->queue;

    if (wait->group != NULL)
        return held_of_group(holder->scopes, wait);
    if (!wait->in_sync)
        return held_on_the_way(holder->scopes, queue);
    return holds_alone(holder->scopes, queue) ||
                   (od_queue_width(queue) == 1 && odi_scopes_hold(holder->scopes, queue))
               ? queue
               : NULL;
}

/* Searches all waits that the thread of `mine` blocks, directly or indirectly. Returns true if `mine` is one
 * of them; the `next` links then form the cycle. */
static bool is_cycle(odi_cycle_wait *mine)
{
    odi_cycle_wait *last = mine;

    for (odi_cycle_wait *each = waits; each != NULL; each = each->after)
        each->next = each->reached = NULL;
    for (odi_cycle_wait *holder = mine; holder != NULL; holder = holder->reached) {
        for (odi_cycle_wait *each = waits; each != NULL; each = each->after) {
            if (each->next != NULL || (each->held = held_against(holder, each)) == NULL)
                continue;
            each->next = holder;
            if (each == mine)
                return true;
            last = last->reached = each;
        }
    }
    return false;
}

static bool is_of_syncs(const odi_cycle_wait *mine)
{
    const odi_cycle_wait *wait = mine;

    while (wait->in_sync && wait->next != mine)
        wait = wait->next;
    return wait->in_sync;
}

/* ---- messages ---- */

/* Writes the queues for which the other waits of the cycle wait. Lock held. */
static void name_others(const odi_cycle_wait *mine, const char *between, char text[SENTENCE_BYTES])
{
    int length = 0;

    text[0] = '\0';
    for (odi_cycle_wait *wait = mine->next; wait != mine && length < SENTENCE_BYTES; wait = wait->next)
        length += snprintf(text + length, (size_t)(SENTENCE_BYTES - length), "%s\"%s\"",
                           length > 0 ? between : "", wait->held->label);
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

/* Lock held; releases it. */
ODI_COLD static void warn(odi_cycle_wait *mine)
{
    char others[SENTENCE_BYTES], held[OD_LABEL_BYTES];
    bool alone = mine->next == mine;

    snprintf(held, sizeof held, "%s", mine->held->label);
    name_others(mine, ", which waits for ", others);
    odi_lock_release(&waits_lock);
    if (alone)
        odi_warn_of_hang("wait: the work seems to begin only after the closure that waits for it (queue \"%s\"). "
                         "Wait for it outside of the queue.", held);
    else
        odi_warn_of_hang("wait: closures seem to wait for each other's work (on \"%s\" for %s, which waits for the "
                         "first). Wait outside of the queues.", held, others);
}

/* ---- the list ---- */

/* Adds a wait to the list. Lock held. */
static void list(odi_cycle_wait *wait)
{
    wait->scopes = odi_scopes;
    wait->after = waits;
    waits = wait;
}

void odi_cycle_enter_sync(odi_cycle_wait *wait, od_queue *wanted)
{
    odi_lock_acquire(&waits_lock);
    *wait = (odi_cycle_wait){.queue = wanted, .in_sync = true};
    list(wait);
    if (!is_cycle(wait))
        odi_lock_release(&waits_lock);
    else if (is_of_syncs(wait))
        trap(wait);
    else
        warn(wait);
}

void odi_cycle_enter(odi_cycle_wait *wait, odi_group *group, od_queue *queue)
{
    /* The last warning: what the thread waited for, and its count of jobs. A group's memory may serve another
     * group. */
    static _Thread_local const void *said;
    static _Thread_local uint64_t said_in;
    const void *awaited = group != NULL ? (const void *)group : queue;
    uint64_t job = odi_worker_self != NULL ? odi_worker_activity(odi_worker_self) : 0;

    odi_lock_acquire(&waits_lock);
    *wait = (odi_cycle_wait){.queue = queue, .group = group};
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
