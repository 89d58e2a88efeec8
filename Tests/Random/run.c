/* run.c — one program, from the making of its pool to the end of its last thread. */
#include "Random/world.h"

#include <pthread.h>
#include <string.h>

#include "Support/clock.h"
#include "Support/process.h"

/* Which ones is the seed's choice: programs of other lanes are to have others. */
static void confine(const program *it)
{
    static cpu_set_t all;
    static bool known;
    cpu_set_t some;

    if (!known)
        sched_getaffinity(0, sizeof all, &all);
    known = true;
    CPU_ZERO(&some);
    int there = CPU_COUNT(&all), begin = (int)(it->seed % (unsigned)there);
    for (int cpu = 0, number = 0; number < there; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        if ((number - begin + there) % there < it->cpus)
            CPU_SET(cpu, &some);
        number++;
    }
    sched_setaffinity(0, sizeof some, &some);
}

static void make_pool(void)
{
    od_pool_options options;

    od_pool_options_init(&options);
    options.name = "random";
    options.workers = w.program.workers;
    options.spare_workers = w.program.spares;
    options.placement = OD_PLACEMENT_NONE;
    oracle_expects(od_pool_create(&options, &w.pool, NULL, 0) == OD_OK, "there is no pool");
    feature_met((feature)(WORKERS_1 + w.program.workers - 1));
    feature_met(w.program.spares == 0 ? SPARES_0 : w.program.spares == 2 ? SPARES_2 : SPARES_64);
    feature_met(w.program.cpus == 1 ? CPUS_1 : CPUS_2);
}

/* An inactive one is put on its target when it is activated. */
static void make_queue(int number)
{
    queue_plan *plan = &w.program.queue[number];
    char label[16];
    od_queue_options options = {.band = (od_band)(number % 5), .width = plan->width, .label = label,
                                .pending_limit = plan->pending_limit, .overflow = plan->overflow,
                                .inactive = plan->inactive};

    snprintf(label, sizeof label, "%d", number);
    if (plan->target != NONE && !plan->inactive)
        options.target = w.queue[plan->target].queue;
    w.queue[number].queue = od_queue_create_with(w.pool, &options);
    (void)od_queue_adopt_context(w.queue[number].queue, (void *)(intptr_t)(number + 1));
}

static void make_world(const program *it)
{
    memset(&w, 0, sizeof w);
    w.program = *it;
    for (int i = 0; i < OPS; i++) {
        w.entry[i].section = NONE;
        if (it->op[i].gone && it->op[i].kind == ACTIVATE) /* by the shrinker */
            w.program.queue[it->op[i].queue].inactive = false;
    }
    confine(it);
    make_pool();
    for (int i = 0; i < it->queues; i++)
        make_queue(i);
    for (int i = 0; i < it->groups; i++)
        w.group[i] = od_group_create();
    for (int i = 0; i < it->semaphores; i++)
        w.semaphore[i] = od_semaphore_create(it->permits[i]);
    for (int i = 0; i < it->ops; i++) {
        if (it->op[i].kind == HANDSHAKE && !it->op[i].gone)
            w.entry[i].semaphore = od_semaphore_create(0);
    }
}

static void *outsider(void *script)
{
    self.outsider = true;
    run_body((int)(intptr_t)script);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < w.program.threads; i++)
        oracle_expects(pthread_create(&threads[i], NULL, outsider, (void *)(intptr_t)w.program.script[i]) == 0,
                       "there is no thread");
    for (int i = 0; i < w.program.threads; i++)
        pthread_join(threads[i], NULL);
}

/* Until all that was submitted, by what was submitted too, has ended. */
static void drain(void)
{
    uint64_t pending = 1;

    while (pending > 0) {
        pending = 0;
        for (int i = 0; i < w.program.queues; i++) {
            thread before = waits(FOR_ELSE, NULL, NONE);
            (void)od_queue_wait(w.queue[i].queue, INT64_MAX);
            waited(before);
        }
        for (int i = 0; i < w.program.queues; i++)
            pending += od_queue_pending(w.queue[i].queue);
    }
}

/* Jobs that a stop with a deadline has left. */
static void await_the_stuck(void)
{
    while (atomic_load(&w.inside) > 0)
        odi_clock_sleep(100 * ODI_MICROSECOND);
}

static void unmake_world(void)
{
    for (int i = 0; i < w.program.ops; i++) {
        if (atomic_load(&w.entry[i].timer) != NULL)
            od_timer_release(atomic_load(&w.entry[i].timer));
        if (w.entry[i].semaphore != NULL)
            od_semaphore_release(w.entry[i].semaphore);
    }
    for (int i = 0; i < w.program.semaphores; i++)
        od_semaphore_release(w.semaphore[i]);
    for (int i = 0; i < w.program.groups; i++)
        od_group_release(w.group[i]);
    for (int i = 0; i < w.program.queues; i++)
        od_queue_release(w.queue[i].queue);
    oracle_expects(od_pool_free(w.pool) == OD_OK, "the pool cannot be freed");
}

/* What a sanitizer has started with the first thread stays. */
static int count_at_rest(void)
{
    (void)threads_at_rest();
    return thread_count();
}

/* Threads return; who asks finds some that are just about to be gone. */
static void check_threads(int at_rest)
{
    oracle_expects(COMES_TRUE(thread_count() <= at_rest), "%d threads are left, and not %d", thread_count(),
                   at_rest);
}

void run_program(const program *it)
{
    static int at_rest;
    od_stop_report report = {0};

    if (at_rest == 0)
        at_rest = count_at_rest();
    make_world(it);
    run_threads();
    if (it->drains)
        drain();
    thread before = waits(FOR_ELSE, NULL, NONE);
    (void)od_pool_stop(w.pool, INT64_MAX, &report);
    waited(before);
    await_the_stuck();
    if (atomic_load(&w.hurried)) /* what they were is told after their ends */
        check_threads(at_rest);
    check_ledger(&report);
    unmake_world();
    check_threads(at_rest);
    features_close();
    progress();
}
