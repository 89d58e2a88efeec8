/* trace_ring.h — one thread's events, in a ring that overwrites the oldest.
 *
 * The owner never waits and never looks at its reader. The reader copies events, then looks at the head again and drops
 * those that the owner may have overwritten meanwhile. It counts them as lost.
 *
 * Owns     nothing but the words.
 * Never    knows what an event means.
 * Threads  write: the owner. copy: one reader at a time.
 *
 * Edges    V1  write -> copy       release/acquire         the words of the events below the head
 *          V2  overwrite -> copy   release fence/acquire   a word of event n shows that the head was n
 */
#ifndef ODI_OBSERVE_TRACE_RING_H
#define ODI_OBSERVE_TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"

#pragma GCC visibility push(hidden)

#ifndef ODI_TRACE_RING_EVENTS
#define ODI_TRACE_RING_EVENTS 16384
#endif

#ifndef ODI_TRACE_WORDS
#define ODI_TRACE_WORDS 4
#endif

typedef struct {
    uint64_t words[ODI_TRACE_WORDS];
} odi_trace_event;

typedef struct {
    odi_atomic(uint64_t) words[ODI_TRACE_WORDS];
} odi_trace_slot;

typedef struct {
    ODI_PAIR_ALIGNED odi_atomic(uint64_t) head; /* events written since the ring began */
    odi_trace_slot *slots;                      /* constant */
} odi_trace_ring;

/* Returns how many events were written. Owner. */
static inline uint64_t odi_trace_ring_write(odi_trace_ring *ring, const odi_trace_event *event)
{
    uint64_t head = odi_load_relaxed(&ring->head); /* relaxed: the owner's word */
    odi_trace_slot *slot = &ring->slots[head % ODI_TRACE_RING_EVENTS];

    odi_fence_release(V2);
    for (int i = 0; i < ODI_TRACE_WORDS; i++)
        odi_store_relaxed(&slot->words[i], event->words[i]); /* relaxed: V2's fence before it, V1's store after */
    odi_store_release(&ring->head, head + 1, V1);
    return head + 1;
}

/* Copies the events from number *from on, which becomes the number of the next one. Returns how many; *lost: so many
 * before them were overwritten. `events` has room for a whole ring. The reader. */
static inline size_t odi_trace_ring_copy(odi_trace_ring *ring, uint64_t *from, odi_trace_event *events, uint64_t *lost)
{
    uint64_t head = odi_load_acquire(&ring->head, V1), first = *from;

    if (head - first > ODI_TRACE_RING_EVENTS)
        first = head - ODI_TRACE_RING_EVENTS;
    for (uint64_t i = first; i < head; i++) {
        odi_trace_slot *slot = &ring->slots[i % ODI_TRACE_RING_EVENTS];

        for (int word = 0; word < ODI_TRACE_WORDS; word++)
            events[i - first].words[word] = odi_load_acquire(&slot->words[word], V2);
    }
    /* relaxed: V2's loads stand before it. The event of that number may be half written. */
    uint64_t now = odi_load_relaxed(&ring->head);
    uint64_t sound = now + 1 > ODI_TRACE_RING_EVENTS ? now + 1 - ODI_TRACE_RING_EVENTS : 0;
    sound = sound < first ? first : sound > head ? head : sound;
    for (uint64_t i = sound; i < head && sound > first; i++)
        events[i - sound] = events[i - first];
    *lost = sound - *from;
    *from = head;
    return (size_t)(head - sound);
}

#pragma GCC visibility pop

#endif
