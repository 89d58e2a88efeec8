/* looks.h — reads the inner state of a queue, under the lock that its writers hold. */
#ifndef SUPPORT_LOOKS_H
#define SUPPORT_LOOKS_H

#include "Support/check.h"
#include "gate/settle.h"
#include "pool/pool.h"
#include "gate/submit.h"
#include "worker/run.h"
#include "os/thread.h"

/* Returns the value of `expression`, read under the lock. */
#define LOCKED(guard, expression)                                                         \
    __extension__({                                                                       \
        odi_lock *guard_ = (guard);                                                       \
        odi_lock_acquire(guard_);                                                         \
        __typeof__(expression) seen_ = (expression);                                      \
        odi_lock_release(guard_);                                                         \
        seen_;                                                                            \
    })

/* Returns the length of the list from `first`, linked by `next`; the lock protects the list. */
#define COUNT_OF(guard, first, next)                                                      \
    __extension__({                                                                       \
        odi_lock *guard_ = (guard);                                                       \
        int count_ = 0;                                                                   \
        odi_lock_acquire(guard_);                                                         \
        for (__typeof__(first) each_ = (first); each_ != NULL; each_ = each_->next)       \
            count_++;                                                                     \
        odi_lock_release(guard_);                                                         \
        count_;                                                                           \
    })

/* Returns the number of threads that wait for the end of the watched set. */
static inline int waiters_of(odi_watch *watch)
{
    return COUNT_OF(&watch->lock, watch->waiters, next);
}

/* Returns the value of `expression`, read under the queue's lock. */
#define LOOK(queue, expression) LOCKED(&(queue)->watch.lock, expression)

/* Returns the number of workers that are known to wait. */
static inline int blocked_in(od_pool *pool)
{
    return LOCKED(&pool->team.lock, pool->team.blocked);
}

static inline int32_t running_in(od_queue *queue)
{
    return LOOK(queue, queue->gate.held);
}

/* Returns the number of waiting entries, callers included; the inbox's part is a hint. */
static inline uint32_t waiting_in(od_queue *queue)
{
    return LOOK(queue, odi_queue_waiting(queue));
}

static inline uint32_t barriers_in(od_queue *queue)
{
    return LOOK(queue, queue->gate.barriers);
}

/* Returns the number of holders that have earmarked their permits. */
static inline int32_t away_from(od_queue *queue)
{
    return LOOK(queue, queue->gate.earmarks);
}

/* Whether a thread waits at the watch of this queue or group, and thread `id` sleeps there. The lock is
 * released, so `id` cannot sleep for it. */
static inline bool sleeps_at(odi_watch *watch, int id)
{
    return LOCKED(&watch->lock, watch->waiters != NULL) && odi_thread_sleeps(id) != 0;
}

static inline bool has_passes(od_queue *queue)
{
    return LOOK(queue, odi_queue_has_passes(queue));
}

#endif
