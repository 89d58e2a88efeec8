/* room.c — lists submitters that wait for room, and lets one continue beyond the limit if its wait would
 * never end. limit.c and the monitor call it. */
#include "gate/room.h"

#include <stdio.h>

#include "base/invariant.h"
#include "gate/current.h"
#include "gate/limit.h"
#include "worker/recruit.h"
#include "worker/worker.h"

/* A waiting submitter, on its thread's stack. */
typedef struct room_wait {
    od_queue *wanted;
    od_scope *scopes; /* constant during the wait */
    odi_wait_node *node;
    odi_team *team;   /* the team whose worker waits, or NULL */
    bool reached;     /* by the current search */
    int32_t width;    /* copied from the queue before its submitter continues, like the label */
    char label[48];
    struct room_wait *next, *next_found;
} room_wait;

static odi_lock waits_lock;
static room_wait *waits;

/* Whether the waiter holds a permit that the queue needs. A queue without a width needs none. */
static bool holds(const room_wait *wait, od_queue *queue)
{
    return odi_scopes_hold(wait->scopes, queue) && od_queue_width(queue) != OD_UNLIMITED;
}

/* Adds waiters that hold a permit of the queue or one of its targets to the found list, because the queue's
 * drainers need these permits. Lock held. */
static room_wait *find_holders(od_queue *queue, room_wait *found)
{
    for (; queue != NULL; queue = odi_target_gate(queue)) {
        for (room_wait *each = waits; each != NULL; each = each->next) {
            if (each->reached || !holds(each, queue))
                continue;
            each->reached = true;
            each->next_found = found;
            found = each;
        }
    }
    return found;
}

/* Whether the waits lead from the wanted queue back to `mine`. A wide queue counts as blocked by each of its
 * holders. A search may therefore find a cycle that would resolve; the wait queue then exceeds its limit by
 * one job. Lock held. */
static bool closes_circle(const room_wait *mine)
{
    room_wait *found;

    for (room_wait *each = waits; each != NULL; each = each->next)
        each->reached = false;
    found = find_holders(mine->wanted, NULL);
    while (found != NULL && !mine->reached) {
        room_wait *each = found;

        found = find_holders(each->wanted, each->next_found);
    }
    return mine->reached;
}

/* Removes the waiter from its queue's list. Returns false if it was granted before. The queue's lock is held. */
static bool give_up_room(od_queue *queue, odi_wait_node *node)
{
    odi_wait_node *before = NULL;

    if (queue->more == NULL) /* the queue is finished, and the waiter was granted before */
        return false;
    odi_wait_list *list = &queue->more->submitters;
    odi_wait_node **link = &list->first;
    while (*link != NULL && *link != node) {
        before = *link;
        link = &before->next;
    }
    if (*link == NULL)
        return false;
    *link = node->next;
    if (list->last == node)
        list->last = before;
    queue->more->submitting--;
    queue->more->beyond++;
    return true;
}

ODI_COLD static void say_beyond(const room_wait *wait, uint32_t limit)
{
    char width[32] = "unlimited";

    if (wait->width != ODI_GATE_UNLIMITED)
        (void)snprintf(width, sizeof width, "%d", wait->width);
    odi_warn("TaskQueue.async: a submitter passes the pending limit, or its wait would never end (\"%s\", limit %u, "
             "width %s). Use a higher limit, narrower queues before this one, or more spareWorkers.", wait->label, limit, width);
}

/* Lets the waiter continue without room. Its label and width are copied first, because the queue may be gone
 * once the waiter is granted. The queue's lock is not held. */
static void go_on(room_wait *wait)
{
    od_queue *queue = wait->wanted;

    odi_lock_acquire(&queue->watch.lock);
    if (give_up_room(queue, wait->node)) {
        wait->node->beyond = queue->more->beyond;
        wait->width = queue->gate.width;
        (void)snprintf(wait->label, sizeof wait->label, "%s", queue->label);
        odi_wait_node_grant(wait->node);
    }
    odi_lock_release(&queue->watch.lock);
}

/* Whether no thread would be left for the wanted queue if the worker (or NULL) slept. The monitor checks
 * again, because two workers may ask at once, and workers may block without announcing it. */
static bool would_be_last(const odi_worker *worker)
{
    bool all_others_wait = false;

    return worker != NULL && odi_team_has_no_thread_left(worker->team, &all_others_wait) && all_others_wait;
}

void odi_room_await(od_queue *queue, odi_wait_node *mine)
{
    odi_worker *worker = odi_worker_self;
    room_wait wait = {.wanted = queue, .scopes = odi_scopes, .node = mine, .team = worker != NULL ? worker->team : NULL};
    uint32_t limit = queue->pending_limit;

    odi_lock_acquire(&waits_lock);
    wait.next = waits;
    waits = &wait;
    bool goes_on = closes_circle(&wait) || would_be_last(worker);
    odi_lock_release(&waits_lock);
    if (goes_on)
        go_on(&wait);
    odi_queue_await_grant(queue, mine, "for room in");
    odi_lock_acquire(&waits_lock);
    room_wait **link = &waits;
    while (*link != &wait)
        link = &(*link)->next;
    *link = wait.next;
    odi_lock_release(&waits_lock);
    if (mine->beyond == 1)
        say_beyond(&wait, limit);
}

/* Lets all waiters of the team continue: no thread is left for the work that they wait for. */
static void let_on(odi_team *team)
{
    odi_lock_acquire(&waits_lock);
    for (room_wait *each = waits; each != NULL; each = each->next) {
        if (each->team == team)
            go_on(each);
    }
    odi_lock_release(&waits_lock);
}

void odi_room_forked(void)
{
    waits_lock = (odi_lock){0};
    waits = NULL;
}

__attribute__((constructor)) static void register_above(void)
{
    odi_let_on_above = let_on;
}
