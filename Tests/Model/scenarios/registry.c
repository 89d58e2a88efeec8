/* registry.c — one that goes has brought the next before (job/registry.c): whoever looks meanwhile whether nobody is
 * there sees one of the two, on whichever shards they are.
 */
#include "doubles/lock.h"

#include "job/registry.c"

#include "model/scenario.h"

enum { PLACES = 2 };

static od_registry registry;
static uintptr_t rooms[SHARDS][PLACES];
static uint64_t first;

/* The shard is in its address. */
static void *object_on(uintptr_t which) { return (void *)(which << 7); }

static void one_is_there(void)
{
    for (int i = 0; i < SHARDS; i++) {
        registry.shards[i].places = rooms[i];
        registry.shards[i].capacity = PLACES;
    }
    first = od_registry_add(&registry, object_on(SHARDS - 1));
}

static void brings_the_next(void)
{
    (void)od_registry_add(&registry, object_on(1));
    model_check(od_registry_remove(&registry, first));
}

static void looks(void) { model_check(!od_registry_is_empty(&registry)); }
static void one_is_left(void) { model_check(od_registry_count(&registry) == 1); }

MODEL_SCENARIO(registry_is_never_empty, one_is_there, one_is_left, brings_the_next, looks)
MODEL_REACHES(registry_is_never_empty, model_met(1, "odi_lock_acquire") == 2)
