/* program.h — a random program: what it is made of, and what it does.
 *
 * A program is a tree of operations. Threads have scripts; closures, sections and sync calls have bodies.
 * Whatever waits in it waits for something of a higher rank than all that it holds (generate.c), so a
 * program ends on any machine: one that does not is a finding, unless more of its jobs wait than there
 * are threads and the pool says so.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "include/od_queue.h"

enum { QUEUES = 6, GROUPS = 3, SEMAPHORES = 2, THREADS = 3, OPS = 128, NONE = -1 };

/* NAME, its word, and whether what it has below it is a closure of its own. */
#define RANDOM_KINDS(X)                                                                       \
    X(ASYNC, "async", 1)             /* a closure, perhaps a barrier, perhaps in a group */     \
    X(TRY, "try-async", 1)           /* refused where the queue is full */                      \
    X(TASK, "task", 1)               /* a closure that hears of being discarded */              \
    X(BATCH, "batch", 0)             /* its children are submitted together */                  \
    X(MEMBER, "member", 1)           /* one of them */                                          \
    X(SUBMIT, "submit", 1)           /* to the pool, in no queue */                             \
    X(SYNC, "sync", 0)                                                                          \
    X(SYNC_BARRIER, "sync-barrier", 0)                                                          \
    X(SUSPENDED, "suspended", 0)     /* suspend, the body, resume */                            \
    X(ENTERED, "entered", 0)         /* enter, the body, leave */                               \
    X(ENTER_ASYNC, "enter-async", 1) /* enter; the closure leaves */                            \
    X(GROUP_WAIT, "group-wait", 0)                                                              \
    X(GROUP_TIMED, "group-wait-timed", 0)                                                       \
    X(GROUP_NOTIFY, "group-notify", 0)                                                          \
    X(OWN_GROUP, "own-group", 0)     /* the children in a group of its own, and the wait for it */ \
    X(QUEUE_WAIT, "queue-wait", 0)                                                              \
    X(QUEUE_TIMED, "queue-wait-timed", 0)                                                       \
    X(QUEUE_NOTIFY, "queue-notify", 0)                                                          \
    X(PERMIT, "permit", 0)           /* a semaphore around the body */                          \
    X(PERMIT_TIMED, "permit-timed", 0)                                                          \
    X(HANDSHAKE, "handshake", 1)     /* a closure that signals, and the wait for that */        \
    X(TIMER, "timer", 1)                                                                        \
    X(TIMER_ELSEWHERE, "timer-elsewhere", 1)                                                    \
    X(CANCEL_TIMER, "cancel-timer", 0)                                                          \
    X(CANCEL_ITEM, "cancel-item", 0)                                                            \
    X(CANCEL_QUEUE, "cancel-queue", 0)                                                          \
    X(ACTIVATE, "activate", 0)                                                                  \
    X(COMPUTE, "compute", 0)                                                                    \
    X(SLEEP, "sleep", 0)                                                                        \
    X(SAY_SLEEP, "say-and-sleep", 0)                                                            \
    X(LOOK, "look", 0)                                                                          \
    X(JOIN, "join", 0)               /* the children are branches, which thieves may take */    \
    X(CHILD, "child", 0)             /* forks a process whose jobs run on the same pool */      \
    X(STOP, "stop", 0)

typedef enum kind {
#define RANDOM_KIND(name, word, closure) name,
    RANDOM_KINDS(RANDOM_KIND)
#undef RANDOM_KIND
    KINDS
} kind;

typedef struct op {
    kind kind;
    int queue, group, band; /* NONE: none. A semaphore's number is its group. */
    bool barrier;
    uint32_t amount; /* microseconds, calls, permits: the kind says */
    int subject;     /* the timer or task that it cancels */
    int first, next; /* what is below it, and beside it */
    bool gone;       /* the shrinker has taken it away, and all that is below it */
} op;

typedef struct queue_plan {
    int32_t width;
    int target; /* an earlier queue, or NONE */
    uint32_t pending_limit;
    od_overflow overflow;
    bool inactive;                        /* until thread 0 has begun */
    bool cancels, barriers, suspends;     /* some operation may */
} queue_plan;

typedef struct program {
    uint64_t seed;
    int workers, spares, cpus;
    int queues, groups, semaphores, threads, ops;
    bool stops;     /* the pool is stopped in the middle */
    bool may_stall; /* more jobs may wait than there are spares */
    bool strict;    /* jobs wait for groups of their own alone */
    bool drains;    /* at the end all queues are waited for before the pool stops */
    queue_plan queue[QUEUES];
    int group_rank[GROUPS]; /* see rank_of */
    uint32_t permits[SEMAPHORES];
    int script[THREADS];
    op op[OPS];
} program;

/* What is waited for in a circle has no order: queues by number, groups between them. */
static inline int rank_of(int queue)
{
    return 2 * queue + 1;
}

static inline uint32_t bit(int number)
{
    return UINT32_C(1) << number;
}

/* The queue and its targets, as bits. */
uint32_t chain_of(const program *it, int queue);

/* Of the outermost target. */
int root_rank_of(const program *it, int queue);

/* Whether its submitter may have to wait for room in the queue, or run the closure itself. */
static inline bool may_be_full(const queue_plan *queue)
{
    return queue->pending_limit > 0 && queue->overflow != OD_OVERFLOW_REFUSED;
}

bool is_closure(kind it);
const char *word_of(kind it);

/* From a seed always the same one. */
void program_generate(program *it, uint64_t seed);

void program_print(const program *it, FILE *file);

/* Takes away what is below an operation that is gone. How many are left. */
int program_prune(program *it);

#endif
