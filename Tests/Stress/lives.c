/* Queues and groups come and go by the thousand while their jobs run, are suspended, resized,
 * cancelled, waited for and notified: records change hands, and nobody waits for ever. */
#include "Support/pools.h"
#include "Support/stress.h"

enum { THREADS = 4, JOBS_EACH = 64 };

static struct {
    od_pool *pool;
    ledger ledger;
    atomic_ullong cancelled, notified, notifications;
} world;

static void job(void *raw) { ledger_run(&world.ledger, (uint32_t)(uintptr_t)raw); }
static void notified(void *unused) { atomic_fetch_add(&world.notified, 1); }

static bool submit_some(prng *random, od_queue *queue, od_group *group)
{
    uint32_t number;

    for (uint32_t i = prng_below(random, JOBS_EACH); i > 0; i--) {
        if (!ledger_issue(&world.ledger, &number))
            return false;
        od_queue_async(queue, prng_one_in(random, 3) ? NULL : group,
                       (int)prng_below(random, 6) - 1, job, (void *)(uintptr_t)number);
    }
    return true;
}

/* One short life of a queue and a group. False: there have been enough jobs. */
static bool live(prng *random, bool cancels)
{
    od_queue *queue = od_queue_create(world.pool, (od_band)prng_below(random, 5),
                                      (int32_t)prng_below(random, 4), "short");
    od_group *group = od_group_create();
    bool more;

    child_expects(queue != NULL && group != NULL);
    if (prng_one_in(random, 4))
        od_queue_suspend(queue);
    more = submit_some(random, queue, group);
    if (prng_one_in(random, 4))
        od_queue_set_width(queue, (int32_t)prng_below(random, 4));
    if (prng_one_in(random, 4) && cancels)
        atomic_fetch_add(&world.cancelled, od_queue_cancel_all(queue));
    if (od_queue_is_suspended(queue) && prng_one_in(random, 2))
        od_queue_resume(queue);
    more = submit_some(random, queue, group) && more;
    if (prng_one_in(random, 4)) {
        atomic_fetch_add(&world.notifications, 2);
        od_group_notify(group, notified, NULL);
        od_queue_notify(queue, notified, NULL);
    }
    bool suspended = od_queue_is_suspended(queue);
    if (!suspended && prng_one_in(random, 3))
        child_expects(od_group_wait(group, SECONDS(60)));
    if (!suspended && prng_one_in(random, 3))
        child_expects(od_queue_wait(queue, SECONDS(60)));
    if (!suspended && prng_one_in(random, 5))
        run_synced(queue, no_job, NULL);
    if (prng_one_in(random, 2))
        od_group_release(group), group = NULL;
    od_queue_release(queue);
    if (group != NULL)
        od_group_release(group);
    return more;
}

typedef struct {
    uint64_t stream;
    bool cancels;
} liver;

static void *live_on(void *raw)
{
    const liver *it = raw;
    prng random = prng_for(stress_seed, it->stream);

    int64_t enough = odi_clock_now() + SECONDS(60); /* on a quiet machine it takes four */

    while (live(&random, it->cancels) && odi_clock_now() < enough) {
    }
    return NULL;
}

static void run(bool cancels)
{
    pthread_t threads[THREADS];
    liver livers[THREADS];

    ledger_open(&world.ledger, stress_count(4000000, 1200000));
    world.pool = pool_of(3);
    for (int i = 0; i < THREADS; i++) {
        livers[i] = (liver){(uint64_t)i, cancels};
        pthread_create(&threads[i], NULL, live_on, &livers[i]);
    }
    join_threads(threads, THREADS);
    uint32_t issued = atomic_load(&world.ledger.issued);
    bool complete = COMES_TRUE(atomic_load(&world.ledger.ran) + atomic_load(&world.cancelled) >= issued);
    if (!complete || atomic_load(&world.ledger.ran) + atomic_load(&world.cancelled) != issued)
        dprintf(STDERR_FILENO, "issued %u, ran %llu, cancelled %llu\n", issued,
                atomic_load(&world.ledger.ran), atomic_load(&world.cancelled));
    child_expects(complete);
    child_expects(COMES_TRUE(atomic_load(&world.notified) == atomic_load(&world.notifications)));
    child_expects(atomic_load(&world.ledger.ran) + atomic_load(&world.cancelled) == issued);
    child_expects(od_pool_free(world.pool) == OD_OK);
    child_expects(ledger_close(&world.ledger) == atomic_load(&world.cancelled));
}

static void live_without_cancels(void *unused) { run(false); }
static void live_with_cancels(void *unused) { run(true); }

TEST(nothing_is_lost_between_lives)
{
    stress_run("lives", "short lives", live_without_cancels, NULL);
    stress_run("lives", "short lives, cancelled", live_with_cancels, NULL);
}

/* ---- wakes ---- */

static void *go_back_and_forth(void *raw)
{
    od_queue *queue = raw;
    prng random = prng_for(stress_seed, (uint64_t)(uintptr_t)pthread_self());
    od_group *group = od_group_create();
    atomic_ullong ran = 0;
    int64_t enough = odi_clock_now() + SECONDS(25); /* a trip is four switches, which a busy machine makes wait */

    for (uint32_t i = 1; i <= stress_count(40000, 6000) && odi_clock_now() < enough; i++) {
        od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        child_expects(od_group_wait(group, SECONDS(60))); /* a lost wake ends here */
        child_expects(atomic_load(&ran) == i);
        for (uint32_t pause = prng_one_in(&random, 8) ? prng_below(&random, 3000) : 0; pause > 0; pause--)
            odi_spin_pause(); /* workers fall asleep, or are just about to */
    }
    od_group_release(group);
    return NULL;
}

static void round_trips(void *unused)
{
    for (int workers = 1; workers <= 3; workers++) {
        od_pool *pool = pool_of(workers);
        od_queue *queues[2] = {od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open"),
                               od_queue_create(pool, OD_BAND_UTILITY, 1, "serial")};
        pthread_t threads[3];

        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, go_back_and_forth, queues[i % 2]);
        join_threads(threads, 3);
        for (int i = 0; i < 2; i++)
            od_queue_release(queues[i]);
        child_expects(od_pool_free(pool) == OD_OK);
    }
}

TEST(no_wake_is_lost_in_round_trips)
{
    stress_run("lives", "round trips", round_trips, NULL);
}

STRESS_PROGRAM
