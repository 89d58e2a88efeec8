/* forks_refused.c — fork and join where the kernel refuses membarrier: each goes the slow way, whose fence is its
 * only one (F2).
 */
#include "doubles/refused.h"

#include "worker/forks.c"

#include "worker/join.c"

#include "doubles/forking.h"

enum { BRANCHES = 2 };

static od_fork_slot *branch[BRANCHES];
static int number[BRANCHES] = {0, 1};
static unsigned ran[BRANCHES][MODEL_ROWS];

static void body(void *raw) { ran[*(int *)raw][model_thread()]++; }
static void fork_branch(int which) { branch[which] = od_fork(body, &number[which]); }
static void join_branch(int which) { od_join(branch[which], body, &number[which]); }

/* The root is out with somebody. */
static void prepare(void)
{
    own(0);
    own(1);
    be(0);
    fork_branch(0);
    model_check(odi_forks_steal(&forks[0]) == branch[0]);
}

/* A private fork: join against a thief that helps itself. */
static void prepare_private(void)
{
    prepare();
    fork_branch(1);
    model_check(odi_load_relaxed(&forks[0].owner.limit) == ODI_FORKS_OPEN);
}
static void join_it(void)
{
    be(0);
    join_branch(1);
}
static void migrant(void)
{
    odi_forks_want(&forks[0]);
    migrate(&forks[0]);
    steal_and_run_of(1, 0);
}
static void verify_once(void) { model_check(model_sum(ran[1]) == 1); }
MODEL_SCENARIO(forks_refused_migrate, prepare_private, verify_once, join_it, migrant)
MODEL_REACHES(forks_refused_migrate, ran[1][0] == 1)

/* A thief goes to sleep: the next fork is seen, or announced. */
static bool saw_work;

static void fork_it(void)
{
    be(0);
    odi_store_relaxed(&published, 0);
    fork_branch(1);
}
static void go_to_sleep(void)
{
    odi_forks_want(&forks[0]);
    odi_fence_heavy(F2);
    saw_work = odi_forks_hold_work(&forks[0]);
}
static void verify_seen(void) { model_check(saw_work || odi_load_relaxed(&published) == 1); }
MODEL_SCENARIO(forks_refused_sleep, prepare, verify_seen, fork_it, go_to_sleep)
MODEL_REACHES(forks_refused_sleep, saw_work)
