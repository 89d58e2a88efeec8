/* fifo.c — the fifo of a wait queue in linked blocks. Callers hold the lock of the wait queue. */
#include "queue/fifo.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache_line.h"
#include "base/invariant.h"

/* MOST_SPARES is the number of spares that one round of a drainer leaves. The drainer hands them to its
 * submitters (inbox.h), so that neither calls malloc in a steady state. A first block is short, because most
 * queues rarely hold more than a few jobs. */
enum { FIRST_ENTRIES = 6, BLOCK_ENTRIES = 62, MOST_SPARES = 16 };

static odi_link *new_block(const odi_fifo *fifo)
{
    uint32_t size = fifo->last == NULL || fifo->last->size == 0 ? FIRST_ENTRIES : BLOCK_ENTRIES;
    odi_link *block = malloc(sizeof *block + size * sizeof(odi_entry));

    if (block != NULL)
        *block = (odi_link){NULL, size, size};
    return block;
}

/* Takes the first spare, which stays linked in its place. */
static odi_link *take_spare(odi_fifo *fifo, odi_link *spare)
{
    spare->room = spare->size;
    fifo->spare_count--;
    return spare;
}

/* Recycles a used block that is not the last link. A node goes back to its owner. */
static void leave_block(odi_fifo *fifo, odi_link *block)
{
    if (block->size == 0)
        return;
    if (block->size < BLOCK_ENTRIES || fifo->spare_count >= MOST_SPARES) {
        free(block);
        return;
    }
    odi_invariant(fifo->last != NULL);
    block->next = fifo->last->next;
    fifo->last->next = block;
    fifo->spare_count++;
}

static void begin_with(odi_fifo *fifo, odi_link *link)
{
    fifo->first = fifo->last = link;
    fifo->head = fifo->tail = 0;
}

/* Makes the link the last one, after the last one is full. The link is inserted before the spares, or is the
 * first spare. */
static void append(odi_fifo *fifo, odi_link *link)
{
    if (fifo->last == NULL) {
        begin_with(fifo, link);
        return;
    }
    if (fifo->last->next != link) {
        link->next = fifo->last->next;
        fifo->last->next = link;
    }
    fifo->last = link;
    fifo->tail = 0;
}

ODI_COLD static bool add_block(odi_fifo *fifo)
{
    bool has_spare = fifo->last != NULL && fifo->last->next != NULL;
    odi_link *block = has_spare ? take_spare(fifo, fifo->last->next) : new_block(fifo);

    if (block != NULL)
        append(fifo, block);
    return block != NULL;
}

/* Adds a link when the last block is full. New entries go only into the last block. */
static bool add_link(odi_fifo *fifo, odi_entry_node *node, odi_entry entry)
{
    if (node == NULL)
        return add_block(fifo);
    odi_entry_node_fill(node, entry);
    append(fifo, &node->link);
    return true;
}

bool odi_fifo_push(odi_fifo *fifo, odi_entry entry, odi_entry_node *node)
{
    if (ODI_UNLIKELY(fifo->last == NULL || fifo->tail == fifo->last->room) &&
        !add_link(fifo, node, entry))
        return false;
    odi_link_entries(fifo->last)[fifo->tail++] = entry;
    fifo->count++;
    return true;
}

bool odi_fifo_peek(const odi_fifo *fifo, odi_entry *entry)
{
    odi_link *block = fifo->first;
    uint32_t head = fifo->head;

    if (fifo->count == 0)
        return false;
    for (; head == block->room; head = 0)
        block = block->next;
    *entry = odi_link_entries(block)[head];
    return true;
}

/* Removes the first link, whose entries are taken; a node belongs to its owner from here on. */
static void leave_first(odi_fifo *fifo)
{
    odi_link *next = fifo->first->next;

    if (fifo->first != fifo->last)
        fifo->first = next;
    else
        begin_with(fifo, next != NULL ? take_spare(fifo, next) : NULL);
    fifo->head = 0;
}

bool odi_fifo_pop(odi_fifo *fifo, odi_entry *entry)
{
    if (fifo->count == 0)
        return false;
    while (fifo->head == fifo->first->room) { /* all entries of the link are taken */
        odi_link *block = fifo->first;

        fifo->first = block->next;
        fifo->head = 0;
        leave_block(fifo, block);
    }
    *entry = odi_link_entries(fifo->first)[fifo->head++];
    fifo->count--;
    if (ODI_UNLIKELY(fifo->first->size == 0))
        leave_first(fifo);
    else if (fifo->count == 0 && fifo->first == fifo->last)
        fifo->head = fifo->tail = 0; /* reuses its only block from the start: no allocation in a steady state */
    return true;
}

/* Moves the accepted entries of one block into the filter and closes the gaps. Returns the end of the
 * remaining entries. */
static uint8_t sift_block(odi_fifo *fifo, odi_link *block, odi_fifo_sieve *sieve)
{
    odi_entry *entries = odi_link_entries(block);
    uint32_t kept = block == fifo->first ? fifo->head : 0, each = kept;
    uint32_t end = block == fifo->last ? fifo->tail : block->room;

    for (; each < end && sieve->count < ODI_SIEVE_MOST; each++) {
        odi_entry entry = entries[each];

        if (sieve->takes(sieve->of, entry))
            sieve->entries[sieve->count++] = entry;
        else
            entries[kept++] = entry;
    }
    memmove(entries + kept, entries + each, (end - each) * sizeof *entries);
    fifo->count -= each - kept;
    return (uint8_t)(kept + end - each);
}

/* Unlinks a block without entries, or a node whose entry is taken. */
static void unlink_block(odi_fifo *fifo, odi_link *before, odi_link *block)
{
    if (before == NULL)
        leave_first(fifo);
    else {
        before->next = block->next;
        if (block == fifo->last) { /* a node: the last block would stay linked */
            fifo->last = before;
            fifo->tail = (uint8_t)before->room;
        }
    }
    leave_block(fifo, block);
}

void odi_fifo_sift(odi_fifo *fifo, odi_fifo_sieve *sieve)
{
    odi_link *before = NULL, *next;
    bool last = fifo->first == NULL;

    for (odi_link *block = fifo->first; !last && sieve->count < ODI_SIEVE_MOST; block = next) {
        uint8_t from = block == fifo->first ? fifo->head : 0, kept = sift_block(fifo, block, sieve);

        odi_invariant(block != NULL); /* holds until `last` is set */
        last = block == fifo->last;
        next = block->next;
        if (last)
            fifo->tail = kept;
        else
            block->room = kept;
        if (kept == from && (!last || block->size == 0))
            unlink_block(fifo, before, block);
        else
            before = block;
    }
}

ODI_COLD void odi_fifo_free_blocks(odi_fifo *fifo)
{
    while (fifo->first != NULL) {
        odi_link *next = fifo->first->next;

        free(fifo->first);
        fifo->first = next;
    }
    *fifo = (odi_fifo){.rests = fifo->rests};
}
