/* free_list.h — objects of one kind that nobody uses.
 *
 * Sixteen lists, each with a lock: a thread gives to its own and takes from it first, so that threads that make and end
 * objects seldom meet. None is lost to the others: who finds its own list empty takes from theirs.
 *
 * Threads  anyone.
 */
#ifndef ODI_JOB_FREE_LIST_H
#define ODI_JOB_FREE_LIST_H

#include <stddef.h>

#include "base/cache_line.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

enum { ODI_FREE_SHARDS = 16 };

typedef struct {
    size_t link; /* where in a free object the next one's address is */
    struct {
        ODI_LINE_ALIGNED odi_lock lock;
        odi_atomic(void *) first; /* under the lock; a hint without it */
    } shards[ODI_FREE_SHARDS];
} odi_free_list;

/* Chained through the last word of an object, which its users leave to the list while it is free. */
#define ODI_FREE_LIST_FOR(type) {.link = sizeof(type) - sizeof(void *)}

/* NULL: there is none, but for what others give meanwhile. */
void *odi_free_list_take(odi_free_list *list);
void odi_free_list_give(odi_free_list *list, void *object);

/* In a forked child, where what another thread was about to give or had taken is lost. */
void odi_free_list_forked(odi_free_list *list);

#pragma GCC visibility pop

#endif
