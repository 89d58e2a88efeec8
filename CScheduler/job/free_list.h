/* free_list.h — lists of free objects of one type.
 *
 * There are sixteen lists, each with a lock. A thread first uses its own list, so threads that create and
 * free objects rarely contend. A thread whose list is empty takes from the other lists. Any thread may call
 * these functions.
 */
#ifndef ODI_JOB_FREE_LIST_H
#define ODI_JOB_FREE_LIST_H

#include <stddef.h>

#include "base/cache_line.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

enum { ODI_FREE_SHARDS = 16 };

typedef struct {
    size_t link; /* offset of the next object's address in a free object */
    struct {
        ODI_LINE_ALIGNED odi_lock lock;
        odi_atomic(void *) first; /* written under the lock; a hint without it */
    } shards[ODI_FREE_SHARDS];
} odi_free_list;

/* The link is the last word of an object, which users leave untouched while the object is free. */
#define ODI_FREE_LIST_FOR(type) {.link = sizeof(type) - sizeof(void *)}

/* Takes a free object. Returns NULL if there was none; a concurrent give may be missed. */
void *odi_free_list_take(odi_free_list *list);
void odi_free_list_give(odi_free_list *list, void *object);

/* In a forked child: resets the lists' locks. An object that another thread was moving is lost. */
void odi_free_list_forked(odi_free_list *list);

#pragma GCC visibility pop

#endif
