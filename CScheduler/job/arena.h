/* arena.h — objects of one kind whose memory serves that kind for as long as the process.
 *
 * Who looks at such an object after it was given back sees a stale object or a new one of
 * the same kind, never foreign memory. Fresh objects are zero; used ones are as they were
 * left.
 *
 * Threads  anyone.
 */
#ifndef ODI_JOB_ARENA_H
#define ODI_JOB_ARENA_H

#include <stddef.h>

#include "job/free_list.h"

#pragma GCC visibility push(hidden)

typedef struct odi_arena_chunk odi_arena_chunk;

typedef struct {
    size_t size; /* of one object, a multiple of the cache line */
    odi_free_list free;
    odi_lock lock; /* of the chunks */
    odi_arena_chunk *chunks;
} odi_arena;

#define ODI_ARENA_FOR(type) {.size = sizeof(type), .free = ODI_FREE_LIST_FOR(type)}

/* NULL when memory is short. */
void *odi_arena_take(odi_arena *arena);
void odi_arena_give(odi_arena *arena, void *object);

/* Calls `visit` for every object there ever was, taken or not, without holding the lock. */
void odi_arena_visit(odi_arena *arena, void (*visit)(void *object, void *context),
                     void *context);

/* The same for a forked child, which is alone; the locks are free afterwards. */
void odi_arena_forked(odi_arena *arena, void (*visit)(void *object));

#pragma GCC visibility pop

#endif
