/* registry.c — registries of live objects for the Swift layer.
 *
 * A registry has eight shards, each with a lock, a table of objects and a free list through the table. The
 * entry freed last is reused first, because it is likely in a cache. Objects adjacent in memory use different
 * shards, so that a thread that adds and threads that remove rarely contend.
 */
#include "include/od_registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_line.h"
#include "sleep/lock.h"

enum {
    SHARD_BITS = 3,
    SHARDS = 1 << SHARD_BITS,
    FIRST_CAPACITY = 16,
    KEPT_CAPACITY = 512, /* a larger table is freed when its shard is empty */
};

/* A table entry is an object's address, or the next free entry's index with the lowest bit set. */
typedef struct {
    ODI_LINE_ALIGNED odi_lock lock;
    uint32_t count;
    uint32_t free;     /* the entry freed last, counted from 1; 0: none */
    uint32_t used;     /* entries ever taken since the table was made */
    uint32_t capacity;
    uintptr_t *places;
} shard;

struct odi_registry {
    shard shards[SHARDS];
    od_registry *next, **link; /* list of all registries of the process */
};

/* Number of forks from the first process to this one, modulo 16, stored in each handle. The caller may use
 * the handle's bits from 40 on. A parent's handle thus means nothing in a forked child. */
enum { FORKS_SHIFT = 36, FORKS_MASK = 15 };
static uint64_t forks_since;

static odi_lock all_lock; /* held across a fork */
static od_registry *all;

static shard *shard_of(od_registry *registry, uint64_t number)
{
    return &registry->shards[number & (SHARDS - 1)];
}

od_registry *od_registry_create(void)
{
    od_registry *registry = aligned_alloc(ODI_CACHE_LINE, sizeof *registry);

    if (registry == NULL)
        return NULL;
    memset(registry, 0, sizeof *registry);
    odi_lock_acquire(&all_lock);
    registry->next = all;
    registry->link = &all;
    if (all != NULL)
        all->link = &registry->next;
    all = registry;
    odi_lock_release(&all_lock);
    return registry;
}

void od_registry_release(od_registry *registry)
{
    odi_lock_acquire(&all_lock);
    *registry->link = registry->next;
    if (registry->next != NULL)
        registry->next->link = registry->link;
    odi_lock_release(&all_lock);
    for (uint32_t i = 0; i < SHARDS; i++)
        free(registry->shards[i].places);
    free(registry);
}

static bool grow(shard *here)
{
    uint32_t capacity = here->capacity == 0 ? FIRST_CAPACITY : 2 * here->capacity;
    uintptr_t *places = realloc(here->places, capacity * sizeof *places);

    if (places == NULL)
        return false;
    here->places = places;
    here->capacity = capacity;
    return true;
}

uint64_t od_registry_add(od_registry *registry, void *object)
{
    uintptr_t address = (uintptr_t)object;
    uint64_t number = (address >> 7 ^ address >> 10) & (SHARDS - 1);
    shard *here = shard_of(registry, number);
    uint32_t place;

    odi_lock_acquire(&here->lock);
    if (here->free != 0) {
        place = here->free;
        here->free = (uint32_t)(here->places[place - 1] >> 1);
    } else if (ODI_LIKELY(here->used < here->capacity) || grow(here)) {
        place = ++here->used;
    } else {
        odi_lock_release(&here->lock);
        return 0;
    }
    here->places[place - 1] = address;
    here->count++;
    odi_lock_release(&here->lock);
    return (forks_since & FORKS_MASK) << FORKS_SHIFT | (uint64_t)place << SHARD_BITS | number;
}

bool od_registry_remove(od_registry *registry, uint64_t place)
{
    shard *here = shard_of(registry, place);
    uint32_t index = (uint32_t)((place & (((uint64_t)1 << FORKS_SHIFT) - 1)) >> SHARD_BITS);
    uintptr_t *gone = NULL;
    bool is_empty;

    if (ODI_UNLIKELY((place >> FORKS_SHIFT & FORKS_MASK) != (forks_since & FORKS_MASK)))
        return true; /* the parent's entry */
    odi_lock_acquire(&here->lock);
    here->places[index - 1] = (uintptr_t)here->free << 1 | 1;
    here->free = index;
    is_empty = --here->count == 0;
    if (ODI_UNLIKELY(is_empty && here->capacity > KEPT_CAPACITY)) {
        gone = here->places;
        here->places = NULL;
        here->capacity = here->used = here->free = 0;
    }
    odi_lock_release(&here->lock);
    free(gone);
    return is_empty;
}

size_t od_registry_count(od_registry *registry)
{
    size_t count = 0;

    for (uint32_t i = 0; i < SHARDS; i++) {
        odi_lock_acquire(&registry->shards[i].lock);
        count += registry->shards[i].count;
        odi_lock_release(&registry->shards[i].lock);
    }
    return count;
}

/* Holds all shards' locks at once: an entry counted one shard at a time could move from an unread shard to a
 * read one. */
bool od_registry_is_empty(od_registry *registry)
{
    uint32_t held = 0;
    bool is_empty = true;

    while (is_empty && held < SHARDS) {
        odi_lock_acquire(&registry->shards[held].lock);
        is_empty = registry->shards[held++].count == 0;
    }
    while (held > 0)
        odi_lock_release(&registry->shards[--held].lock);
    return is_empty;
}

void od_registry_each(od_registry *registry, void (*visit)(void *context, void *object),
                      void *context)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        shard *here = &registry->shards[i];

        odi_lock_acquire(&here->lock);
        for (uint32_t place = 0; place < here->used; place++)
            if ((here->places[place] & 1) == 0)
                visit(context, (void *)here->places[place]);
        odi_lock_release(&here->lock);
    }
}

/* ---- in a forked child ---- */

static void before_fork(void)
{
    odi_lock_acquire(&all_lock);
}

static void after_in_parent(void)
{
    odi_lock_release(&all_lock);
}

/* Another thread may have been changing a shard: its table stays the parent's, and the child's shard starts
 * empty. A shard that was never used is not written. */
static void after_in_child(void)
{
    for (od_registry *each = all; each != NULL; each = each->next) {
        for (uint32_t i = 0; i < SHARDS; i++) {
            shard *here = &each->shards[i];

            /* relaxed: one thread exists */
            if (here->count != 0 || here->used != 0 || here->capacity != 0 || odi_load_relaxed(&here->lock.both) != 0)
                *here = (shard){.places = NULL};
        }
    }
    all_lock = (odi_lock){0};
    forks_since++;
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(before_fork, after_in_parent, after_in_child);
}
