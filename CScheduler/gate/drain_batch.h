/* drain_batch.h — jobs that a drainer has taken and not started, which other threads can take back.
 *
 * The drainer fills the batch under the queue's lock. Then, as its *owner*, it claims one job at a time
 * without the lock. A thread that suspends, cancels or widens the queue takes unclaimed jobs back under the
 * lock, as does a drainer without other jobs. A job that blocks therefore does not hold up the jobs behind
 * it.
 *
 * A drain batch holds no barriers and no sync callers.
 *
 * Claims are frequent and take-backs rare, so a claim has no locked instruction: the taker pays with a heavy
 * fence. This is the split deque of Cilk (Frigo, Leiserson and Randall 1998, §5) with an asymmetric fence.
 *
 *     claim       begun + 1 -> light fence -> called_back? if set, under the lock `claimed` decides
 *     take back   called_back -> heavy fence -> begun, which becomes `claimed`: jobs before it are the
 *                 owner's. The owner's own thread needs no fence for it.
 *
 * An owner waits only for the taker, which releases the lock. A taker never waits for an owner. The `begun`
 * of a called-back owner may be one too high; it has no meaning until the next offer.
 *
 * Threads  offer, take_back, pop, clear: under the queue's lock. claim: the owner, without locks.
 *
 * Edges    Q3  claim <-> take back   light/heavy fence   the taker sees the claim, or the owner sees that
 *                                                        it is called back
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
    const void *owner; /* the drainer that may still claim jobs; NULL: none */
    uint16_t since;    /* the queue's count of takes at the offer */
    odi_atomic(bool) called_back; /* written under the lock */
    int32_t claimed;   /* jobs before this index belong to a called-back owner */
    int32_t next, end; /* jobs taken back: [next, end); `end` stays while there is an owner */
    odi_entry entries[ODI_DRAIN_BATCH_MOST];
    /* On a separate cache line, because each claim writes it. */
    ODI_LINE_ALIGNED odi_atomic(int32_t) begun; /* the owner has claimed all jobs before this index */
} odi_drain_batch;

/* Empties the batch. */
static inline void odi_drain_batch_clear(odi_drain_batch *batch)
{
    batch->next = batch->end = 0;
    odi_store_relaxed(&batch->begun, 0); /* relaxed: locked, and no owner claims */
}

/* Returns the number of jobs that were taken back and not popped. */
static inline int32_t odi_drain_batch_count(const odi_drain_batch *batch)
{
    return batch->end - batch->next;
}

/* Returns the number of unclaimed jobs. It may decrease at any time, and does not increase while the lock is
 * held. */
static inline int32_t odi_drain_batch_offered(const odi_drain_batch *batch)
{
    if (odi_load_relaxed(&batch->called_back)) /* relaxed: locked */
        return 0;
    return batch->end - odi_load_relaxed(&batch->begun); /* relaxed: a hint, except that 0 is exact */
}

/* Takes the unclaimed jobs back; they keep their order, before the wait queue. Returns their number.
 * `by_owner`: the calling thread is the owner. */
static inline int32_t odi_drain_batch_take_back(odi_drain_batch *batch, bool by_owner)
{
    if (odi_drain_batch_offered(batch) == 0)
        return 0;
    odi_store_relaxed(&batch->called_back, true); /* relaxed: Q3's fence follows */
    if (!by_owner)
        odi_fence_heavy(Q3);
    batch->next = batch->claimed = odi_load_relaxed(&batch->begun); /* relaxed: Q3's fence precedes it */
    return odi_drain_batch_count(batch);
}

/* Removes the oldest job that was taken back. */
static inline bool odi_drain_batch_pop(odi_drain_batch *batch, odi_entry *entry)
{
    if (batch->next >= batch->end)
        return false;
    *entry = batch->entries[batch->next++];
    return true;
}

/* Lets the calling drainer claim the batch's jobs. */
static inline void odi_drain_batch_offer(odi_drain_batch *batch)
{
    odi_store_relaxed(&batch->begun, batch->next); /* relaxed, both: locked, and there is no other owner */
    odi_store_relaxed(&batch->called_back, false);
    batch->next = batch->end;
}

/* Claims the owner's next job. Returns false if no job is left or the batch was taken back. `lock` is the
 * queue's lock. */
static inline bool odi_drain_batch_claim(odi_drain_batch *batch, odi_lock *lock, odi_entry *entry)
{
    int32_t next = odi_load_relaxed(&batch->begun); /* relaxed: the owner's word */

    if (next >= batch->end)
        return false;
    odi_store_relaxed(&batch->begun, next + 1); /* relaxed: Q3's fence follows */
    odi_fence_light(Q3);
    if (ODI_UNLIKELY(odi_load_relaxed(&batch->called_back))) { /* relaxed: Q3's fence precedes it */
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
