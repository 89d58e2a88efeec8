/* drain_batch.h — what a line's drainer has taken and not started: within everybody's reach.
 *
 * The drainer fills it under the queue's lock and then claims one job at a time without it.
 * Who suspends, cancels or widens the queue takes back under the lock what is not claimed, and
 * so does a drainer that finds nothing else: a job that blocks keeps nothing behind it from
 * those who may run it.
 *
 * A drain batch holds no barriers and no sync callers' wait nodes.
 *
 * Threads  offer, take_back, pop: under the queue's lock. claim: the drainer that owns it.
 *
 * Edges    Q3  claim <-> take back   one winner per job (relaxed: one word decides, and the
 *                                    jobs themselves change under the lock alone)
 */
#ifndef ODI_GATE_DRAIN_BATCH_H
#define ODI_GATE_DRAIN_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "queue/entry.h"

#pragma GCC visibility push(hidden)

enum { ODI_DRAIN_BATCH_MOST = 16 };

typedef struct {
    const void *owner; /* the drainer that may still claim from it; NULL: none */
    uint16_t since;    /* the line's count of takes when it was offered */
    int32_t next, end; /* of what was taken back: [next, end) */
    odi_entry entries[ODI_DRAIN_BATCH_MOST];
    /* Apart from what others look at: written with each claim. */
    ODI_LINE_ALIGNED odi_atomic(int32_t) left; /* the owner may claim so many; below 0: none */
} odi_drain_batch;

/* What was taken back and not popped. */
static inline int32_t odi_drain_batch_count(const odi_drain_batch *batch)
{
    return batch->end - batch->next;
}

/* What is not claimed. It may be less by now, and never more while the lock is held. */
static inline int32_t odi_drain_batch_offered(const odi_drain_batch *batch)
{
    int32_t left = odi_load_relaxed(&batch->left); /* relaxed: Q3 */

    return left > 0 ? left : 0;
}

/* Takes back what the drainer has not claimed; it keeps its order, before the line's. Returns how
 * many that is. */
static inline int32_t odi_drain_batch_take_back(odi_drain_batch *batch)
{
    int32_t left = odi_swap_relaxed(&batch->left, 0); /* relaxed: Q3 */

    if (left <= 0)
        return 0;
    batch->next = batch->end - left;
    return left;
}

/* The oldest of what was taken back. */
static inline bool odi_drain_batch_pop(odi_drain_batch *batch, odi_entry *entry)
{
    if (batch->next >= batch->end)
        return false;
    *entry = batch->entries[batch->next++];
    return true;
}

/* Lets the calling drainer claim what the drain batch holds. Returns where that ends. */
static inline int32_t odi_drain_batch_offer(odi_drain_batch *batch)
{
    odi_store_relaxed(&batch->left, odi_drain_batch_count(batch)); /* relaxed: Q3 */
    batch->next = batch->end;
    return batch->end;
}

/* The next job of those that end at `end`. False: there is none left, or it was taken back. */
static inline bool odi_drain_batch_claim(odi_drain_batch *batch, int32_t end, odi_entry *entry)
{
    int32_t left;

    if (odi_load_relaxed(&batch->left) <= 0) /* relaxed: Q3, and nobody but the drainer adds */
        return false;
    left = odi_add_relaxed(&batch->left, -1); /* relaxed: Q3 */
    if (left <= 0)
        return false;
    *entry = batch->entries[end - left];
    return true;
}

#pragma GCC visibility pop

#endif
