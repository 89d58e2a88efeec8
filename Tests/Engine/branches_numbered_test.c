/* branches_numbered_test.c — several branches from one frame that differ by a number alone
 * (od_fork_numbered, od_join_numbered): each is told its own, whoever runs it. */
#include "Support/pools.h"
#include "include/od_fork_closure.h"
#include "worker/forks.h"

/* ---- a tree with a known answer ---- */

enum { CHILDREN = 4, DEPTH = UNLESS_SANITIZED(8, 6), ROUNDS = 10 };

typedef struct {
    long path; /* the numbers above, to the base of CHILDREN + 1 */
    int depth;
    long sums[CHILDREN];
} node;

static long sum_below(long path, int depth);

static void go_to_child(void *raw, uint32_t number)
{
    node *parent = raw;

    parent->sums[number] = sum_below(parent->path * (CHILDREN + 1) + number, parent->depth - 1);
}

static long sum_below(long path, int depth)
{
    node here = {.path = path, .depth = depth};
    od_fork_slot *branches[CHILDREN];
    long sum = path;

    if (depth == 0)
        return path;
    for (uint32_t i = 0; i + 1 < CHILDREN; i++)
        branches[i] = od_fork_numbered(go_to_child, &here, i);
    go_to_child(&here, CHILDREN - 1);
    for (uint32_t i = CHILDREN - 1; i-- > 0;)
        od_join_numbered(branches[i], go_to_child, &here, i);
    for (uint32_t i = 0; i < CHILDREN; i++)
        sum += here.sums[i];
    return sum;
}

static long sum_alone(long path, int depth)
{
    long sum = path;

    for (uint32_t i = 0; depth > 0 && i < CHILDREN; i++)
        sum += sum_alone(path * (CHILDREN + 1) + i, depth - 1);
    return sum;
}

TEST(each_branch_is_told_its_number)
{
    for (int workers = 1; workers <= 4; workers *= 2) {
        od_pool *pool = pool_of(workers);
        od_fork_scope scope;

        od_forks_enter(pool, &scope);
        for (int round = 0; round < ROUNDS; round++)
            assert_int_equal(sum_below(1, DEPTH), sum_alone(1, DEPTH));
        od_forks_leave(&scope);
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
}

/* ---- taken ones ---- */

static struct {
    atomic_int began[3];
    pthread_t owner;
    atomic_int elsewhere;
} taken;

static void note_number(void *unused, uint32_t number)
{
    assert_null(unused);
    atomic_fetch_add(&taken.elsewhere, !pthread_equal(taken.owner, pthread_self()));
    atomic_fetch_add(&taken.began[number], 1);
}

TEST(a_thief_takes_the_first_number)
{
    od_pool *pool = pool_of(2);
    od_fork_slot *branches[2];
    od_fork_scope scope;

    memset(&taken, 0, sizeof taken);
    taken.owner = pthread_self();
    od_forks_enter(pool, &scope);
    for (uint32_t i = 0; i < 2; i++)
        branches[i] = od_fork_numbered(note_number, NULL, i);
    assert_comes_true(atomic_load(&taken.began[0]) == 1);
    note_number(NULL, 2);
    for (uint32_t i = 2; i-- > 0;)
        od_join_numbered(branches[i], note_number, NULL, i);
    od_forks_leave(&scope);
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&taken.began[i]), 1);
    assert_true(atomic_load(&taken.elsewhere) >= 1);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

#ifdef ODI_SWIFT_CLOSURES
/* Its result goes where its fork was. */
static __attribute__((swiftcall)) void note_and_answer(__attribute__((swift_indirect_result)) void *result, uint64_t number,
                                                        __attribute__((swift_context)) void *captures)
{
    note_number(captures, (uint32_t)number);
    *(uint64_t *)result = number + 40;
}

TEST(a_closure_that_was_taken_leaves_its_result_to_who_joins_it)
{
    od_pool *pool = pool_of(2);
    od_fork_scope scope;

    memset(&taken, 0, sizeof taken);
    taken.owner = pthread_self();
    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork_numbered_closure((void *)note_and_answer, NULL, 2, NULL);
    assert_comes_true(atomic_load(&taken.began[2]) == 1);
    assert_false(od_fork_pop(branch));
    assert_false(od_join_numbered_back());
    assert_int_equal(*(uint64_t *)branch, 42);
    od_join_end();
    od_forks_leave(&scope);
    assert_int_equal(od_pool_free(pool), OD_OK);
}
#endif

/* ---- who has no stack of forks ---- */

TEST(a_thread_that_forks_numbers_becomes_an_external_thread_of_the_default_pool)
{
    assert_null(od_forks_self);
    assert_int_equal(sum_below(1, 4), sum_alone(1, 4));
    assert_null(od_forks_self); /* it has left */
}

/* Found by reading: it had left before its root's result was read, and the next external thread's forks lay there. */
TEST(an_external_thread_stays_until_its_roots_result_is_read)
{
    memset(&taken, 0, sizeof taken);
    taken.owner = pthread_self();
    od_fork_slot *branch = od_fork_numbered(note_number, NULL, 0);
    assert_comes_true(atomic_load(&taken.elsewhere) == 1);
    assert_false(od_fork_pop(branch));
    assert_false(od_join_numbered_back());
    assert_non_null(od_forks_self);
    od_join_end();
    assert_null(od_forks_self);
}

/* A slot for all of them has no room for their results: they wait for their joins. */
TEST(branches_that_nobody_may_take_run_when_they_are_joined)
{
    od_pool *pool = pool_of(1);
    od_fork_slot *branches[3];
    od_fork_scope scope;

    odi_store_relaxed(&pool->team.externals_seen, ODI_MOST_EXTERNALS); /* relaxed: no place is left */
    memset(&taken, 0, sizeof taken);
    taken.owner = pthread_self();
    od_forks_enter(pool, &scope);
    for (uint32_t i = 0; i < 3; i++)
        branches[i] = od_fork_numbered(note_number, NULL, i);
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&taken.began[i]), 0);
    for (uint32_t i = 3; i-- > 0;) {
        assert_int_equal(sum_below(1, 3), sum_alone(1, 3));
        od_join_numbered(branches[i], note_number, NULL, i);
        assert_int_equal(atomic_load(&taken.began[i]), 1);
    }
    assert_ptr_equal(od_forks_self, scope.here);
    od_forks_leave(&scope);
    assert_null(od_forks_self);
    odi_store_relaxed(&pool->team.externals_seen, 0); /* relaxed: as above */
    assert_int_equal(od_pool_free(pool), OD_OK);
}

TEST_PROGRAM
