/* fifo.h — jobs that wait their turn in a queue's line: first in, first out, in blocks.
 *
 * An entry that must not be refused brings a node along. Where the last block has no room the node is linked in like
 * a block of one place. Blocks that were used up are linked behind the last one: no allocation to and fro.
 *
 * Owns     its blocks, and no nodes. Never: knows what a job is, or locks: the line's lock guards it.
 */
#ifndef ODI_QUEUE_FIFO_H
#define ODI_QUEUE_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/entry.h"
#include "queue/entry_node.h"

#pragma GCC visibility push(hidden)

typedef struct {
    odi_link *first, *last; /* NULL: there is none, nor a spare */
    uint32_t count;
    uint8_t head, tail; /* places in the first block and in the last */
    uint8_t spare_count;
    uint8_t rests; /* how often it has given its blocks back, up to ODI_FIFO_RESTS */
} odi_fifo;

/* False: memory is short, nothing changed. With a node (it may be NULL) it never is. */
bool odi_fifo_push(odi_fifo *fifo, odi_entry entry, odi_entry_node *node);

/* Takes the oldest; false when there is none. */
bool odi_fifo_pop(odi_fifo *fifo, odi_entry *entry);

/* Looks at the oldest; false when there is none. */
bool odi_fifo_peek(const odi_fifo *fifo, odi_entry *entry);

/* Takes out what `takes` says, in order, as far as the sieve has room. Needs no other memory. */
enum { ODI_SIEVE_MOST = 64 };
typedef struct {
    bool (*takes)(const void *of, odi_entry entry);
    const void *of;
    uint32_t count;
    odi_entry entries[ODI_SIEVE_MOST];
} odi_fifo_sieve;
void odi_fifo_sift(odi_fifo *fifo, odi_fifo_sieve *sieve);

/* Nothing is in it, and may not be for long: it gives its blocks back. One that has come to this so often as to be
 * busy keeps its only one, which it would have again at once. */
enum { ODI_FIFO_RESTS = 12 };
void odi_fifo_free_blocks(odi_fifo *fifo);
static inline void odi_fifo_rest(odi_fifo *fifo)
{
    if (fifo->first == NULL || (fifo->rests == ODI_FIFO_RESTS && fifo->spare_count == 0))
        return;
    if (fifo->rests < ODI_FIFO_RESTS)
        fifo->rests++;
    odi_fifo_free_blocks(fifo);
}

/* Frees the blocks of an empty fifo. */
static inline void odi_fifo_free(odi_fifo *fifo)
{
    if (fifo->first != NULL)
        odi_fifo_free_blocks(fifo);
}

#pragma GCC visibility pop

#endif
