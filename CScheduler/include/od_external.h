/* od_external.h — threads that are no workers, and fork: in which pool, and what their branches inherit. */
#ifndef OD_EXTERNAL_H
#define OD_EXTERNAL_H

#include "od_fork.h"
#include "od_pool.h"

OD_BEGIN_DECLS

/* The pool that a thread which is no worker forks in: made at the first such fork, with the
 * options of the environment. A program may define its own. NULL: forks run where they are. */
od_pool *od_default_pool(void);

/* What od_thread_work is on a thread that takes a branch from the calling one, asked at each root:
 * the calling thread's. A program may define its own, which adds to that what is current there by
 * other ways than od_thread_set_work. */
void *od_fork_root_work(void);

/* Makes `work` what od_thread_work says, until od_work_leave gets what this returns. Branches that the
 * calling thread forks meanwhile inherit it, wherever they run, and are joined before od_work_leave. */
void *od_work_enter(void *work);
void od_work_leave(void *outer);

/* Makes the calling thread an external thread of `pool` until the matching od_forks_leave, also where it
 * is a worker of another. Nothing changes when it is a worker of
 * the pool already, or there is no room (its forks run where they are). */
typedef struct od_fork_scope od_fork_scope;
struct od_fork_scope {
    od_forks *outer, *here;
};
void od_forks_enter(od_pool *pool, od_fork_scope *scope);
void od_forks_leave(od_fork_scope *scope);

OD_END_DECLS
#endif
