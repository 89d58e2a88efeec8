/* wait_node.h — a thread that waits for a grant at a queue. A sync caller waits in the wait queue like a job,
 * a submitter until there is room, and a holder until its permit is returned.
 *
 * Edges    Q1  grant -> await   release/acquire   writes of the jobs that ran before
 */
#ifndef ODI_GATE_WAIT_NODE_H
#define ODI_GATE_WAIT_NODE_H

#include "include/od_queue.h"
#include "job/record.h"
#include "queue/entry_node.h"

#pragma GCC visibility push(hidden)

typedef struct odi_wait_node {
    odi_atomic(uint32_t) granted; /* the sync caller has its permit; the submitter may continue */
    bool exclusive;               /* the sync caller enters as a barrier */
    od_queue *through;   /* the child queue whose permit it holds, or for which its thread earmarks a permit
                            of this queue; or NULL */
    odi_entry_node node;         /* for the wait queue */
    uint64_t beyond;            /* number of submitters that continued without room, this one included; 0: it
                                   has room */
    struct odi_wait_node *next; /* link of a list of its queue */
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

static inline odi_wait_node *odi_wait_list_take(odi_wait_list *list) /* the list must not be empty */
{
    odi_wait_node *first = list->first;

    list->first = first->next;
    return first;
}

/* Lets the thread continue, which is asleep or about to sleep; its frame may be gone on return. */
void odi_wait_node_grant(odi_wait_node *waiting);

/* Sleeps until granted; a spare may replace the calling worker. `what` is the kind of wait, for reports. No
 * lock is held. */
void odi_queue_await_grant(od_queue *queue, odi_wait_node *waiting, const char *what);

/* Sleeps until granted or the deadline. Returns false at the deadline; the caller must then wait again. */
bool odi_queue_await_grant_until(od_queue *queue, odi_wait_node *waiting, const char *what, int64_t until);

/* Marks an entry of the wait queue as a sync caller; never called. */
void odi_wait_node_mark(void *unused);

/* Whether an entry is a sync caller. Drain requests of child queues are internal entries too. */
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
