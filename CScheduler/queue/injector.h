/* injector.h — the queue for jobs of external threads: many producers, many consumers, first in, first out,
 * in blocks.
 *
 * A producer claims the next ticket by one CAS on `tail` and writes the ticket's slot. A directory, which
 * lives as long as the injector, maps a ticket to its block. A producer therefore never touches freed memory:
 * a block is recycled only after its tickets have been consumed.
 *
 * A consumer claims consecutive published slots by one CAS on `head`. The last consumer of a block puts the
 * block on the spare list, and a later producer reuses it. Surplus spares are retired, because a slow
 * consumer may still read a block whose slots were consumed long ago.
 *
 * An entry that must not be refused brings a node, in case no block can be allocated. Nodes wait in a locked
 * list, and consumers claim them first.
 *
 * Owns     its directory and blocks, but no nodes.
 * Never    knows the meaning of an entry or its waiters, allocates for one entry, or waits. A producer
 *          that is preempted between claim and write delays all later entries. A closed injector
 *          accepts nothing and still hands out its entries.
 * Threads  push, push_node, close, is_used_up, size: any thread.
 *          claim, has_claimable: inside a read section.
 *
 * Edges    J1  push -> claim              release/acquire   the slot's context is readable
 *          J2  install -> push, claim     release/acquire   the block's slots are zero
 *          J3  claim <-> claim            one CAS on head   one winner per range (relaxed:
 *                                                           J4 and J6 carry the rest)
 *          J4  claim -> recycle           acq_rel counts    all reads of the block have finished
 *          J5  recycle -> install         release/acquire   the directory's place is free
 *                                                           and its count is zero
 *          J6  push -> claim              release/acquire   tail's tickets have blocks
 *
 * Invariants  (1) head <= tail;
 *             (2) every ticket of [head, tail) has an installed block (close moves tail
 *             ODI_INJECTOR_CLOSED beyond the last ticket);
 *             (3) a block is spare, installed or retired, never two of these.
 */
#ifndef ODI_QUEUE_INJECTOR_H
#define ODI_QUEUE_INJECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "queue/entry.h"
#include "queue/entry_node.h"
#include "reclaim/reclaim.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

#ifndef ODI_INJECTOR_BLOCK
#define ODI_INJECTOR_BLOCK 4096 /* slots of a block */
#endif
#ifndef ODI_INJECTOR_DIRECTORY
#define ODI_INJECTOR_DIRECTORY 65536 /* most blocks of one injector, for 2^28 entries */
#endif
#ifndef ODI_INJECTOR_SPARES
#define ODI_INJECTOR_SPARES 8 /* spare blocks above this number are freed */
#endif

typedef struct odi_block odi_block;

typedef struct {
    /* The block's address (NULL: none yet). The low bits hold the directory round that this place serves. A
     * producer one round ahead therefore finds the previous round. */
    odi_atomic(uintptr_t) occupant;
    odi_atomic(uint64_t) consumed; /* number of consumed slots of the block */
} odi_block_place;

typedef struct odi_injector {
    ODI_PAIR_ALIGNED odi_atomic(uint64_t) tail; /* written by producers */
    ODI_PAIR_ALIGNED odi_atomic(uint64_t) head; /* written by consumers */

    ODI_PAIR_ALIGNED odi_block_place *directory; /* constant */
    int node;
    odi_lock lock; /* protects the lists of spare blocks and of nodes */
    odi_block *spares;
    uint32_t spare_count;
    bool closed;
    odi_atomic(uint32_t) listed;
    odi_link *first, *last;
} odi_injector;

/* Initialises an empty injector whose first ticket is `start` (a multiple of the block size). Returns false
 * if no address space is available. */
bool odi_injector_init(odi_injector *injector, uint64_t start, int node);

/* Empties the injector in a forked child without allocating. The parent's blocks are left in place. */
void odi_injector_forked(odi_injector *injector);

/* Frees all memory and forgets remaining entries. No thread may use the injector, and odi_reclaim_drain must
 * have returned. */
void odi_injector_free(odi_injector *injector);

/* Adds an entry at the end. Returns false, and keeps nothing, if an allocation fails, 2^28 entries wait, or
 * the injector is closed. Any thread. The entry enters the size by a seq_cst read-modify-write (S2) before
 * claim can find it. */
bool odi_injector_push(odi_injector *injector, odi_entry entry);

/* Adds an entry that waits in its node. Returns false if the injector is closed. */
bool odi_injector_push_node(odi_injector *injector, odi_entry entry, odi_entry_node *node);

/* Takes up to `most` of the oldest entries, in order. Returns their number: 0 if there are none, or if the
 * oldest is still being written. Inside a read section. */
size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most);

/* Makes every later push fail; earlier entries can still be claimed. Call once, from any thread. */
void odi_injector_close(odi_injector *injector);

/* Whether a closed injector has no entry left to claim. Any thread. */
bool odi_injector_is_used_up(odi_injector *injector);

/* Whether claim would find an entry. The answer is exact if the caller shares a fence with push. */
bool odi_injector_has_claimable(odi_injector *injector);

/* A place is at most one round behind, so one bit could tell the rounds apart. Blocks are aligned to more
 * than this number. */
enum { ODI_INJECTOR_ROUNDS = 8 };

/* Close adds this number to tail. The directory's places then serve other rounds than the tickets, so push
 * finds the directory full. */
#define ODI_INJECTOR_CLOSED ((uint64_t)ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY * (ODI_INJECTOR_ROUNDS / 2))

/* Returns the approximate number of entries; a hint. Any thread. */
static inline uint64_t odi_injector_size(odi_injector *injector)
{
    uint64_t head = odi_load_relaxed(&injector->head); /* relaxed, all: a hint */
    uint64_t tail = odi_load_relaxed(&injector->tail);

    if (ODI_UNLIKELY(tail - head >= ODI_INJECTOR_CLOSED))
        tail -= ODI_INJECTOR_CLOSED; /* negative if head was read late */
    return ((int64_t)(tail - head) > 0 ? tail - head : 0) + odi_load_relaxed(&injector->listed);
}

#pragma GCC visibility pop

#endif
