/* A thousand forks of a process whose pool is busy in every way: no child hangs or crashes,
 * and the parent loses nothing. */
#include "Support/pools.h"
#include "Support/stress.h"

enum { QUEUES = 3, GROUPS = 2, LOADERS = 3, CHILD_JOBS = 60 };
enum { CANCELLED = QUEUES, ALL_QUEUES }; /* of this one's jobs no account is kept */

static struct {
    od_pool *pool;
    od_queue *queues[ALL_QUEUES];
    od_group *groups[GROUPS];
    ledger ledger;
    atomic_bool over;
} world;

static void job(void *raw)
{
    uint32_t number = (uint32_t)((uintptr_t)raw >> 8), depth = (uintptr_t)raw & 0xff, child;

    ledger_run(&world.ledger, number);
    for (uint32_t i = 0; i < depth && ledger_issue(&world.ledger, &child); i++)
        od_queue_async(world.queues[i % QUEUES], world.groups[i % GROUPS], OD_QUEUE_BAND, job,
                       (void *)((uintptr_t)child << 8 | (depth - 1)));
}

/* Records begin one life after the other, and their chains change all the time. */
static void churn(void)
{
    for (int i = 0; i < GROUPS; i++)
        od_queue_async(world.queues[CANCELLED], world.groups[i], OD_QUEUE_BAND, no_job, NULL);
    od_queue_async(world.queues[CANCELLED], NULL, OD_QUEUE_BAND, no_job, NULL);
    (void)od_queue_cancel_all(world.queues[CANCELLED]);
}

/* Everything that takes a lock somewhere, so that forks meet them held. */
static void *load(void *raw)
{
    prng random = prng_for(stress_seed, (uint64_t)(uintptr_t)raw);
    uint32_t number;

    while (!atomic_load(&world.over) && ledger_issue(&world.ledger, &number)) {
        void *context = (void *)((uintptr_t)number << 8 | 3);
        od_queue *queue = world.queues[prng_below(&random, QUEUES)];

        if (prng_one_in(&random, 2))
            od_queue_async(queue, world.groups[0], OD_QUEUE_BAND, job, context);
        else
            od_pool_submit(world.pool, (od_band)prng_below(&random, 5), job, context);
        churn();
        if (prng_one_in(&random, 20)) {
            od_queue_suspend(queue);
            od_queue_resume(queue);
        }
        if (prng_one_in(&random, 50))
            od_pool_set_workers(world.pool, 1 + (int)prng_below(&random, 4));
        if (prng_one_in(&random, 50))
            od_group_release(od_group_create());
        if (prng_one_in(&random, 50))
            od_queue_release(od_queue_create(world.pool, OD_BAND_DEFAULT, 1, "brief"));
        if (atomic_load(&world.ledger.issued) - (uint32_t)atomic_load(&world.ledger.ran) > 2000)
            odi_clock_sleep(MILLISECONDS(1));
    }
    return NULL;
}

static void live_in_a_child(void)
{
    atomic_ullong ran = 0;
    od_group *group = od_group_create();

    child_expects(group != NULL);
    /* A fork may come between a thread's suspend and its resume: that thread is not here. */
    for (int i = 0; i < QUEUES; i++) {
        while (od_queue_is_suspended(world.queues[i]))
            od_queue_resume(world.queues[i]);
    }
    for (int i = 0; i < CHILD_JOBS; i++) {
        if (i % 5 == 4)
            od_pool_submit(world.pool, (od_band)(i % 3), count_job, &ran);
        else
            od_queue_async(world.queues[i % 5], group, OD_QUEUE_BAND, count_job, &ran);
    }
    child_expects(COMES_TRUE(atomic_load(&ran) == CHILD_JOBS));
    child_expects(od_group_wait(group, HANG_NS));
    od_group_release(group);
    churn();
    for (int i = 0; i < GROUPS; i++)
        child_expects(od_group_wait(world.groups[i], HANG_NS));
    child_expects(od_queue_wait(world.queues[CANCELLED], HANG_NS));
}

static void fork_and_wait(uint32_t round)
{
    int status = 0;
    pid_t child = fork();

    child_expects(child >= 0);
    if (child == 0) {
        alarm(60);
        live_in_a_child();
        _exit(0);
    }
    child_expects(waitpid(child, &status, 0) == child);
    if (status != 0)
        dprintf(STDERR_FILENO, "fork %u: the child ended with status 0x%x\n", round, (unsigned)status);
    child_expects(status == 0);
}

static void fork_often(void *unused)
{
    static const int32_t widths[ALL_QUEUES] = {OD_UNLIMITED, 1, 2, OD_UNLIMITED};
    pthread_t threads[LOADERS];

    ledger_open(&world.ledger, 1u << 27);
    world.pool = pool_of(2);
    for (int i = 0; i < ALL_QUEUES; i++)
        world.queues[i] = od_queue_create(world.pool, OD_BAND_DEFAULT, widths[i], "forking");
    for (int i = 0; i < GROUPS; i++)
        world.groups[i] = od_group_create();
    start_threads(threads, LOADERS, load);
    for (uint32_t round = stress_count(1000, 100); round > 0; round--)
        fork_and_wait(round);
    atomic_store(&world.over, true);
    join_threads(threads, LOADERS);
    child_expects(COMES_TRUE(atomic_load(&world.ledger.ran) == atomic_load(&world.ledger.issued)));
    for (int i = 0; i < GROUPS; i++)
        child_expects(od_group_wait(world.groups[i], HANG_NS));
    child_expects(ledger_close(&world.ledger) == 0);
    child_expects(od_pool_free(world.pool) == OD_OK);
}

TEST(forks_under_load_hurt_nobody)
{
    stress_run("forking", "forks under load", fork_often, NULL);
}

CHILDREN_MAY_START_THREADS

STRESS_PROGRAM
