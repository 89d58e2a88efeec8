#include "lane/fifo.h"

#include <stdlib.h>

/* As many spares as a drainer's round leaves, who hands them to its submitters (inbox.h): where
 * both run all the time neither meets the other in malloc. */
enum { BLOCK_ENTRIES = 63, MOST_SPARES = 16 };

struct odi_fifo_block {
    odi_fifo_block *next;
    odi_entry entries[BLOCK_ENTRIES];
};

static odi_fifo_block *take_block(odi_fifo *fifo)
{
    odi_fifo_block *block = fifo->spares;

    if (block == NULL)
        return malloc(sizeof *block);
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

static bool add_block(odi_fifo *fifo)
{
    odi_fifo_block *block = take_block(fifo);

    if (block == NULL)
        return false;
    block->next = NULL;
    if (fifo->last == NULL) {
        fifo->first = block;
        fifo->head = 0;
    } else
        fifo->last->next = block;
    fifo->last = block;
    fifo->tail = 0;
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
    if ((fifo->last == NULL || fifo->tail == BLOCK_ENTRIES) && !add_block(fifo))
        return false;
    fifo->last->entries[fifo->tail++] = entry;
    fifo->count++;
    return true;
}

/* The first block is used up. An only block begins again: no allocation in a steady state. */
static void drop_first(odi_fifo *fifo)
{
    odi_fifo_block *block = fifo->first;

    fifo->head = 0;
    if (block->next == NULL) {
        fifo->tail = 0;
        return;
    }
    fifo->first = block->next;
    keep_block(fifo, block);
}

bool odi_fifo_peek(const odi_fifo *fifo, odi_entry *entry)
{
    const odi_fifo_block *block = fifo->first;
    uint32_t head = fifo->head;

    if (fifo->count == 0)
        return false;
    if (head == BLOCK_ENTRIES) {
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
    if (fifo->head == BLOCK_ENTRIES)
        drop_first(fifo);
    *entry = fifo->first->entries[fifo->head++];
    if (--fifo->count == 0 && fifo->first == fifo->last && fifo->head == BLOCK_ENTRIES)
        drop_first(fifo);
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
