#include "job/arena.h"

#include "os/pages.h"

enum { CHUNK_BYTES = 16 * 1024 };

struct odi_arena_chunk {
    odi_arena_chunk *next;
    ODI_LINE_ALIGNED char objects[CHUNK_BYTES - ODI_CACHE_LINE];
};

/* The free list's link is the last word of an object, which its users leave to it. */
static void **link_of(const odi_arena *arena, void *object)
{
    return (void **)((char *)object + arena->size - sizeof(void *));
}

static size_t per_chunk(const odi_arena *arena)
{
    return sizeof(((odi_arena_chunk *)0)->objects) / arena->size;
}

static void chain(odi_arena *arena, void *object)
{
    *link_of(arena, object) = arena->free;
    arena->free = object;
}

static void grow(odi_arena *arena)
{
    odi_arena_chunk *chunk = odi_pages_new(sizeof *chunk, ODI_ANY_NODE);

    if (chunk == NULL)
        return;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    for (size_t i = per_chunk(arena); i-- > 0;)
        chain(arena, chunk->objects + i * arena->size);
}

void *odi_arena_take(odi_arena *arena)
{
    odi_lock_acquire(&arena->lock);
    if (arena->free == NULL)
        grow(arena);
    void *object = arena->free;
    if (object != NULL)
        arena->free = *link_of(arena, object);
    odi_lock_release(&arena->lock);
    return object;
}

void odi_arena_give(odi_arena *arena, void *object)
{
    odi_lock_acquire(&arena->lock);
    chain(arena, object);
    odi_lock_release(&arena->lock);
}

void odi_arena_visit(odi_arena *arena, void (*visit)(void *object, void *context),
                     void *context)
{
    odi_lock_acquire(&arena->lock);
    odi_arena_chunk *chunk = arena->chunks; /* chunks are added in front and never go */
    odi_lock_release(&arena->lock);
    for (; chunk != NULL; chunk = chunk->next) {
        for (size_t i = 0; i < per_chunk(arena); i++)
            visit(chunk->objects + i * arena->size, context);
    }
}

void odi_arena_forked(odi_arena *arena, void (*visit)(void *object))
{
    arena->lock = (odi_lock){0};
    for (odi_arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->next) {
        for (size_t i = 0; i < per_chunk(arena); i++)
            visit(chunk->objects + i * arena->size);
    }
}
