/* wait_node.h — a thread that waits for its turn at a queue: a sync caller, which stands in the line like a
 * job; a submitter, until a full line is shorter; a holder, until its place is its own again. It sleeps until
 * it is granted that.
 *
 * Edges    Q1  grant -> await   release/acquire   what ran before in the line
 */
#ifndef ODI_GATE_WAIT_NODE_H
#define ODI_GATE_WAIT_NODE_H

#include "include/od_queue.h"
#include "job/record.h"
#include "queue/entry_node.h"

#pragma GCC visibility push(hidden)

typedef struct odi_wait_node {
    odi_atomic(uint32_t) granted; /* the place is the sync caller's; the line is shorter */
    bool exclusive;               /* a sync caller's barrier */
    od_queue *through;   /* the queue on this one whose place it holds already, or for which its
                          * thread earmarks a place of this one, or NULL */
    odi_entry_node node;         /* for the line */
    uint64_t beyond;            /* a submitter that goes on without room: counted by the queue; 0: it has room */
    struct odi_wait_node *next; /* in a list of its queue */
} odi_wait_node;

typedef struct {
    odi_wait_node *first, *last;
} odi_wait_list;

static inline void odi_wait_list_append(odi_wait_list *list, odi_wait_node *node)
{
    node->next = NULL;
    *(list->first == NULL ? &list->first : &list->last->next) = node;
    list->last = node;
}

static inline odi_wait_node *odi_wait_list_take(odi_wait_list *list) /* it is not empty */
{
    odi_wait_node *first = list->first;

    list->first = first->next;
    return first;
}

/* The thread, which was asleep or about to be, goes on; its frame may be gone on return. */
void odi_wait_node_grant(odi_wait_node *waiting);

/* Gives the calling worker's place over and sleeps until it is granted; `what` the wait is, for reports. No lock
 * is held. */
void odi_queue_await_grant(od_queue *queue, odi_wait_node *waiting, const char *what);

/* The same, until the deadline at most. False: it has passed, and the caller waits again. */
bool odi_queue_await_grant_until(od_queue *queue, odi_wait_node *waiting, const char *what, int64_t until);

/* What marks a line's entry as a sync caller; it is never called. */
void odi_wait_node_mark(void *unused);

/* The drainers of queues on this one are the engine's own entries too. */
static inline bool odi_is_wait_node(odi_entry entry)
{
    return entry.code == odi_job_plain(odi_wait_node_mark, NULL, ODI_TAG_INTERNAL).code;
}

static inline odi_wait_node *odi_wait_node_of(odi_entry entry)
{
    return (odi_wait_node *)(uintptr_t)entry.context;
}

static inline odi_entry odi_wait_node_entry(odi_wait_node *node)
{
    return odi_job_plain(odi_wait_node_mark, node, ODI_TAG_INTERNAL);
}

#pragma GCC visibility pop

#endif
