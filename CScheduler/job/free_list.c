/* free_list.c — sharded lists of free objects, for records and arenas. The file never allocates memory. */
#include "job/free_list.h"

static void **link_of(const odi_free_list *list, void *object)
{
    return (void **)((char *)object + list->link);
}

/* Selects the thread's list by the address of a thread-local variable. The middle bits of a product depend on
 * all lower bits (multiplicative hashing; Knuth, The Art of Computer Programming, volume 3, section 6.4). */
static uint32_t own_shard(void)
{
    return (uint32_t)((uint64_t)(uintptr_t)&odi_lock_sleeper * UINT64_C(0x9E3779B97F4A7C15) >> 32) % ODI_FREE_SHARDS;
}

void *odi_free_list_take(odi_free_list *list)
{
    void *object = NULL;

    for (uint32_t i = 0, own = own_shard(); object == NULL && i < ODI_FREE_SHARDS; i++) {
        uint32_t shard = (own + i) % ODI_FREE_SHARDS;

        if (odi_load_relaxed(&list->shards[shard].first) == NULL) /* relaxed: a hint */
            continue;
        odi_lock_acquire(&list->shards[shard].lock);
        object = odi_load_relaxed(&list->shards[shard].first); /* relaxed, both: under the lock */
        if (object != NULL)
            odi_store_relaxed(&list->shards[shard].first, *link_of(list, object));
        odi_lock_release(&list->shards[shard].lock);
    }
    return object;
}

void odi_free_list_give(odi_free_list *list, void *object)
{
    uint32_t own = own_shard();

    odi_lock_acquire(&list->shards[own].lock);
    *link_of(list, object) = odi_load_relaxed(&list->shards[own].first); /* relaxed, both: under the lock */
    odi_store_relaxed(&list->shards[own].first, object);
    odi_lock_release(&list->shards[own].lock);
}

void odi_free_list_forked(odi_free_list *list)
{
    for (uint32_t i = 0; i < ODI_FREE_SHARDS; i++)
        list->shards[i].lock = (odi_lock){0};
}
