/* Stopping while everybody submits: every accepted job ran or was cancelled, exactly, and
 * nothing hangs, whatever the deadline. */
#include "Support/pools.h"
#include "Support/stress.h"

enum { SUBMITTERS = 3, QUEUES = 3, MOST_JOBS = 1 << 16 };

static struct {
    od_pool *pool;
    od_queue *queues[QUEUES];
    od_group *group;
    ledger ledger;
    atomic_bool over;
} world;

static void job(void *raw);

static bool submit(prng *random, uint32_t depth)
{
    uint32_t number, target = prng_below(random, QUEUES + 1);

    if (!ledger_issue(&world.ledger, &number))
        return false;
    void *context = (void *)((uintptr_t)number << 8 | depth);
    if (target == QUEUES)
        od_pool_submit(world.pool, (od_band)prng_below(random, 5), job, context);
    else
        od_queue_async(world.queues[target], prng_one_in(random, 2) ? world.group : NULL,
                       OD_QUEUE_BAND, job, context);
    return true;
}

static void job(void *raw)
{
    uint32_t number = (uint32_t)((uintptr_t)raw >> 8), depth = (uintptr_t)raw & 0xff;
    prng random = prng_for(stress_seed, number);

    ledger_run(&world.ledger, number);
    if (prng_one_in(&random, 2000))
        odi_clock_sleep((int64_t)prng_below(&random, 3000) * ODI_MICROSECOND);
    for (uint32_t children = depth > 0 ? prng_below(&random, 4) : 0; children > 0; children--)
        (void)submit(&random, depth - 1);
}

static void *submitter(void *raw)
{
    prng random = prng_for(stress_seed, (uint64_t)(uintptr_t)raw);

    while (!atomic_load(&world.over) && submit(&random, prng_below(&random, 4))) {
    }
    return NULL;
}

