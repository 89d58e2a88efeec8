/* roster.c — one that goes has brought the next before (lane/roster.c): whoever looks meanwhile whether nobody is
 * there sees one of the two, on whichever shards they are.
 */
#include "doubles/lock.h"

#include "lane/roster.c"

#include "model/scenario.h"

enum { PLACES = 2 };

static od_roster roster;
static uintptr_t rooms[SHARDS][PLACES];
static uint64_t first;

/* The shard is in its address. */
static void *object_on(uintptr_t which)
{
    return (void *)(which << 7);
}

static void one_is_there(void)
{
    for (int i = 0; i < SHARDS; i++) {
        roster.shards[i].places = rooms[i];
        roster.shards[i].capacity = PLACES;
    }
    first = od_roster_add(&roster, object_on(SHARDS - 1));
}

static void brings_the_next(void)
{
    (void)od_roster_add(&roster, object_on(1));
    model_check(od_roster_remove(&roster, first));
}

static void looks(void)
{
    model_check(!od_roster_is_empty(&roster));
}

static void one_is_left(void)
{
    model_check(od_roster_count(&roster) == 1);
}

MODEL_SCENARIO(roster_is_never_empty, one_is_there, one_is_left, brings_the_next, looks)
