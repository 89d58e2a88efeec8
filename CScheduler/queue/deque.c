/* deque.c — the work-stealing deque of a worker; deque.h states the algorithm, its edges and its invariants. */
#include "queue/deque.h"

#include "base/invariant.h"
#include "os/membarrier.h"
#include "os/pages.h"

struct odi_ring {
    odi_retired retired; /* first member: the reclaimer returns this address */
    size_t bytes; /* size at allocation: the owner may have moved to another node since */
    int64_t capacity;
    odi_slot slots[];
};

/* Indices wrap: arithmetic is unsigned, and a comparison uses the sign of the difference. */
static int64_t plus(int64_t index, int64_t n)
{
    return (int64_t)((uint64_t)index + (uint64_t)n);
}

static int64_t distance(int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

/* The address of this variable identifies the thread. */
static _Thread_local char this_thread;

/* Checks the caller in test builds only, because the check would make a push 10 % slower. */
static void by_owner(const odi_deque *deque)
{
#ifdef ODI_CHECKED
    odi_invariant(deque->owner == NULL || deque->owner == &this_thread);
#else
    (void)deque;
#endif
}

static size_t ring_bytes(const odi_deque *deque, int64_t capacity)
{
    return odi_pages_size(sizeof(odi_ring) + (size_t)capacity * sizeof(odi_slot), deque->node);
}

static odi_ring *ring_new(odi_deque *deque, int64_t capacity)
{
    size_t bytes = ring_bytes(deque, capacity);
    odi_ring *ring = odi_pages_new(bytes, deque->node);

    if (ring != NULL) {
        ring->bytes = bytes;
        ring->capacity = capacity;
    }
    return ring;
}

static odi_slot *slot_at(odi_ring *ring, int64_t index)
{
    return &ring->slots[index & (ring->capacity - 1)];
}

/* relaxed, D1 or D2 carries it: the slot is written before bottom or the ring pointer publishes it. */
static void slot_write(odi_ring *ring, int64_t index, odi_entry entry)
{
    odi_slot *slot = slot_at(ring, index);

    odi_store_relaxed(&slot->code, entry.code);
    odi_store_relaxed(&slot->context, entry.context);
}

/* relaxed, D1 and D2 carry it; the CAS on top rejects a stale read. */
static odi_entry slot_read(odi_ring *ring, int64_t index)
{
    odi_slot *slot = slot_at(ring, index);

    return (odi_entry){odi_load_relaxed(&slot->code), odi_load_relaxed(&slot->context)};
}

static void free_ring(odi_ring *ring)
{
    if (ring != NULL)
        odi_pages_free(ring, ring->bytes);
}

/* Called by the reclaimer: no thief can read the ring now. */
static void retirement_ends(odi_retired *retired)
{
    free_ring((odi_ring *)retired);
}

void odi_deque_init(odi_deque *deque, int64_t start, int node)
{
    odi_store_relaxed(&deque->top, start); /* relaxed: no other thread knows the deque yet */
    odi_store_relaxed(&deque->bottom, start);
    odi_store_relaxed(&deque->ring, (odi_ring *)NULL);
    deque->top_seen = start;
    deque->node = node;
    deque->owner = NULL;
    odi_store_relaxed(&deque->growths, 0);
}

void odi_deque_adopt(odi_deque *deque)
{
    deque->owner = &this_thread;
}

void odi_deque_free(odi_deque *deque)
{
    free_ring(odi_load_relaxed(&deque->ring)); /* relaxed, owner-only: no thread steals */
}

/* Replaces the ring by a ring of `capacity` slots that holds [top, bottom). Returns false if out of memory. */
static bool replace_ring(odi_deque *deque, int64_t capacity)
{
    odi_ring *old = odi_load_relaxed(&deque->ring);       /* relaxed, owner-only word */
    int64_t bottom = odi_load_relaxed(&deque->bottom);    /* relaxed, owner-only word */
    /* relaxed: no thread takes from the new ring yet, and a writer to it uses top_seen (D3) */
    int64_t top = odi_load_relaxed(&deque->top);
    odi_ring *ring = ring_new(deque, capacity);

    if (ring == NULL)
        return false;
    odi_invariant(distance(top, bottom) <= capacity);
    for (int64_t i = top; i != bottom; i = plus(i, 1))
        slot_write(ring, i, slot_read(old, i));
    odi_store_release(&deque->ring, ring, D2);
    if (old != NULL)
        odi_retire(&old->retired, retirement_ends);
    return true;
}

/* The ring seems full. Either takers have made room since the last read of top, or the ring must grow. */
ODI_COLD static bool make_room(odi_deque *deque)
{
    odi_ring *ring = odi_load_relaxed(&deque->ring); /* relaxed, owner-only word */
    int64_t capacity = ODI_DEQUE_MINIMUM;

    if (ring != NULL) {
        deque->top_seen = odi_load_acquire(&deque->top, D3);
        /* relaxed, owner-only word */
        if (distance(deque->top_seen, odi_load_relaxed(&deque->bottom)) < ring->capacity)
            return true;
        capacity = ring->capacity * 2;
    }
    if (capacity > ODI_DEQUE_MAXIMUM || !replace_ring(deque, capacity))
        return false;
    odi_store_relaxed(&deque->growths, odi_load_relaxed(&deque->growths) + 1); /* one writer */
    return true;
}

bool odi_deque_make_ring(odi_deque *deque)
{
    by_owner(deque);
    return replace_ring(deque, ODI_DEQUE_MINIMUM);
}

bool odi_deque_push(odi_deque *deque, odi_entry entry)
{
    int64_t bottom = odi_load_relaxed(&deque->bottom); /* relaxed, owner-only word */
    odi_ring *ring = odi_load_relaxed(&deque->ring);   /* relaxed, owner-only word */

    by_owner(deque);
    if (ODI_UNLIKELY(ring == NULL || distance(deque->top_seen, bottom) >= ring->capacity)) {
        if (!make_room(deque))
            return false;
        ring = odi_load_relaxed(&deque->ring); /* relaxed, owner-only: just replaced */
    }
    slot_write(ring, bottom, entry);
    odi_store_release(&deque->bottom, plus(bottom, 1), D1);
    return true;
}

bool odi_deque_take(odi_deque *deque, odi_entry *entry)
{
    int64_t bottom = odi_load_relaxed(&deque->bottom); /* relaxed, owner-only word */
    int64_t top = odi_load_relaxed(&deque->top);       /* relaxed, rechecked by the CAS */
    odi_ring *ring = odi_load_relaxed(&deque->ring);   /* relaxed, owner-only word */

    by_owner(deque);
    /* A failed CAS has loaded the new top. The loop ends: each failure is a thief's success, and only the
     * owner adds entries. */
    while (distance(top, bottom) > 0) {
        *entry = slot_read(ring, top);
        /* D4, relaxed: the owner wrote the slot itself. D3 orders its later overwrite against thieves, which
         * lose this CAS if they read the slot late. */
        if (odi_cas_relaxed(&deque->top, &top, plus(top, 1)))
            return true;
    }
    return false;
}

/* Takes all remaining entries in one step, because the newest cannot be kept from thieves otherwise. Pushes
 * the other entries back. */
static bool take_all_but_keep(odi_deque *deque, int64_t top, int64_t bottom, odi_entry *entry)
{
    odi_ring *ring = odi_load_relaxed(&deque->ring); /* relaxed, owner-only word */
    odi_entry entries[ODI_STEAL_BATCH];
    int64_t count;

    /* A failed CAS has loaded the new top, as in odi_deque_take. */
    while ((count = distance(top, bottom)) > 0) {
        odi_invariant(count <= ODI_STEAL_BATCH);
        for (int64_t i = 0; i < count; i++)
            entries[i] = slot_read(ring, plus(top, i));
        if (odi_cas_relaxed(&deque->top, &top, bottom)) /* D4, relaxed: as in odi_deque_take */
            break;
    }
    if (count <= 0)
        return false;
    for (int64_t i = 0; i < count - 1; i++)
        (void)odi_deque_push(deque, entries[i]); /* into an empty ring with more capacity */
    *entry = entries[count - 1];
    return true;
}

/* Lowers bottom first. A thief that read the old bottom starts at the top read after the fence, or its CAS
 * fails. It therefore cannot reach an index that is one steal batch beyond that top. */
static bool take_newest(odi_deque *deque, odi_entry *entry)
{
    int64_t bottom = odi_load_relaxed(&deque->bottom); /* relaxed, owner-only word */
    int64_t top = odi_load_relaxed(&deque->top);       /* relaxed, rechecked after the fence */
    int64_t newest = plus(bottom, -1);
    odi_ring *ring = odi_load_relaxed(&deque->ring);   /* relaxed, owner-only word */

    if (distance(top, newest) >= ODI_STEAL_BATCH) {
        odi_store_release(&deque->bottom, newest, D1); /* a thread that reads this bottom can also read the
                                                          entries below it */
        odi_fence_heavy(D6);
        top = odi_load_relaxed(&deque->top); /* relaxed: D6's fence orders it, and the owner wrote the slot
                                                itself */
        if (distance(top, newest) >= ODI_STEAL_BATCH) {
            *entry = slot_read(ring, newest);
            return true;
        }
        odi_store_release(&deque->bottom, bottom, D1);
    }
    return take_all_but_keep(deque, top, bottom, entry);
}

bool odi_deque_take_wanted(odi_deque *deque, odi_wanted *wanted, const void *context,
                           odi_entry *entry)
{
    int64_t bottom = odi_load_relaxed(&deque->bottom); /* relaxed, owner-only word */
    int64_t top = odi_load_relaxed(&deque->top);       /* relaxed, rechecked by the CAS */
    odi_ring *ring = odi_load_relaxed(&deque->ring);   /* relaxed, owner-only word */

    by_owner(deque);
    while (distance(top, bottom) > 0 && wanted(*entry = slot_read(ring, top), context)) {
        if (odi_cas_relaxed(&deque->top, &top, plus(top, 1))) /* D4, relaxed: as above */
            return true;
    }
    /* The newest entry cannot change before it is taken: only the owner adds entries. */
    return distance(top, bottom) > 0 && wanted(slot_read(ring, plus(bottom, -1)), context) &&
           take_newest(deque, entry);
}

size_t odi_deque_steal(odi_deque *deque, odi_entry *entries, size_t most)
{
    int64_t top = odi_load_relaxed(&deque->top);           /* relaxed, rechecked by the CAS */
    odi_fence_light(D6);
    int64_t bottom = odi_load_acquire(&deque->bottom, D1);
    int64_t available = distance(top, bottom);

    if (available <= 0)
        return 0;
    odi_ring *ring = odi_load_acquire(&deque->ring, D2);

    size_t count = (size_t)(available + 1) / 2;
    if (count > most)
        count = most;
    /* Read before the CAS, because the owner may overwrite these slots after it. A stale top may make `count`
     * larger than the ring. The slots then hold garbage and the CAS fails, because top only grows. */
    for (size_t i = 0; i < count; i++)
        entries[i] = slot_read(ring, plus(top, (int64_t)i));
    /* D4 wins the whole range at once; a take at the new end stays out of a batch's reach (D6). D3 publishes
     * that the reads above have finished. */
    return odi_cas_release(&deque->top, &top, plus(top, (int64_t)count), D3) ? count : 0;
}

size_t odi_deque_size(odi_deque *deque)
{
    /* An owner that takes behind a release fence has pushed before, so D3 makes its remaining entries visible
     * here. */
    int64_t top = odi_load_acquire(&deque->top, D3);
    int64_t size = distance(top, odi_load_relaxed(&deque->bottom)); /* relaxed: a hint, rechecked when used */

    return size > 0 ? (size_t)size : 0;
}

void odi_deque_shrink(odi_deque *deque)
{
    odi_ring *ring = odi_load_relaxed(&deque->ring); /* relaxed, owner-only word */

    by_owner(deque);
    /* Growth retires at most as much memory as the new ring has. Repeated shrinking and growing has no such
     * bound. */
    if (ring == NULL || ring->capacity <= ODI_DEQUE_MINIMUM || odi_deque_size(deque) > 0 ||
        odi_reclaim_is_behind())
        return;
    (void)replace_ring(deque, ODI_DEQUE_MINIMUM); /* out of memory: the large ring stays in use */
}