static void stop_once(prng *random)
{
    static const int32_t widths[QUEUES] = {OD_UNLIMITED, 1, 2};
    odi_pool_world place = {.first_index = INT64_MAX - (int64_t)prng_below(random, 100)};
    pthread_t threads[SUBMITTERS];
    od_stop_report report;

    memset(&world, 0, sizeof world);
    ledger_open(&world.ledger, MOST_JOBS);
    world.pool = pool_with(options_for(1 + (int)prng_below(random, 4)), place);
    for (int i = 0; i < QUEUES; i++)
        world.queues[i] = od_queue_create(world.pool, OD_BAND_DEFAULT, widths[i], "stopping");
    world.group = od_group_create();
    uint64_t stream = odi_rng_next(&random->state);
    for (uintptr_t i = 0; i < SUBMITTERS; i++)
        pthread_create(&threads[i], NULL, submitter, (void *)(uintptr_t)(stream + i));
    odi_clock_sleep((int64_t)prng_below(random, 2000) * ODI_MICROSECOND);
    int64_t deadline = prng_one_in(random, 3) ? INT64_MAX
                                              : (int64_t)prng_below(random, 3000) *
                                                    ODI_MICROSECOND;
    if (prng_one_in(random, 2)) /* without an end to the submissions there may be no end */
        atomic_store(&world.over, true);
    if (deadline == INT64_MAX)
        atomic_store(&world.over, true);
    bool all_in = deadline == INT64_MAX && prng_one_in(random, 2);
    for (int i = 0; all_in && i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    child_expects(od_pool_stop(world.pool, deadline, &report) == OD_OK);
    odi_clock_sleep((int64_t)prng_below(random, 300) * ODI_MICROSECOND);
    atomic_store(&world.over, true);
    for (int i = 0; !all_in && i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < QUEUES; i++)
        child_expects(od_queue_wait(world.queues[i], SECONDS(60)));
    child_expects(od_group_wait(world.group, SECONDS(60)));
    child_expects(COMES_TRUE(all_have_gone(world.pool)));
    uint32_t issued = atomic_load(&world.ledger.issued);
    if (!COMES_TRUE(all_done(world.pool) == issued) ||
        atomic_load(&world.ledger.ran) != metrics_of(world.pool).executed)
        dprintf(STDERR_FILENO,
                "deadline %lld: issued %u, ran %llu; executed %llu (%llu on callers), "
                "cancelled %llu; report: ran %llu, cancelled %llu, stuck %llu\n",
                (long long)deadline, issued, atomic_load(&world.ledger.ran),
                (unsigned long long)metrics_of(world.pool).executed,
                (unsigned long long)metrics_of(world.pool).ran_on_callers,
                (unsigned long long)metrics_of(world.pool).cancelled,
                (unsigned long long)report.ran, (unsigned long long)report.cancelled,
                (unsigned long long)report.stuck);
    child_expects(all_done(world.pool) == issued);
    child_expects(metrics_of(world.pool).executed == atomic_load(&world.ledger.ran));
    /* Each submitter may be late with the one that it is about to submit, and nobody else's is then. */
    child_expects(deadline != INT64_MAX || report.cancelled <= (all_in ? 0 : SUBMITTERS));
    child_expects(ledger_close(&world.ledger) == metrics_of(world.pool).cancelled);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(world.queues[i]);
    od_group_release(world.group);
    child_expects(od_pool_free(world.pool) == OD_OK);
}

static void stop_many(void *unused)
{
    prng random = prng_for(stress_seed, 0);

    for (uint32_t round = stress_count(300, 100); round > 0; round--)
        stop_once(&random);
}

TEST(a_stop_accounts_for_every_job)
{
    stress_run("stopping", "stop while submitting", stop_many, NULL);
}

/* ---- a stuck job is reported, each time ---- */

static gate door;

static void stop_with_a_stuck_job(void *unused)
{
    prng random = prng_for(stress_seed, 7);

    for (uint32_t round = stress_count(200, 60); round > 0; round--) {
        od_pool_options options = options_for(1 + (int)prng_below(&random, 3));
        atomic_ullong ran = 0;
        od_stop_report report;

        options.spare_workers = 0;
        od_pool *pool = pool_with(options, (odi_pool_world){0});
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT,
                                          prng_one_in(&random, 2) ? 1 : OD_UNLIMITED, "stuck");
        atomic_store(&door.waiting, 0);
        atomic_store(&door.open, false);
        od_queue_async(queue, NULL, OD_QUEUE_BAND, gate_job, &door);
        child_expects(COMES_TRUE(atomic_load(&door.waiting) == 1));
        uint32_t jobs = prng_below(&random, 500);
        for (uint32_t i = 0; i < jobs; i++)
            od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran);
        child_expects(od_pool_stop(pool, (int64_t)prng_below(&random, 2000) * ODI_MICROSECOND, &report) == OD_OK);
        /* Beside the one at the gate another may just be running: a busy machine. */
        if (report.stuck < 1 || report.ran + report.cancelled + report.stuck != jobs + 1)
            dprintf(STDERR_FILENO, "%u jobs: ran %llu, cancelled %llu, stuck %llu\n", jobs,
                    (unsigned long long)report.ran, (unsigned long long)report.cancelled,
                    (unsigned long long)report.stuck);
        child_expects(report.stuck >= 1 && report.stuck_queues[0] == queue);
        child_expects(report.ran + report.cancelled + report.stuck == jobs + 1);
        gate_open(&door);
        child_expects(od_queue_wait(queue, SECONDS(60)));
        child_expects(COMES_TRUE(nothing_runs(pool)));
        child_expects(report.ran + report.stuck - 1 == atomic_load(&ran));
        end_pool(pool, queue);
    }
}

TEST(a_stuck_job_is_reported_each_time)
{
    stress_run("stopping", "stop with a stuck job", stop_with_a_stuck_job, NULL);
}

STRESS_PROGRAM
