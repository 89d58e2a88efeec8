/* hand.h — what a lane's drainer has taken and not started: within everybody's reach.
 *
 * The drainer fills it under the queue's lock and then claims one job at a time without it.
 * Who suspends, cancels or widens the queue takes back under the lock what is not claimed, and
 * so does a drainer that finds nothing else: a job that blocks keeps nothing behind it from
 * those who may run it.
 *
 * A hand holds no barriers and no sync callers' turns.
 *
 * Threads  offer, take_back, pop: under the queue's lock. claim: the drainer that owns it.
 *
 * Edges    Q3  claim <-> take back   one winner per job (relaxed: one word decides, and the
 *                                    jobs themselves change under the lock alone)
 */
#ifndef ODI_LANE_HAND_H
#define ODI_LANE_HAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "queue/entry.h"

#pragma GCC visibility push(hidden)

enum { ODI_HAND_MOST = 16 };

typedef struct {
    const void *owner; /* the drainer that may still claim from it; NULL: none */
    uint32_t since;    /* the lane's count of takes when it was offered */
    int32_t next, end; /* of what was taken back: [next, end) */
    odi_entry entries[ODI_HAND_MOST];
    /* Apart from what others look at: written with each claim. */
    ODI_LINE_ALIGNED odi_atomic(int32_t) left; /* the owner may claim so many; below 0: none */
} odi_hand;

/* What was taken back and not popped. */
static inline int32_t odi_hand_count(const odi_hand *hand)
{
    return hand->end - hand->next;
}

/* What is not claimed. It may be less by now, and never more while the lock is held. */
static inline int32_t odi_hand_offered(const odi_hand *hand)
{
    int32_t left = odi_load_relaxed(&hand->left); /* relaxed: Q3 */

    return left > 0 ? left : 0;
}

/* Takes back what the drainer has not claimed; it keeps its order, before the lane's. Returns how
 * many that is. */
static inline int32_t odi_hand_take_back(odi_hand *hand)
{
    int32_t left = odi_swap_relaxed(&hand->left, 0); /* relaxed: Q3 */

    if (left <= 0)
        return 0;
    hand->next = hand->end - left;
    return left;
}

/* The oldest of what was taken back. */
static inline bool odi_hand_pop(odi_hand *hand, odi_entry *entry)
{
    if (hand->next >= hand->end)
        return false;
    *entry = hand->entries[hand->next++];
    return true;
}

/* Lets the calling drainer claim what the hand holds. Returns where that ends. */
static inline int32_t odi_hand_offer(odi_hand *hand)
{
    odi_store_relaxed(&hand->left, odi_hand_count(hand)); /* relaxed: Q3 */
    hand->next = hand->end;
    return hand->end;
}

/* The next job of those that end at `end`. False: there is none left, or it was taken back. */
static inline bool odi_hand_claim(odi_hand *hand, int32_t end, odi_entry *entry)
{
    int32_t left;

    if (odi_load_relaxed(&hand->left) <= 0) /* relaxed: Q3, and nobody but the drainer adds */
        return false;
    left = odi_add_relaxed(&hand->left, -1); /* relaxed: Q3 */
    if (left <= 0)
        return false;
    *entry = hand->entries[end - left];
    return true;
}

#pragma GCC visibility pop

#endif
