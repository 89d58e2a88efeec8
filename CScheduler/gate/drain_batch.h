/* drain_batch.h — what a line's drainer has taken and not started: within everybody's reach.
 *
 * The drainer fills it under the queue's lock and then, as its *owner*, claims one job at a time without it.
 * Who suspends, cancels or widens the queue takes back under the lock what is not claimed, and
 * so does a drainer that finds nothing else: a job that blocks keeps nothing behind it from
 * those who may run it.
 *
 * A drain batch holds no barriers and no sync callers' wait nodes.
 *
 * Claims are many and takers few, so a claim has no locked instruction: the taker pays for its order with a
 * heavy fence (the split deque of Cilk, Frigo, Leiserson and Randall 1998, §5, with an asymmetric fence).
 *
 *     claim       begun + 1 -> light fence -> called_back? then the lock, under which `claimed` says whose it is
 *     take back   called_back -> heavy fence -> begun, which becomes `claimed`: what is before it is the owner's.
 *                 The thread that claims needs no fence for it.
 *
 * How the owner's wait ends: by the taker, who releases the lock. No taker waits for an owner. An owner that is
 * called back has counted one too many, or none: what it wrote means nothing until the next offer.
 *
 * Threads  offer, take_back, pop, clear: under the queue's lock. claim: the owner, without locks.
 *
 * Edges    Q3  claim <-> take back   light/heavy fence   who takes back sees the claim, or the owner that it is
 *                                                        called back
 */
#ifndef ODI_GATE_DRAIN_BATCH_H
#define ODI_GATE_DRAIN_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/membarrier.h"
#include "queue/entry.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

enum { ODI_DRAIN_BATCH_MOST = 16 };

typedef struct {
    const void *owner; /* the drainer that may still claim from it; NULL: none */
    uint16_t since;    /* the line's count of takes when it was offered */
    odi_atomic(bool) called_back; /* written under the lock */
    int32_t claimed;   /* by an owner that is called back: what is before it */
    int32_t next, end; /* of what was taken back: [next, end); `end` stays while there is an owner */
    odi_entry entries[ODI_DRAIN_BATCH_MOST];
    /* Apart from what others look at: written with each claim. */
    ODI_LINE_ALIGNED odi_atomic(int32_t) begun; /* the owner has claimed what is before it */
} odi_drain_batch;

/* It holds nothing from here on. */
static inline void odi_drain_batch_clear(odi_drain_batch *batch)
{
    batch->next = batch->end = 0;
    odi_store_relaxed(&batch->begun, 0); /* relaxed: nobody claims */
}

/* What was taken back and not popped. */
static inline int32_t odi_drain_batch_count(const odi_drain_batch *batch)
{
    return batch->end - batch->next;
}

/* What is not claimed. It may be less by now, and never more while the lock is held. */
static inline int32_t odi_drain_batch_offered(const odi_drain_batch *batch)
{
    if (odi_load_relaxed(&batch->called_back)) /* relaxed: the lock */
        return 0;
    return batch->end - odi_load_relaxed(&batch->begun); /* relaxed: a hint, but where it is 0 */
}

/* Takes back what the owner has not claimed; it keeps its order, before the line's. Returns how many that
 * is. `by_owner`: the calling thread is the one that claims. */
static inline int32_t odi_drain_batch_take_back(odi_drain_batch *batch, bool by_owner)
{
    if (odi_drain_batch_offered(batch) == 0)
        return 0;
    odi_store_relaxed(&batch->called_back, true); /* relaxed: Q3's fence follows */
    if (!by_owner)
        odi_fence_heavy(Q3);
    batch->next = batch->claimed = odi_load_relaxed(&batch->begun); /* relaxed: Q3's fence stands before it */
    return odi_drain_batch_count(batch);
}

/* The oldest of what was taken back. */
static inline bool odi_drain_batch_pop(odi_drain_batch *batch, odi_entry *entry)
{
    if (batch->next >= batch->end)
        return false;
    *entry = batch->entries[batch->next++];
    return true;
}

/* Lets the calling drainer claim what the drain batch holds. */
static inline void odi_drain_batch_offer(odi_drain_batch *batch)
{
    odi_store_relaxed(&batch->begun, batch->next); /* relaxed, both: the lock, and no other owner */
    odi_store_relaxed(&batch->called_back, false);
    batch->next = batch->end;
}

/* The owner's next job. False: there is none left, or it was taken back. `lock`: the queue's. */
static inline bool odi_drain_batch_claim(odi_drain_batch *batch, odi_lock *lock, odi_entry *entry)
{
    int32_t next = odi_load_relaxed(&batch->begun); /* relaxed: the owner's */

    if (next >= batch->end)
        return false;
    odi_store_relaxed(&batch->begun, next + 1); /* relaxed: Q3's fence follows */
    odi_fence_light(Q3);
    if (ODI_UNLIKELY(odi_load_relaxed(&batch->called_back))) { /* relaxed: Q3's fence stands before it */
        odi_lock_acquire(lock);
        bool mine = next < batch->claimed;
        odi_lock_release(lock);
        if (!mine)
            return false;
    }
    *entry = batch->entries[next];
    return true;
}

#pragma GCC visibility pop

#endif
