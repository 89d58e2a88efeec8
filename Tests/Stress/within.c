/* Jobs that begin inside of the tasks that await them, beside others of the same queues, while these are cancelled,
 * suspended and changed: each runs once or is counted by a cancel, and no more at a time than may. */
#include "Support/queues.h"
#include "Support/stress.h"

#ifdef ODI_SWIFT_CLOSURES

enum { CANCEL = 1, SUSPEND = 2, WIDEN = 4, TASKS = 3, QUEUES = 3, MOST_OF_A_TURN = 200 };

/* What the thread runs, as far as the engine can ask the Swift runtime. */
static _Thread_local void *task;

__attribute__((swiftcall)) void *swift_task_getCurrent(void);
__attribute__((swiftcall)) void *swift_task_getCurrent(void)
{
    return task;
}

typedef struct {
    const char *name;
    int workers;
    unsigned disturbances;
} scenario;

static const scenario scenarios[] = {
    {"undisturbed", 2, 0},
    {"cancelling", 2, CANCEL},
    {"suspending", 3, SUSPEND},
    {"everything, one worker", 1, CANCEL | SUSPEND | WIDEN},
    {"everything", 4, CANCEL | SUSPEND | WIDEN},
};

static struct {
    const scenario *scenario;
    od_pool *pool;
    od_queue *queues[QUEUES];
    ledger ledger;
    atomic_int inside[QUEUES];
    atomic_ullong cancelled, within, overlaps, turns;
    atomic_int tasks;
    atomic_bool over;
} world;

/* context: number (32) | queue (8) */
static void job(void *raw)
{
    uint32_t which = (uintptr_t)raw & 0xff;

    if (atomic_fetch_add(&world.inside[which], 1) > (int)which && which + 1 < QUEUES)
        atomic_fetch_add(&world.overlaps, !(world.scenario->disturbances & WIDEN));
    ledger_run(&world.ledger, (uint32_t)((uintptr_t)raw >> 8));
    atomic_fetch_sub(&world.inside[which], 1);
}

/* False: the task lets go of its worker, as one does that awaits. */
static bool await_one(prng *random)
{
    uint32_t number, which = prng_below(random, QUEUES);
    void *outer;

    if (!ledger_issue(&world.ledger, &number))
        return false;
    void *context = (void *)((uintptr_t)number << 8 | which);

    switch (od_queue_begin_within(world.queues[which], &outer)) {
    case OD_NOT_WITHIN:
        od_queue_async(world.queues[which], NULL, OD_QUEUE_BAND, job, context);
        return false;
    case OD_BEGUN_WITHIN:
        child_expects(outer == task);
        job(context);
        od_queue_end_within();
        atomic_fetch_add(&world.within, 1);
        break;
    case OD_CANCELLED_WITHIN: /* and counted */
        break;
    }
    return true;
}

/* A task, which goes on as another job of the pool. */
static void turn(void *raw)
{
    prng random = prng_for(stress_seed, 1000 + atomic_fetch_add(&world.turns, 1));
    uint32_t left = prng_below(&random, MOST_OF_A_TURN);

    task = raw;
    while (left > 0 && await_one(&random))
        left--;
    task = NULL;
    if (atomic_load(&world.ledger.issued) < world.ledger.room)
        od_pool_submit(world.pool, OD_BAND_DEFAULT, turn, raw);
    else
        atomic_fetch_sub(&world.tasks, 1);
}

static void *disturb(void *unused)
{
    prng random = prng_for(stress_seed, 1);
    unsigned all = world.scenario->disturbances;

    while (!atomic_load(&world.over)) {
        uint32_t which = prng_below(&random, QUEUES);
        od_queue *queue = world.queues[which];

        if (all & CANCEL)
            atomic_fetch_add(&world.cancelled, od_queue_cancel_all(queue));
        if (all & SUSPEND) {
            od_queue_suspend(queue);
            odi_clock_sleep((int64_t)prng_below(&random, 50) * ODI_MICROSECOND);
            od_queue_resume(queue);
        }
        if (all & WIDEN)
            od_queue_set_width(queue, (int32_t)prng_below(&random, 4));
        odi_clock_sleep((int64_t)prng_below(&random, 300) * ODI_MICROSECOND);
    }
    return unused;
}

static void run(void *raw)
{
    const scenario *it = raw;
    pthread_t disturber;
    prng random = prng_for(stress_seed, 2);
    static char tasks[TASKS];
    od_stop_report report;

    world.scenario = it;
    world.pool = pool_of(it->workers);
    ledger_open(&world.ledger, stress_count(1000000, 60000));
    for (int i = 0; i < QUEUES; i++) /* a serial one, one of two, and an unlimited one */
        world.queues[i] = od_queue_create(world.pool, OD_BAND_DEFAULT, i + 1 < QUEUES ? i + 1 : OD_UNLIMITED, "within");
    pthread_create(&disturber, NULL, disturb, NULL);
    atomic_store(&world.tasks, TASKS);
    for (int i = 0; i < TASKS; i++)
        od_pool_submit(world.pool, OD_BAND_DEFAULT, turn, &tasks[i]);
    for (uint32_t number; ledger_issue(&world.ledger, &number);) {
        uint32_t which = prng_below(&random, QUEUES);

        od_queue_async(world.queues[which], NULL, OD_QUEUE_BAND, job, (void *)((uintptr_t)number << 8 | which));
        odi_clock_sleep((int64_t)prng_below(&random, 100) * ODI_MICROSECOND);
    }
    child_expects(COMES_TRUE(atomic_load(&world.tasks) == 0));
    atomic_store(&world.over, true);
    pthread_join(disturber, NULL);
    for (int i = 0; i < QUEUES; i++)
        child_expects(od_queue_wait(world.queues[i], SECONDS(60)));
    uint64_t cancelled = atomic_load(&world.cancelled), issued = atomic_load(&world.ledger.issued);
    for (int i = 0; i < QUEUES; i++)
        child_expects(od_queue_pending(world.queues[i]) == 0);
    child_expects(od_pool_stop(world.pool, INT64_MAX, &report) == OD_OK);
    child_expects(atomic_load(&world.ledger.ran) == issued - cancelled);
    child_expects(report.ran == issued - cancelled + atomic_load(&world.turns));
    child_expects(atomic_load(&world.overlaps) == 0);
    child_expects(atomic_load(&world.within) > issued / 100);
    child_expects(ledger_close(&world.ledger) == cancelled);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(world.queues[i]);
    child_expects(od_pool_free(world.pool) == OD_OK);
    dprintf(STDOUT_FILENO, "    %llu of %llu within, %llu cancelled\n", (unsigned long long)world.within,
            (unsigned long long)issued, (unsigned long long)cancelled);
}

TEST(what_begins_within_a_task_runs_once_or_is_cancelled)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        stress_run("within", scenarios[i].name, run, (void *)(uintptr_t)&scenarios[i]);
}

#endif

STRESS_PROGRAM
