/* hands.c — how many jobs a drainer takes at once, and what becomes of those that it has not begun.
 *
 * A serial lane's drainer takes as many as a hand holds: nobody else may run them. Drainers of a
 * wider one take one job, and more and more of them as long as all together last a few
 * microseconds (`reach`): the lock is not worth such jobs, and so much later another worker may
 * begin them. If one of them lasts long after all, the others come back to the lane
 * - when a drainer finds nothing else, or a barrier in front: what is in hands is before it;
 * - when others have taken often enough since they left it.
 *
 * Locks    the queue's, all of it.
 * Invariant  what is not claimed of a hand counts as waiting: somebody is coming for it.
 */
#include "lane/queue.h"
#include "lane/wait.h"

#include <stdlib.h>
#include <string.h>

#include "worker/forks.h"

enum {
    PASSED_OVER = 16, /* takes by others, while a hand's jobs wait for the one that runs */
    LONG_UNITS = 4    /* of od_loop_unit: a lot that lasts longer was too large */
};

static bool is_among(const od_stay *stay, const od_stay *stays)
{
    while (stays != NULL && stays != stay)
        stays = stays->outer;
    return stays != NULL;
}

/* Whether the calling thread is in the middle of it, perhaps below what it runs set apart. */
static bool is_here(const od_stay *stay)
{
    bool here = is_among(stay, odi_stays);

    for (const odi_set_apart *below = odi_apart; below != NULL && !here; below = below->outer)
        here = is_among(stay, below->stays);
    return here;
}

void odi_lane_drop_hands(od_queue *queue)
{
    for (int each = 0; each < odi_lane_hands(queue); each++) {
        odi_hand *hand = &queue->hands[each];

        if (!is_here(hand->owner)) /* in a forked child it may be */
            hand->owner = NULL;
        hand->next = hand->end = 0;
        odi_store_relaxed(&hand->left, 0); /* relaxed: nobody else is there */
    }
    queue->back = 0;
}

/* Where memory is short a drainer takes one job at a time. */
static void have_hands(od_queue *queue)
{
    size_t size = ODI_HANDS * sizeof(odi_hand);

    if (queue->hands == NULL && queue->lane.count > 0 &&
        (queue->hands = aligned_alloc(ODI_CACHE_LINE, size)) != NULL)
        memset(queue->hands, 0, size);
}

void odi_lane_free_hands(od_queue *queue)
{
    odi_hand *hands = queue->hands;

    queue->hands = NULL;
    odi_fence_compiler(); /* a fork in between: the child finds nothing that is freed */
    free(hands);
}

int32_t odi_lane_offered(const od_queue *queue)
{
    int32_t offered = 0;

    for (int each = 0; each < odi_lane_hands(queue); each++)
        offered += odi_hand_offered(&queue->hands[each]);
    return offered;
}

static void take_back(od_queue *queue, odi_hand *hand)
{
    queue->back += (uint32_t)odi_hand_take_back(hand);
}

void odi_lane_take_back(od_queue *queue)
{
    for (int each = 0; each < odi_lane_hands(queue); each++)
        take_back(queue, &queue->hands[each]);
}

bool odi_lane_pop_hand(od_queue *queue, odi_entry *entry)
{
    if (queue->back == 0)
        return false;
    for (int each = 0; each < odi_lane_hands(queue); each++) {
        if (odi_hand_pop(&queue->hands[each], entry)) {
            queue->back--;
            return true;
        }
    }
    return false;
}

bool odi_lane_peek(od_queue *queue, odi_entry *entry)
{
    return odi_fifo_peek(&queue->lane, entry) ||
           (odi_inbox_empty_into(&queue->inbox, &queue->lane) &&
            odi_fifo_peek(&queue->lane, entry));
}

/* relaxed, all: written under the lock, or by the drainer alone (Q3) */
void odi_lane_call_in(od_queue *queue)
{
    uint32_t takes = odi_load_relaxed(&queue->takes) + 1;
    odi_entry next;

    odi_store_relaxed(&queue->takes, takes);
    if (queue->gate.held < 2 || queue->early.count > 0 || queue->back > 0)
        return;
    for (int each = 0; each < odi_lane_hands(queue); each++) {
        odi_hand *hand = &queue->hands[each];

        if (ODI_UNLIKELY(hand->owner != NULL && takes - hand->since > PASSED_OVER))
            take_back(queue, hand);
    }
    if (queue->back == 0 && (!odi_lane_peek(queue, &next) || odi_lane_is_barrier(next)))
        odi_lane_take_back(queue);
}

/* ---- by the drainer ---- */

static odi_hand *free_hand(od_queue *queue)
{
    odi_hand *empty = NULL;

    for (int each = odi_lane_hands(queue) - 1; each >= 0; each--) {
        odi_hand *hand = &queue->hands[each];

        if (hand->owner != NULL)
            continue;
        if (odi_hand_count(hand) > 0)
            return hand;
        empty = hand;
    }
    return empty;
}

/* Sync callers, which have no record, and barriers leave the lane by themselves. */
static bool belongs(const od_queue *queue, odi_entry entry)
{
    odi_record *record = odi_record_of_job(entry);

    return record != NULL &&
           (queue->gate.barriers == 0 || !(odi_record_key(record) & ODI_KEY_BARRIER));
}

static void fill(od_queue *queue, odi_hand *hand, int32_t most)
{
    odi_entry next;

    hand->next = hand->end = 0;
    while (hand->end < most && queue->early.count == 0 && odi_fifo_peek(&queue->lane, &next) &&
           belongs(queue, next))
        (void)odi_fifo_pop(&queue->lane, &hand->entries[hand->end++]);
}

void odi_lane_fill_hand(od_queue *queue, odi_lot *lot, const od_stay *drainer)
{
    int32_t most = ODI_HAND_MOST;

    if (queue->gate.width != 1) {
        int32_t half = queue->lane.count > 2 * ODI_HAND_MOST ? ODI_HAND_MOST
                                                             : (int32_t)queue->lane.count / 2;

        most = odi_load_relaxed(&queue->reach); /* relaxed: written under the lock */
        most = most < half ? most : half;
    }
    if (most == 0 || queue->raised != 0 || queue->pending_limit != 0 || queue->gate.exclusive ||
        queue->children > 0)
        return;
    have_hands(queue);
    odi_hand *hand = free_hand(queue);
    if (hand == NULL)
        return;
    if (odi_hand_count(hand) == 0) {
        if (queue->back > 0)
            return; /* another hand's are older */
        fill(queue, hand, most);
        if (hand->end == 0)
            return;
    } else
        queue->back -= (uint32_t)odi_hand_count(hand);
    hand->owner = drainer;
    hand->since = odi_load_relaxed(&queue->takes); /* relaxed: written under the lock */
    lot->hand = hand;
    lot->hand_end = odi_hand_offer(hand);
}

void odi_lane_put_down(odi_lot *lot)
{
    if (lot->hand != NULL)
        lot->hand->owner = NULL;
    lot->hand = NULL;
}

/* relaxed, both: written under the lock */
void odi_lane_measure(od_queue *queue, uint64_t ticks)
{
    int32_t reach = odi_load_relaxed(&queue->reach), before = reach;

    if (ticks < od_loop_unit())
        reach = reach >= ODI_HAND_MOST / 2 ? ODI_HAND_MOST - 1 : 2 * reach + 1;
    else if (ticks > LONG_UNITS * od_loop_unit())
        reach = 0;
    if (reach != before)
        odi_store_relaxed(&queue->reach, reach);
}
