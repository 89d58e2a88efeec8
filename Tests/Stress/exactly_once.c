/* Every job runs exactly once, or is counted by the cancel that kept it from running: four
 * outside submitters and jobs that spawn jobs, while something disturbs them. */
#include "Support/pools.h"
#include "Support/stress.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>

#include "os/membarrier.h"
#include "topology/topology.h"

enum {
    RESIZE = 1,    /* the pool grows and shrinks */
    SUSPEND = 2,   /* queues are suspended and resumed */
    WIDEN = 4,     /* queues' widths change */
    CANCEL = 8,    /* queues are cancelled */
    BLOCK = 16,    /* some jobs block, said or not */
    AFFINITY = 32, /* threads are moved and confined */
    SIGNALS = 64   /* a storm of signals */
};

typedef struct {
    const char *name;
    int workers;
    unsigned disturbances;
    uint32_t plain, sanitized; /* jobs */
    bool one_cpu, pinned, without_membarrier;
    int nodes;
} scenario;

static const scenario scenarios[] = {
    {.name = "two workers", .workers = 2, .plain = 9600000, .sanitized = 800000},
    {.name = "one worker", .workers = 1, .plain = 4800000, .sanitized = 400000},
    {.name = "sixteen workers", .workers = 16, .plain = 7200000, .sanitized = 600000},
    {.name = "pinned to cores", .workers = 4, .pinned = true, .plain = 4800000,
     .sanitized = 400000},
    {.name = "one CPU", .workers = 4, .one_cpu = true, .plain = 4800000, .sanitized = 400000},
    {.name = "without membarrier", .workers = 4, .without_membarrier = true, .plain = 4800000,
     .sanitized = 400000},
    {.name = "four nodes", .workers = 8, .nodes = 4, .plain = 4800000, .sanitized = 400000},
    {.name = "growing and shrinking", .workers = 4, .disturbances = RESIZE, .plain = 4800000,
     .sanitized = 400000},
    {.name = "suspending", .workers = 3, .disturbances = SUSPEND, .plain = 3600000,
     .sanitized = 300000},
    {.name = "changing widths", .workers = 3, .disturbances = WIDEN, .plain = 3600000,
     .sanitized = 300000},
    {.name = "cancelling", .workers = 3, .disturbances = CANCEL, .plain = 4800000,
     .sanitized = 400000},
    {.name = "blocking", .workers = 2, .disturbances = BLOCK, .plain = 1440000,
     .sanitized = 160000},
    {.name = "moving between CPUs", .workers = 3, .disturbances = AFFINITY, .plain = 3600000,
     .sanitized = 300000},
    {.name = "a storm of signals", .workers = 3, .disturbances = SIGNALS, .plain = 3600000,
     .sanitized = 300000},
    {.name = "everything at once", .workers = 4, .nodes = 2,
     .disturbances = RESIZE | SUSPEND | WIDEN | CANCEL | BLOCK | AFFINITY | SIGNALS,
     .plain = 2400000, .sanitized = 240000},
    {.name = "everything, without membarrier", .workers = 16, .without_membarrier = true,
     .disturbances = RESIZE | SUSPEND | WIDEN | CANCEL | BLOCK, .plain = 1440000,
     .sanitized = 160000},
};

enum { SUBMITTERS = 4, QUEUES = 5, GROUPS = 3, DIRECT = QUEUES, DEEPEST = 3 };
enum { SERIAL = 1 }; /* the queue whose jobs never overlap, unless its width changes */

static struct {
    const scenario *scenario;
    od_pool *pool;
    od_queue *queues[QUEUES];
    od_group *groups[GROUPS];
    ledger ledger;
    atomic_ullong cancelled, overlaps;
    atomic_int in_serial;
    atomic_bool over;
} world;

static void job(void *raw);

/* context: number (32) | queue (8) | depth (8) */
static bool submit(uint32_t depth)
{
    prng *random = mine();
    uint32_t number, target = prng_below(random, QUEUES + 1);

    if (!ledger_issue(&world.ledger, &number))
        return false;
    void *context = (void *)((uintptr_t)number << 16 | (uintptr_t)target << 8 | depth);
    int band = (int)prng_below(random, 6) - 1;

    if (target == DIRECT) {
        od_pool_submit(world.pool, (od_band)(band < 0 ? 2 : band), job, context);
        return true;
    }
    uint32_t group = prng_below(random, GROUPS + 1);
    od_queue_async(world.queues[target], group < GROUPS ? world.groups[group] : NULL, band, job, context);
    return true;
}

