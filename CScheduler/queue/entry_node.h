/* entry_node.h — preallocated memory for an entry that must be queued without an allocation.
 *
 * A sync caller, a timer and a queue's drain request must never be refused. Each owns a node from the moment
 * it is accepted. A node is in one wait queue at a time, under the lock of that wait queue. The node returns
 * to its owner as soon as its entry is taken.
 */
#ifndef ODI_QUEUE_ENTRY_NODE_H
#define ODI_QUEUE_ENTRY_NODE_H

#include <stdint.h>

#include "queue/entry.h"

#pragma GCC visibility push(hidden)

/* A link of a wait queue: a node, or a block that the wait queue owns. The entries follow it in memory. */
typedef struct odi_link {
    struct odi_link *next;
    uint32_t size; /* capacity of a block; 0: this is a node with one entry */
    uint32_t room; /* entries before the next link; fewer than `size` if a cancel removed some */
} odi_link;

typedef struct {
    odi_link link;
    odi_entry entry;
} odi_entry_node;

_Static_assert(sizeof(odi_entry_node) == sizeof(odi_link) + sizeof(odi_entry), "the entry follows");

static inline odi_entry *odi_link_entries(odi_link *link)
{
    return (odi_entry *)(link + 1);
}

static inline void odi_entry_node_fill(odi_entry_node *node, odi_entry entry)
{
    *node = (odi_entry_node){.link = {.room = 1}, .entry = entry};
}

#pragma GCC visibility pop

#endif
