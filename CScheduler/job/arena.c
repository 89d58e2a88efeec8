/* arena.c — allocates objects of one type in chunks of 16 KiB that are never returned to the system. Groups,
 * queues and semaphores use it. */
#include "job/arena.h"

#include "os/pages.h"

struct odi_arena_chunk {
    odi_arena_chunk *next;
    ODI_LINE_ALIGNED char objects[ODI_ARENA_CHUNK_BYTES - ODI_CACHE_LINE];
};

static size_t per_chunk(const odi_arena *arena)
{
    return sizeof(((odi_arena_chunk *)0)->objects) / arena->size;
}

/* Allocates a chunk. Returns one of its objects and frees the others; NULL if the allocation fails. */
static void *grow(odi_arena *arena)
{
    odi_arena_chunk *chunk = odi_pages_new(sizeof *chunk, ODI_ANY_NODE);

    if (chunk == NULL)
        return NULL;
    odi_lock_acquire(&arena->lock);
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    odi_lock_release(&arena->lock);
    for (size_t i = per_chunk(arena); i-- > 1;)
        odi_free_list_give(&arena->free, chunk->objects + i * arena->size);
    return chunk->objects;
}

void *odi_arena_take(odi_arena *arena)
{
    void *object = odi_free_list_take(&arena->free);

    return object != NULL ? object : grow(arena);
}

void odi_arena_give(odi_arena *arena, void *object)
{
    odi_free_list_give(&arena->free, object);
}

void odi_arena_visit(odi_arena *arena, void (*visit)(void *object, void *context),
                     void *context)
{
    odi_lock_acquire(&arena->lock);
    odi_arena_chunk *chunk = arena->chunks; /* chunks are added in front and never removed */
    odi_lock_release(&arena->lock);
    for (; chunk != NULL; chunk = chunk->next) {
        for (size_t i = 0; i < per_chunk(arena); i++)
            visit(chunk->objects + i * arena->size, context);
    }
}

void odi_arena_forked(odi_arena *arena, void (*visit)(void *object))
{
    odi_free_list_forked(&arena->free);
    arena->lock = (odi_lock){0};
    for (odi_arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->next) {
        for (size_t i = 0; i < per_chunk(arena); i++)
            visit(chunk->objects + i * arena->size);
    }
}
