/* deque.h — a worker's own queue: a growable ring that its owner fills and every worker takes from.
 *
 * The algorithm is Chase & Lev, "Dynamic circular work-stealing deque" (SPAA 2005, section 2). The memory
 * orders come from Lê, Pop, Cohen & Zappa Nardelli (PPoPP 2013, figure 1), with their two errata corrected.
 *
 * The owner and the thieves take the oldest entry. Closures therefore start in submission order, and no entry
 * starves. An owner that waits for one entry may take it back from the new end. This is slow for the owner
 * and free for the thieves.
 *
 * Owns     its rings; reclaim/ frees a replaced ring once no thief can read it.
 * Never    knows the meaning of an entry, its waiters, or whom to wake.
 * Threads  push, take, take_wanted, shrink, creation and destruction: the owner only (odi_deque_adopt).
 *          steal: any thread inside odi_read_begin/odi_read_end. size: any thread, a hint.
 *
 * Edges    D1  push -> take, steal       release/acquire   the entry's words are readable
 *          D2  grow, shrink -> steal     release/acquire   the ring's slots are readable
 *          D3  take, steal -> push       release/acquire   the slot may be written again
 *              take -> size              release/acquire   a thread that sees a take behind a release fence
 *                                                          also sees the pushes before that take
 *          D4  take <-> steal            one CAS on top    one winner per index
 *          D6  take_wanted <-> steal     heavy/light fence the thief sees the lower bottom, or the owner
 *                                                          sees how far the thief can reach
 *
 * Invariants  (1) top <= bottom (modulo 2^64). top only grows. bottom falls by one at a time, and only while
 *             it is more than ODI_STEAL_BATCH beyond top. A thief that read top earlier cannot take the
 *             new bottom index, because every taker starts at top;
 *             (2) bottom - top <= the ring's capacity, a power of two;
 *             (3) the ring holds every entry of [top, bottom);
 *             (4) a retired ring is never the current ring.
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
#define ODI_STEAL_BATCH 32 /* the largest number of entries that one steal moves */
#endif

typedef struct odi_ring odi_ring;

typedef struct odi_deque {
    /* Written by every taker. */
    ODI_PAIR_ALIGNED odi_atomic(int64_t) top;

    /* Written by the owner, read by thieves. */
    ODI_PAIR_ALIGNED odi_atomic(int64_t) bottom;
    odi_atomic(odi_ring *) ring;

    /* Read and written by the owner only. */
    ODI_PAIR_ALIGNED int64_t top_seen; /* a lower bound of top; D3 was observed up to this index */
    int node;
    const void *owner; /* the thread that adopted the deque; NULL: the check is off */
    odi_atomic(uint64_t) growths; /* a counter, read by anyone */
} odi_deque;

/* Initialises an empty deque without a ring, both indices at `start` (tests start next to the wraparound). */
void odi_deque_init(odi_deque *deque, int64_t start, int node);

/* Makes the calling thread the owner. Builds that check invariants trap if another thread makes an owner's
 * call. The previous owner must have made its last call. */
void odi_deque_adopt(odi_deque *deque);

/* Frees the ring. No thread may be stealing. */
void odi_deque_free(odi_deque *deque);

/* Gives a deque without a ring its first ring. Returns false if an allocation fails. Owner only. */
bool odi_deque_make_ring(odi_deque *deque);

/* Adds an entry at the new end. Returns false, and changes nothing, if the ring is full and cannot grow.
 * Owner only. */
bool odi_deque_push(odi_deque *deque, odi_entry entry);

/* Takes the oldest entry. Returns false if the deque is empty. Owner only. */
bool odi_deque_take(odi_deque *deque, odi_entry *entry);

/* Takes the oldest entry if `wanted` accepts it, otherwise the newest if `wanted` accepts that. Another
 * thread may take the inspected entry at that moment. Other threads may briefly miss the remaining entries,
 * so the caller signals them again. Returns false if neither entry is accepted. Owner only. */
typedef bool odi_wanted(odi_entry entry, const void *context);
bool odi_deque_take_wanted(odi_deque *deque, odi_wanted *wanted, const void *context,
                           odi_entry *entry);

/* Takes the oldest entries in order: at most half of the deque (rounded up) and at most `most`, which is at
 * most ODI_STEAL_BATCH. Returns their number, or 0 if the deque is empty or another taker was faster. Any
 * thread, inside a read section. */
size_t odi_deque_steal(odi_deque *deque, odi_entry *entries, size_t most);

/* Returns the approximate number of entries. Any thread. */
size_t odi_deque_size(odi_deque *deque);

/* Replaces a large ring by a small ring if the deque is empty. Owner only, when idle. */
void odi_deque_shrink(odi_deque *deque);

#pragma GCC visibility pop

#endif
