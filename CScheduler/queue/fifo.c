#include "queue/fifo.h"

#include <stdlib.h>
#include <string.h>

/* As many spares as a drainer's round leaves, who hands them to its submitters (inbox.h): where
 * both run all the time neither meets the other in malloc. A first block is short: of most queues no
 * more than a few jobs ever wait at a time. */
enum { FIRST_ENTRIES = 6, BLOCK_ENTRIES = 62, MOST_SPARES = 16 };

struct odi_fifo_block {
    odi_fifo_block *next;
    uint32_t room;
    odi_entry entries[];
};

static odi_fifo_block *new_block(uint32_t room)
{
    odi_fifo_block *block = malloc(sizeof *block + room * sizeof(odi_entry));

    if (block != NULL)
        block->room = room;
    return block;
}

static odi_fifo_block *take_block(odi_fifo *fifo)
{
    odi_fifo_block *block = fifo->spares;

    if (block == NULL)
        return new_block(BLOCK_ENTRIES);
    fifo->spares = block->next;
    fifo->spare_count--;
    return block;
}

static void keep_block(odi_fifo *fifo, odi_fifo_block *block)
{
    if (fifo->spare_count >= MOST_SPARES) {
        free(block);
        return;
    }
    block->next = fifo->spares;
    fifo->spares = block;
    fifo->spare_count++;
}

static bool begin(odi_fifo *fifo)
{
    odi_fifo_block *block = fifo->spares != NULL ? take_block(fifo) : new_block(FIRST_ENTRIES);

    if (block == NULL)
        return false;
    block->next = NULL;
    fifo->first = fifo->last = block;
    fifo->head = fifo->tail = 0;
    return true;
}

/* What waits in a short block, which is the only one, moves on: later ones are all of one size. */
static void replace_first(odi_fifo *fifo, odi_fifo_block *block)
{
    fifo->tail -= fifo->head;
    memcpy(block->entries, fifo->first->entries + fifo->head, fifo->tail * sizeof(odi_entry));
    free(fifo->first);
    fifo->first = block;
    fifo->head = 0;
}

static bool add_block(odi_fifo *fifo)
{
    odi_fifo_block *block;

    if (fifo->last == NULL)
        return begin(fifo);
    block = take_block(fifo);
    if (block == NULL)
        return false;
    block->next = NULL;
    if (fifo->last->room < BLOCK_ENTRIES)
        replace_first(fifo, block);
    else {
        fifo->last->next = block;
        fifo->tail = 0;
    }
    fifo->last = block;
    return true;
}

bool odi_fifo_reserve(odi_fifo *fifo)
{
    odi_fifo_block *block = take_block(fifo);

    if (block == NULL)
        return false;
    keep_block(fifo, block);
    return true;
}

bool odi_fifo_push(odi_fifo *fifo, odi_entry entry)
{
    if ((fifo->last == NULL || fifo->tail == fifo->last->room) && !add_block(fifo))
        return false;
    fifo->last->entries[fifo->tail++] = entry;
    fifo->count++;
    return true;
}

bool odi_fifo_peek(const odi_fifo *fifo, odi_entry *entry)
{
    const odi_fifo_block *block = fifo->first;
    uint32_t head = fifo->head;

    if (fifo->count == 0)
        return false;
    if (head == block->room) {
        block = block->next;
        head = 0;
    }
    *entry = block->entries[head];
    return true;
}

bool odi_fifo_pop(odi_fifo *fifo, odi_entry *entry)
{
    if (fifo->count == 0)
        return false;
    odi_fifo_block *block = fifo->first;
    if (fifo->head == block->room) { /* it is used up */
        fifo->first = block->next;
        fifo->head = 0;
        keep_block(fifo, block);
    }
    *entry = fifo->first->entries[fifo->head++];
    if (--fifo->count == 0) /* its only block begins again: no allocation in a steady state */
        fifo->head = fifo->tail = 0;
    return true;
}

void odi_fifo_trim(odi_fifo *fifo)
{
    while (fifo->spare_count > 1)
        free(take_block(fifo));
}

void odi_fifo_free(odi_fifo *fifo)
{
    free(fifo->first);
    while (fifo->spares != NULL)
        free(take_block(fifo));
    *fifo = (odi_fifo){0};
}
