/* od_external.h — fork and join on threads that are not workers: their pool, and the context that their
 * branches inherit. */
#ifndef OD_EXTERNAL_H
#define OD_EXTERNAL_H

#include "od_fork.h"
#include "od_pool.h"

OD_BEGIN_DECLS

/* Returns the pool in which a thread that is not a worker forks. The first such fork creates the pool, with
 * the options of the environment. A program may define this function itself. If the function returns NULL,
 * each fork runs on the thread that forked. */
od_pool *od_default_pool(void);

/* Returns the value of od_thread_work for a thread that takes a branch from the calling thread. The engine
 * calls it at each root fork; the default is the calling thread's own value. A program may define this
 * function to add context that it sets by other means. */
void *od_fork_root_work(void);

/* Sets the value of od_thread_work to `work` and returns the previous value, for od_work_leave. Branches that
 * the calling thread forks in between inherit `work` on every thread. The caller joins these branches before
 * od_work_leave. */
void *od_work_enter(void *work);
void od_work_leave(void *outer);

/* Makes the calling thread an external thread of `pool` until the matching od_forks_leave. A worker of
 * another pool may call this as well. The call changes nothing if the thread is a worker of `pool`. If the
 * pool has no free slot for the thread, its forks run on the thread itself. */
typedef struct od_fork_scope od_fork_scope;
struct od_fork_scope {
    od_forks *outer, *here;
};
void od_forks_enter(od_pool *pool, od_fork_scope *scope);
void od_forks_leave(od_fork_scope *scope);

OD_END_DECLS
#endif
