/* arena.h — objects of one type whose memory is used for that type as long as the process lives.
 *
 * A late read of a released object finds a stale object or a new object of the same type, never foreign
 * memory. Fresh objects are zero; reused objects keep their old content. Any thread may call these functions.
 */
#ifndef ODI_JOB_ARENA_H
#define ODI_JOB_ARENA_H

#include <stddef.h>

#include "job/free_list.h"

#pragma GCC visibility push(hidden)

/* A chunk is the address of the next one, and objects from the second cache line on. */
enum { ODI_ARENA_CHUNK_BYTES = 16 * 1024 };

typedef struct odi_arena_chunk odi_arena_chunk;

typedef struct {
    size_t size; /* size of one object, a multiple of the cache line */
    odi_free_list free;
    odi_lock lock; /* protects the chunks */
    odi_arena_chunk *chunks;
} odi_arena;

#define ODI_ARENA_FOR(type) {.size = sizeof(type), .free = ODI_FREE_LIST_FOR(type)}

/* Takes an object; returns NULL if an allocation fails. */
void *odi_arena_take(odi_arena *arena);
void odi_arena_give(odi_arena *arena, void *object);

/* Calls `visit` for every object that ever existed, taken or not, without holding the lock. */
void odi_arena_visit(odi_arena *arena, void (*visit)(void *object, void *context),
                     void *context);

/* Visits all objects in a forked child, which has one thread; afterwards all locks are free. */
void odi_arena_forked(odi_arena *arena, void (*visit)(void *object));

#pragma GCC visibility pop

#endif
