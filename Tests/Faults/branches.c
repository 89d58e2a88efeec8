/* branches.c — fork and join: a tree of two branches a node, and one of three with numbers. */
#include "Faults/branches.h"

#include "include/od_external.h"

/* ---- whose external threads ---- */

static od_pool *_Atomic owner;

void forks_belong_to(od_pool *pool)
{
    atomic_store(&owner, pool);
}

od_pool *od_default_pool(void)
{
    return atomic_load(&owner);
}

/* ---- two branches ---- */

typedef struct {
    unsigned n, result;
} fib_frame;

static void fib(void *raw)
{
    fib_frame *frame = raw;

    if (frame->n < 2) {
        frame->result = frame->n;
        return;
    }
    fib_frame left = {.n = frame->n - 1}, right = {.n = frame->n - 2};
    od_fork_slot *branch = od_fork(fib, &right);
    fib(&left);
    od_join(branch, fib, &right);
    frame->result = left.result + right.result;
}

static unsigned serial_fib(unsigned n)
{
    unsigned before = 0, last = 1;

    for (; n > 0; n--) {
        unsigned next = before + last;

        before = last;
        last = next;
    }
    return before;
}

static void fork_fib(unsigned n)
{
    fib_frame root = {.n = n};

    fib(&root);
    run_expects(root.result == serial_fib(n), "fib(%u) in branches is %u instead of %u", n,
                root.result, serial_fib(n));
}

/* ---- three branches with numbers ---- */

enum { FAN = 3 };

typedef struct {
    unsigned depth, number;
    unsigned results[FAN];
} fan_frame;

static unsigned fan(unsigned depth, unsigned number);

static void fan_branch(void *raw, uint32_t which)
{
    fan_frame *frame = raw;

    frame->results[which] = fan(frame->depth - 1, frame->number * FAN + which);
}

/* The sum of the numbers of all leaves below. */
static unsigned fan(unsigned depth, unsigned number)
{
    fan_frame frame = {.depth = depth, .number = number};
    od_fork_slot *branches[FAN];

    if (depth == 0)
        return number;
    for (uint32_t i = FAN - 1; i > 0; i--)
        branches[i] = od_fork_numbered(fan_branch, &frame, i);
    fan_branch(&frame, 0);
    for (uint32_t i = 1; i < FAN; i++)
        od_join_numbered(branches[i], fan_branch, &frame, i);
    return frame.results[0] + frame.results[1] + frame.results[2];
}

static void fork_fan(unsigned depth)
{
    unsigned leaves = 1;

    for (unsigned i = 0; i < depth; i++)
        leaves *= FAN;
    unsigned sum = fan(depth, 0), expected = leaves * (leaves - 1) / 2;
    run_expects(sum == expected, "a fan of depth %u sums to %u instead of %u", depth, sum,
                expected);
}

/* ---- a tree ---- */

void fork_branches(prng *random)
{
    if (prng_one_in(random, 2))
        fork_fib(5 + prng_below(random, 8));
    else
        fork_fan(1 + prng_below(random, 4));
}

void fork_branches_as_external(od_pool *pool, prng *random)
{
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    fork_branches(random);
    od_forks_leave(&scope);
}