static void block_a_little(prng *random)
{
    bool says_so = prng_one_in(random, 2);

    if (says_so)
        od_blocking_begin();
    odi_clock_sleep((int64_t)prng_below(random, 3000) * ODI_MICROSECOND);
    if (says_so)
        od_blocking_end();
}

static void job(void *raw)
{
    uint32_t number = (uint32_t)((uintptr_t)raw >> 16), depth = (uintptr_t)raw & 0xff;
    bool serial = ((uintptr_t)raw >> 8 & 0xff) == SERIAL &&
                  !(world.scenario->disturbances & WIDEN);
    prng *random = mine();

    if (serial && atomic_fetch_add(&world.in_serial, 1) != 0)
        atomic_fetch_add(&world.overlaps, 1);
    ledger_run(&world.ledger, number);
    if (depth > 0) {
        uint32_t children = prng_one_in(random, 200) ? 400 : prng_below(random, 3);

        while (children-- > 0 && submit(depth - 1)) {
        }
    }
    if (world.scenario->disturbances & BLOCK && prng_one_in(random, 300))
        block_a_little(random);
    if (world.scenario->disturbances & CANCEL && prng_one_in(random, 2000))
        atomic_fetch_add(&world.cancelled, od_queue_cancel_all(world.queues[prng_below(random, QUEUES)]));
    if (serial)
        atomic_fetch_sub(&world.in_serial, 1);
}

static void *submitter(void *unused)
{
    prng *random = mine();

    while (submit(prng_below(random, DEEPEST + 1))) {
        uint32_t waiting = atomic_load(&world.ledger.issued) -
                           (uint32_t)atomic_load(&world.ledger.ran);

        if (prng_one_in(random, 5000))
            odi_clock_sleep(MILLISECONDS(1)); /* now and then everybody falls asleep */
        else if (waiting > 50000 && !(world.scenario->disturbances & CANCEL))
            sched_yield();
    }
    return NULL;
}

/* ---- disturbances ---- */

static void pause_a_little(prng *random)
{
    odi_clock_sleep((int64_t)prng_below(random, 500) * ODI_MICROSECOND);
}

static void *resize(void *unused)
{
    prng *random = mine();

    while (!atomic_load(&world.over)) {
        od_pool_set_workers(world.pool, 1 + (int)prng_below(random, 8));
        pause_a_little(random);
    }
    return NULL;
}

static void *suspend(void *unused)
{
    prng *random = mine();

    while (!atomic_load(&world.over)) {
        od_queue *queue = world.queues[prng_below(random, QUEUES)];

        od_queue_suspend(queue);
        if (prng_one_in(random, 2))
            pause_a_little(random);
        od_queue_resume(queue);
    }
    return NULL;
}

static void *widen(void *unused)
{
    prng *random = mine();

    while (!atomic_load(&world.over)) {
        od_queue_set_width(world.queues[prng_below(random, QUEUES)], (int32_t)prng_below(random, 4));
        pause_a_little(random);
    }
    return NULL;
}

static void *cancel(void *unused)
{
    prng *random = mine();

    while (!atomic_load(&world.over)) {
        atomic_fetch_add(&world.cancelled, od_queue_cancel_all(world.queues[prng_below(random, QUEUES)]));
        pause_a_little(random);
    }
    return NULL;
}

/* The threads of this process, one of them by chance. */
static pid_t some_thread(prng *random)
{
    DIR *tasks = opendir("/proc/self/task");
    pid_t found[128], count = 0;

    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);

        if (id > 0 && count < 128)
            found[count++] = id;
    }
    if (tasks != NULL)
        closedir(tasks);
    return count > 0 ? found[prng_below(random, (uint32_t)count)] : 0;
}

static void *move(void *raw)
{
    const cpu_set_t *all = raw;
    prng *random = mine();

    while (!atomic_load(&world.over)) {
        cpu_set_t one;

        CPU_ZERO(&one);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, all) && prng_one_in(random, 2))
                CPU_SET(cpu, &one);
        }
        if (CPU_COUNT(&one) > 0)
            sched_setaffinity(some_thread(random), sizeof one, &one);
        pause_a_little(random);
    }
    return NULL;
}

static void ignore(int signal) {}

static void *storm(void *unused)
{
    prng *random = mine();

    while (!atomic_load(&world.over)) {
        if (prng_one_in(random, 4))
            syscall(SYS_tgkill, getpid(), some_thread(random), SIGUSR1);
        else
            kill(getpid(), SIGUSR2);
        odi_clock_sleep(100 * ODI_MICROSECOND);
    }
    return NULL;
}

/* ---- a run ---- */

