/* roster.c — what a queue of the layer above has not finished.
 *
 * Eight shards, each with a lock, a table of objects and, through its free places, a list. Whose
 * place was given up last comes first: a place that is used again is in somebody's cache. Objects
 * that follow each other in memory are on different shards, so that a thread that adds and threads
 * that remove seldom meet.
 */
#include "include/od_roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache_line.h"
#include "sleep/lock.h"

enum {
    SHARD_BITS = 3,
    SHARDS = 1 << SHARD_BITS,
    FIRST_CAPACITY = 16,
    KEPT_CAPACITY = 512, /* a table that is larger goes when its shard is empty */
};

/* A place: an object, or the next free place and a bit that says so. */
typedef struct {
    ODI_LINE_ALIGNED odi_lock lock;
    uint32_t count;
    uint32_t free;     /* the place given up last, from 1; 0: none */
    uint32_t used;     /* places that were ever taken since the table was made */
    uint32_t capacity;
    uintptr_t *places;
} shard;

struct odi_roster {
    shard shards[SHARDS];
};

static shard *shard_of(od_roster *roster, uint64_t number)
{
    return &roster->shards[number & (SHARDS - 1)];
}

od_roster *od_roster_create(void)
{
    od_roster *roster = aligned_alloc(ODI_CACHE_LINE, sizeof *roster);

    if (roster != NULL)
        memset(roster, 0, sizeof *roster);
    return roster;
}

void od_roster_release(od_roster *roster)
{
    for (uint32_t i = 0; i < SHARDS; i++)
        free(roster->shards[i].places);
    free(roster);
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

uint64_t od_roster_add(od_roster *roster, void *object)
{
    uintptr_t address = (uintptr_t)object;
    uint64_t number = (address >> 7 ^ address >> 10) & (SHARDS - 1);
    shard *here = shard_of(roster, number);
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
    return (uint64_t)place << SHARD_BITS | number;
}

bool od_roster_remove(od_roster *roster, uint64_t place)
{
    shard *here = shard_of(roster, place);
    uint32_t index = (uint32_t)(place >> SHARD_BITS);
    uintptr_t *gone = NULL;
    bool is_empty;

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

size_t od_roster_count(od_roster *roster)
{
    size_t count = 0;

    for (uint32_t i = 0; i < SHARDS; i++) {
        odi_lock_acquire(&roster->shards[i].lock);
        count += roster->shards[i].count;
        odi_lock_release(&roster->shards[i].lock);
    }
    return count;
}

/* All shards at once, from the first to the last: what is counted one after another may have moved on
 * from a shard that is still to be looked at to one that was. */
bool od_roster_is_empty(od_roster *roster)
{
    uint32_t held = 0;
    bool is_empty = true;

    while (is_empty && held < SHARDS) {
        odi_lock_acquire(&roster->shards[held].lock);
        is_empty = roster->shards[held++].count == 0;
    }
    while (held > 0)
        odi_lock_release(&roster->shards[--held].lock);
    return is_empty;
}

void od_roster_each(od_roster *roster, void (*visit)(void *context, void *object),
                    void *context)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        shard *here = &roster->shards[i];

        odi_lock_acquire(&here->lock);
        for (uint32_t place = 0; place < here->used; place++)
            if ((here->places[place] & 1) == 0)
                visit(context, (void *)here->places[place]);
        odi_lock_release(&here->lock);
    }
}
