/* looks.h — looks into a queue. What is read there is read under the lock that its writers hold. */
#ifndef SUPPORT_LOOKS_H
#define SUPPORT_LOOKS_H

#include "Support/check.h"
#include "gate/settle.h"
#include "pool/pool.h"
#include "gate/submit.h"
#include "worker/run.h"
#include "os/thread.h"

/* The value of `expression` under the lock. */
#define LOCKED(guard, expression)                                                         \
    __extension__({                                                                       \
        odi_lock *guard_ = (guard);                                                       \
        odi_lock_acquire(guard_);                                                         \
        __typeof__(expression) seen_ = (expression);                                      \
        odi_lock_release(guard_);                                                         \
        seen_;                                                                            \
    })

/* How many stand in the list from `first` on, by their `next`, which the lock protects. */
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

/* Threads that wait for the end of what is watched. */
static inline int waiters_of(odi_watch *watch)
{
    return COUNT_OF(&watch->lock, watch->waiters, next);
}

/* The value of `expression` while nobody changes the queue's line. */
#define LOOK(queue, expression) LOCKED(&(queue)->watch.lock, expression)

/* Workers that are known to wait. */
static inline int blocked_in(od_pool *pool)
{
    return LOCKED(&pool->team.lock, pool->team.blocked);
}

static inline int32_t running_in(od_queue *queue)
{
    return LOOK(queue, queue->gate.held);
}

/* Entries of the line, callers too; the inbox's are a hint. */
static inline uint32_t waiting_in(od_queue *queue)
{
    return LOOK(queue, odi_queue_waiting(queue));
}

static inline uint32_t barriers_in(od_queue *queue)
{
    return LOOK(queue, queue->gate.barriers);
}

/* Holders that have earmarked their permits. */
static inline int32_t away_from(od_queue *queue)
{
    return LOOK(queue, queue->gate.earmarks);
}

/* Whether somebody waits for the queue or group whose watch this is, and thread `id` sleeps there: nobody else
 * has a lock that it could sleep for, once this one is released. */
static inline bool sleeps_at(odi_watch *watch, int id)
{
    return LOCKED(&watch->lock, watch->waiters != NULL) && odi_thread_sleeps(id) != 0;
}

static inline bool has_passes(od_queue *queue)
{
    return LOOK(queue, odi_queue_has_passes(queue));
}

#endif
