/* fifo.h — jobs that wait their turn in a queue's line: first in, first out, in blocks.
 *
 * Owns     its blocks. Never: knows what a job is, or locks: the line's lock guards it.
 */
#ifndef ODI_QUEUE_FIFO_H
#define ODI_QUEUE_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/entry.h"

#pragma GCC visibility push(hidden)

typedef struct odi_fifo_block odi_fifo_block;

typedef struct {
    odi_fifo_block *first, *last;
    uint32_t head, tail; /* places in the first block and in the last */
    odi_fifo_block *spares; /* blocks that were used up: no allocation to and fro */
    uint32_t count, spare_count;
} odi_fifo;

/* False: memory is short, nothing changed. */
bool odi_fifo_push(odi_fifo *fifo, odi_entry entry);

/* Takes the oldest; false when there is none. */
bool odi_fifo_pop(odi_fifo *fifo, odi_entry *entry);

/* Looks at the oldest; false when there is none. */
bool odi_fifo_peek(const odi_fifo *fifo, odi_entry *entry);

/* Sees to it that turning the fifo round (pop, push) needs no memory. False: it is short. */
bool odi_fifo_reserve(odi_fifo *fifo);

/* Frees all spare blocks but one: the fifo is not likely to be used soon. */
void odi_fifo_trim(odi_fifo *fifo);

/* Frees the blocks of an empty fifo. */
void odi_fifo_free(odi_fifo *fifo);

#pragma GCC visibility pop

#endif
