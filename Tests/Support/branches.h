/* branches.h — a tree of forks with a known result, and a wait that does not sleep. */
#ifndef SUPPORT_BRANCHES_H
#define SUPPORT_BRANCHES_H

#include "Support/pools.h"
#include "os/thread.h"
#include "worker/forks.h"

typedef struct {
    long n, result;
} fib_frame;

static inline void fib_branch(void *raw);

static inline long fib(long n)
{
    if (n < 2)
        return n;
    fib_frame right = {n - 2, 0};
    od_fork_slot *branch = od_fork(fib_branch, &right);
    long left = fib(n - 1);
    od_join(branch, fib_branch, &right);
    return left + right.result;
}

static inline void fib_branch(void *raw)
{
    fib_frame *frame = raw;

    frame->result = fib(frame->n);
}

enum { FIB_N = UNLESS_SANITIZED(27, 20), FIB = UNLESS_SANITIZED(196418, 6765) };

/* Waits without sleeping. It yields, because under a real-time policy the thread that sets `told` may wait
 * for this CPU. */
static inline void compute_until(atomic_int *told)
{
    while (!atomic_load(told))
        odi_thread_yield();
}

#endif
