/* entry_node.h — memory that an entry brings along, so that it needs no other to wait: who must not be refused (a
 * sync caller, a timer, a queue that calls its next drainer) owns a node from the moment it is accepted.
 *
 * A node waits in one line at a time, under that line's lock, and is its owner's again as soon as its entry is
 * taken from there.
 */
#ifndef ODI_QUEUE_ENTRY_NODE_H
#define ODI_QUEUE_ENTRY_NODE_H

#include <stdint.h>

#include "queue/entry.h"

#pragma GCC visibility push(hidden)

/* What a line links: a node, or a block of the line's own. Its entries lie behind it. */
typedef struct odi_link {
    struct odi_link *next;
    uint32_t size; /* of a block: how many places it has; 0: it is a node, which has one */
    uint32_t room; /* so many are filled before the next link is; fewer than `size` where a cancel took some out */
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
