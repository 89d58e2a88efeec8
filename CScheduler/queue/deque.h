/* deque.h — a worker's own queue: a growable ring that its owner fills and everybody drains.
 *
 * Chase & Lev, "Dynamic circular work-stealing deque" (SPAA 2005, section 2), with the
 * memory orders of Lê, Pop, Cohen & Zappa Nardelli (PPoPP 2013, figure 1) and their two
 * errata mended. Both the owner and the thieves take the oldest entry: closures start in the
 * order in which they were submitted, and nothing starves at the old end. An owner that waits for
 * an entry's end may take it back from the new end, where it is the newest; that is slow, and
 * costs the others nothing.
 *
 * Owns     its rings, old ones until no thief can be reading them (through reclaim/).
 * Never    knows what an entry means, who waits for it, or whom to wake.
 * Threads  push, take, take_wanted, shrink and the life cycle: the owner alone (odi_deque_adopt).
 *          steal: anyone inside odi_read_begin/odi_read_end. size: anyone, a hint.
 *
 * Edges    D1  push -> take, steal       release/acquire   the entry's words are readable
 *          D2  grow, shrink -> steal     release/acquire   the ring's slots are readable
 *          D3  take, steal -> push       release/acquire   the slot may be written again
 *              take -> size              release/acquire   whoever sees a take behind a release
 *                                                          fence sees what was pushed before it
 *          D4  take <-> steal            one CAS on top    one winner per index
 *          D6  take_wanted <-> steal     heavy/light fence the thief sees the lower bottom, or the
 *                                                          owner how far that thief can reach
 *
 * Invariants  (1) top <= bottom (modulo 2^64); top only grows, and bottom falls only while it is
 *             more than ODI_STEAL_BATCH beyond top, by one, and not to an index that a thief who
 *             has read it before can take: who takes begins at top;
 *             (2) bottom - top <= the ring's capacity, a power of two;
 *             (3) the ring holds every entry of [top, bottom);
 *             (4) a retired ring is never the current one.
 */
#ifndef ODI_QUEUE_DEQUE_H
#define ODI_QUEUE_DEQUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "queue/entry.h"
#include "reclaim/reclaim.h"

#pragma GCC visibility push(hidden)

#ifndef ODI_DEQUE_MINIMUM
#define ODI_DEQUE_MINIMUM 64 /* slots of the first ring, and of a shrunk one */
#endif
#ifndef ODI_DEQUE_MAXIMUM
#define ODI_DEQUE_MAXIMUM (INT64_C(1) << 30)
#endif
#ifndef ODI_STEAL_BATCH
#define ODI_STEAL_BATCH 32 /* the most entries that one steal moves */
#endif

typedef struct odi_ring odi_ring;

typedef struct odi_deque {
    /* Written by whoever takes. */
    ODI_PAIR_ALIGNED odi_atomic(int64_t) top;

    /* Written by the owner, read by thieves. */
    ODI_PAIR_ALIGNED odi_atomic(int64_t) bottom;
    odi_atomic(odi_ring *) ring;

    /* Owner only. */
    ODI_PAIR_ALIGNED int64_t top_seen; /* top is at least this; D3 was observed up to here */
    int node;
    const void *owner; /* the thread that adopted it; NULL: its user sees to that */
    odi_atomic(uint64_t) growths; /* a counter, read by anyone */
} odi_deque;

/* Empty, without a ring, both indices at `start` (tests begin next to the wrap). */
void odi_deque_init(odi_deque *deque, int64_t start, int node);

/* From here on the calling thread is the owner: builds that check invariants trap where
 * another one makes an owner's call. Who was it before has made its last one. */
void odi_deque_adopt(odi_deque *deque);

/* Frees the ring. Nobody may be stealing. */
void odi_deque_free(odi_deque *deque);

/* Gives a deque without a ring its first one. False: memory is short. Owner. */
bool odi_deque_make_ring(odi_deque *deque);

/* Adds an entry at the new end. Returns false, changing nothing, when the ring is full and
 * no larger one can be had. Owner. */
bool odi_deque_push(odi_deque *deque, odi_entry entry);

/* Takes the oldest entry. Returns false when there is none. Owner. */
bool odi_deque_take(odi_deque *deque, odi_entry *entry);

/* Takes the oldest entry if it is wanted, or else the newest if that is. What it looks at may be
 * taken by another at that moment. Others may miss what is left for a moment: the caller publishes
 * it again. False: neither is wanted. Owner. */
typedef bool odi_wanted(odi_entry entry, const void *context);
bool odi_deque_take_wanted(odi_deque *deque, odi_wanted *wanted, const void *context,
                           odi_entry *entry);

/* Takes the oldest entries, at most half of what is there (rounded up) and at most `most`
 * (no more than ODI_STEAL_BATCH), in order. Returns how many; 0 when the deque is empty or another taker was faster.
 * Anyone, inside a read section. */
size_t odi_deque_steal(odi_deque *deque, odi_entry *entries, size_t most);

/* How many entries there seem to be. Anyone. */
size_t odi_deque_size(odi_deque *deque);

/* Goes back to a small ring when the deque is empty and its ring is large. Owner, when idle. */
void odi_deque_shrink(odi_deque *deque);

#pragma GCC visibility pop

#endif