static void make_world(const scenario *it)
{
    static const int32_t widths[QUEUES] = {OD_UNLIMITED, 1, 3, OD_UNLIMITED, 2};
    static const od_band bands[QUEUES] = {OD_BAND_DEFAULT, OD_BAND_DEFAULT, OD_BAND_UTILITY,
                                          OD_BAND_BACKGROUND, OD_BAND_USER_INITIATED};
    od_pool_options options = options_for(it->workers);
    odi_pool_world place = {.first_index = INT64_MAX - (int64_t)prng_below(mine(), 200)};

    if (it->without_membarrier)
        odi_membarrier_refused = true;
    if (it->pinned)
        options.placement = OD_PLACEMENT_CORE;
    if (it->nodes > 0)
        place.topology = machine_of(it->nodes, 2, 1);
    world.scenario = it;
    ledger_open(&world.ledger, stress_count(it->plain, it->sanitized));
    world.pool = pool_with(options, place);
    for (int i = 0; i < QUEUES; i++)
        world.queues[i] = od_queue_create(world.pool, bands[i], widths[i], "stress");
    for (int i = 0; i < GROUPS; i++)
        world.groups[i] = od_group_create();
}

static void settle_accounts(void)
{
    od_stop_report report;
    uint32_t issued = atomic_load(&world.ledger.issued);

    for (int i = 0; i < QUEUES; i++)
        child_expects(od_queue_wait(world.queues[i], SECONDS(60)));
    for (int i = 0; i < GROUPS; i++)
        child_expects(od_group_wait(world.groups[i], SECONDS(60)));
    /* A job of the pool's own may have emptied a queue, and not have counted yet what it cancelled. */
    child_expects(COMES_TRUE(atomic_load(&world.ledger.ran) + atomic_load(&world.cancelled) >= issued));
    uint64_t cancelled = atomic_load(&world.cancelled);
    for (int i = 0; i < QUEUES; i++)
        child_expects(od_queue_pending(world.queues[i]) == 0);
    for (int i = 0; i < GROUPS; i++)
        child_expects(od_group_pending(world.groups[i]) == 0);
    child_expects(od_pool_stop(world.pool, INT64_MAX, &report) == OD_OK);
    if (report.ran != issued - cancelled || atomic_load(&world.ledger.ran) != issued - cancelled)
        dprintf(STDERR_FILENO, "issued %u, ran %llu, cancelled %llu; report: ran %llu, "
                "cancelled %llu\n", issued, atomic_load(&world.ledger.ran),
                (unsigned long long)cancelled, (unsigned long long)report.ran,
                (unsigned long long)report.cancelled);
    child_expects(atomic_load(&world.ledger.ran) == issued - cancelled);
    child_expects(report.ran == issued - cancelled && report.stuck == 0);
    child_expects(atomic_load(&world.overlaps) == 0);
    child_expects(ledger_close(&world.ledger) == cancelled);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(world.queues[i]);
    for (int i = 0; i < GROUPS; i++)
        od_group_release(world.groups[i]);
    child_expects(od_pool_free(world.pool) == OD_OK);
}

static void run(void *raw)
{
    static const struct {
        unsigned bit;
        void *(*body)(void *);
    } disturbers[] = {{RESIZE, resize},   {SUSPEND, suspend}, {SUSPEND, suspend},
                      {WIDEN, widen},     {CANCEL, cancel},   {CANCEL, cancel},
                      {AFFINITY, move},   {SIGNALS, storm}};
    enum { DISTURBERS = sizeof disturbers / sizeof disturbers[0] };
    const scenario *it = raw;
    pthread_t threads[DISTURBERS];
    struct sigaction action = {.sa_handler = ignore}; /* without SA_RESTART */
    cpu_set_t all;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sched_getaffinity(0, sizeof all, &all);
    if (it->one_cpu)
        keep_to_one_cpu();
    make_world(it);
    for (int i = 0; i < DISTURBERS; i++) {
        if (it->disturbances & disturbers[i].bit)
            pthread_create(&threads[i], NULL, disturbers[i].body, &all);
    }
    run_on_threads(SUBMITTERS, submitter);
    atomic_store(&world.over, true);
    for (int i = 0; i < DISTURBERS; i++) {
        if (it->disturbances & disturbers[i].bit)
            pthread_join(threads[i], NULL);
    }
    settle_accounts();
}

TEST(every_job_runs_once_or_is_cancelled)
{
    uint64_t jobs = 0;

    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        stress_run("exactly_once", scenarios[i].name, run, (void *)(uintptr_t)&scenarios[i]);
        jobs += stress_count(scenarios[i].plain, scenarios[i].sanitized);
    }
    if (getenv("STRESS_ONLY") == NULL)
        print_message("%llu jobs\n", (unsigned long long)jobs); /* counted by scripts/verify */
}

STRESS_PROGRAM
