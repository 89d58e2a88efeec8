/* injector.h — where work from outside the workers waits: many producers, many consumers,
 * first in, first out, in blocks.
 *
 * A producer claims the next ticket by one CAS on `tail` and writes the ticket's slot. A
 * directory that lives as long as the injector leads from a ticket to its block, so a
 * producer never touches memory that could go away: the block of a ticket it holds cannot be
 * recycled before that ticket is consumed. A consumer claims a run of published slots by one
 * CAS on `head`. The last consumer of a block puts it on the spare list, from where the next
 * producer takes it; what is more than some is retired, because a slow consumer may still be looking
 * at a block whose slots are long consumed.
 *
 * An entry that must not be refused brings a node along, for where memory is too short for a block: nodes
 * wait in a list under a lock, and are claimed first.
 *
 * Owns     its directory and blocks, and no nodes.
 * Never    knows what an entry means, or who waits; allocates per entry; waits. A producer
 *          that is stopped between claiming and writing holds back what came after it.
 *          Closed, it takes nothing more, and gives out what it has.
 * Threads  push, push_node, close, is_used_up, size: anyone. claim, has_claimable: inside a read section.
 *
 * Edges    J1  push -> claim              release/acquire   the slot's context is readable
 *          J2  install -> push, claim     release/acquire   the block's slots are zero
 *          J3  claim <-> claim            one CAS on head   one winner per range (relaxed:
 *                                                           J4 and J6 carry the rest)
 *          J4  claim -> recycle           acq_rel counts    all reads of the block are over
 *          J5  recycle -> install         release/acquire   the directory's place is free
 *                                                           and its count zero
 *          J6  push -> claim              release/acquire   tail's tickets have blocks
 *
 * Invariants  (1) head <= tail; (2) tickets of [head, tail) have an installed block (a close has put
 *             tail ODI_INJECTOR_CLOSED beyond the last of them);
 *             (3) a block is spare or installed or retired, never two of these.
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
#define ODI_INJECTOR_DIRECTORY 65536 /* blocks of one injector, at most: 2^28 entries */
#endif
#ifndef ODI_INJECTOR_SPARES
#define ODI_INJECTOR_SPARES 8 /* spare blocks beyond these are given back */
#endif

typedef struct odi_block odi_block;

typedef struct {
    /* The block's address (NULL: none yet), and in the low bits the round of the directory
     * that the place serves. A producer that is a whole round ahead finds the round before. */
    odi_atomic(uintptr_t) occupant;
    odi_atomic(uint64_t) consumed; /* slots of the block that are done with */
} odi_block_place;

typedef struct odi_injector {
    ODI_PAIR_ALIGNED odi_atomic(uint64_t) tail; /* written by producers */
    ODI_PAIR_ALIGNED odi_atomic(uint64_t) head; /* written by consumers */

    ODI_PAIR_ALIGNED odi_block_place *directory; /* constant */
    int node;
    odi_lock lock; /* of the lists of spare blocks and of nodes */
    odi_block *spares;
    uint32_t spare_count;
    bool closed;
    odi_atomic(uint32_t) listed;
    odi_link *first, *last;
} odi_injector;

/* Empty, with `start` as the first ticket (a multiple of the block's size). Returns false
 * when there is no address space. */
bool odi_injector_init(odi_injector *injector, uint64_t start, int node);

/* In a forked child, without asking for memory: empty again. The parent's blocks stay where they are. */
void odi_injector_forked(odi_injector *injector);

/* Frees everything; entries that remain are forgotten. Nobody may be using it, and
 * odi_reclaim_drain must have returned. */
void odi_injector_free(odi_injector *injector);

/* Adds an entry at the end. Returns false, keeping nothing, when memory is short, 2^28 entries
 * wait, or it is closed. Anyone. The size counts it by a seq_cst read-modify-write (S2) before claim can
 * find it. */
bool odi_injector_push(odi_injector *injector, odi_entry entry);

/* The same with a node, in which the entry waits. False: the injector is closed. */
bool odi_injector_push_node(odi_injector *injector, odi_entry entry, odi_entry_node *node);

/* Takes up to `most` of the oldest entries, in order. Returns how many: 0 when there are none
 * or the oldest is still being written. Inside a read section. */
size_t odi_injector_claim(odi_injector *injector, odi_entry *entries, size_t most);

/* From here on push refuses, for good; what was added before is still to be claimed. Once. Anyone. */
void odi_injector_close(odi_injector *injector);

/* Closed: whether all that was ever added is claimed. Anyone. */
bool odi_injector_is_used_up(odi_injector *injector);

/* Whether claim would find something: exact after a fence that its caller has with push. */
bool odi_injector_has_claimable(odi_injector *injector);

/* A place holds the round before at the oldest: one bit would do to tell them apart. Blocks
 * are aligned to more than this. */
enum { ODI_INJECTOR_ROUNDS = 8 };

/* Added to tail by a close: places serve another round than such a ticket's, so that push finds the
 * directory full. */
#define ODI_INJECTOR_CLOSED ((uint64_t)ODI_INJECTOR_BLOCK * ODI_INJECTOR_DIRECTORY * (ODI_INJECTOR_ROUNDS / 2))

/* How many entries there seem to be. Anyone; a hint. */
static inline uint64_t odi_injector_size(odi_injector *injector)
{
    uint64_t head = odi_load_relaxed(&injector->head); /* relaxed, all: a hint */
    uint64_t tail = odi_load_relaxed(&injector->tail);

    if (ODI_UNLIKELY(tail - head >= ODI_INJECTOR_CLOSED))
        tail -= ODI_INJECTOR_CLOSED; /* where head is read late this is below it */
    return ((int64_t)(tail - head) > 0 ? tail - head : 0) + odi_load_relaxed(&injector->listed);
}

#pragma GCC visibility pop

#endif
