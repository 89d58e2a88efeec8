/* fifo.h — the jobs of a queue's wait queue: first in, first out, in blocks.
 *
 * An entry that must not be refused brings a node. If the last block is full, the fifo links the node like a
 * block with one entry. Used blocks are linked behind the last block as spares, so that a busy queue does not
 * allocate.
 *
 * Owns its blocks, but no nodes. Callers hold the lock of the wait queue. The fifo takes no lock and does not
 * know the meaning of an entry.
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
    odi_link *first, *last; /* NULL: no block and no spare */
    uint32_t count;
    uint8_t head, tail; /* positions in the first block and in the last block */
    uint8_t spare_count;
    uint8_t rests; /* number of times that the fifo has freed its blocks, up to ODI_FIFO_RESTS */
} odi_fifo;

/* Adds an entry. Returns false, and changes nothing, if an allocation fails. With a node (which may be NULL)
 * it never fails. */
bool odi_fifo_push(odi_fifo *fifo, odi_entry entry, odi_entry_node *node);

/* Takes the oldest entry; returns false if the fifo is empty. */
bool odi_fifo_pop(odi_fifo *fifo, odi_entry *entry);

/* Reads the oldest entry; returns false if the fifo is empty. */
bool odi_fifo_peek(const odi_fifo *fifo, odi_entry *entry);

/* Moves the entries that `takes` accepts, in order, into the filter until it is full. Allocates no memory. */
enum { ODI_SIEVE_MOST = 64 };
typedef struct {
    bool (*takes)(const void *of, odi_entry entry);
    const void *of;
    uint32_t count;
    odi_entry entries[ODI_SIEVE_MOST];
} odi_fifo_sieve;
void odi_fifo_sift(odi_fifo *fifo, odi_fifo_sieve *sieve);

/* Frees the blocks of an empty fifo that may stay empty for long. A fifo that has freed its blocks
 * ODI_FIFO_RESTS times is busy: it keeps its only block, which it would need again immediately. */
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
