/* Every timer is called once, or a cancel, a discard or a stop says that it will not be: several
 * threads arm and cancel, jobs arm from inside, queues are cancelled and suspended, and the
 * pool stops at the end with timers armed. Each timer's end comes once, after its last call,
 * and no call begins after a cancel has returned. */
#include "Support/pools.h"
#include "Support/stress.h"

#include "include/od_timer.h"

enum { THREADS = 4, AT_HAND = 64 };

typedef struct {
    const char *name;
    int workers;
    int64_t longest_ns; /* delays are below this */
    bool cancels_queues, blocks, repeats;
    bool starves; /* jobs occupy all workers, so that a timer thread runs most calls */
    uint32_t plain, sanitized; /* timers */
} scenario;

static const scenario scenarios[] = {
    {"one worker", 1, 2000000, false, false, false, false, 1200000, 60000},
    {"three workers", 3, 2000000, false, false, false, false, 1200000, 60000},
    {"due at once", 2, 2000, false, false, false, false, 1200000, 60000},
    {"blocking", 2, 500000, false, true, false, false, 60000, 12000},
    {"cancelled queues", 3, 500000, true, false, false, false, 600000, 40000},
    {"repeating", 3, 300000, false, false, true, false, 200000, 20000},
    {"everything", 4, 1000000, true, true, true, false, 100000, 15000},
    {"starved", 2, 1000000, true, false, true, true, 60000, 10000},
};

typedef struct {
    od_timer *timer;
    const scenario *plan;
    int64_t due;
    bool repeats;
    atomic_uint calls, overs;
    atomic_bool cancelled; /* a cancel has returned, and said that no call runs */
    bool asked;            /* a cancel was tried */
    bool prevented;        /* it said so: written by its canceller alone */
} slip;

static od_pool *pool;
static od_queue *queues[2];
static slip *slips;
static uint32_t slip_count;
static atomic_uint early, late_calls, double_ends, calls_after_end, next_slip, ended;

static void call(void *raw, uint64_t missed)
{
    slip *it = raw;
    bool was_cancelled = atomic_load(&it->cancelled);

    atomic_fetch_add(&late_calls, was_cancelled);
    atomic_fetch_add(&early, odi_clock_now() < it->due);
    atomic_fetch_add(&calls_after_end, atomic_load(&it->overs) > 0);
    atomic_fetch_add(&it->calls, 1);
    if (it->plan->blocks && (uintptr_t)(it - slips) % 512 == 0)
        odi_clock_sleep(MILLISECONDS(2));
}

static void over(void *raw)
{
    slip *it = raw;

    atomic_fetch_add(&double_ends, atomic_fetch_add(&it->overs, 1) > 0);
    atomic_fetch_add(&ended, 1);
}

static void arm(slip *it, const scenario *plan, prng *random)
{
    int64_t delay = prng_below(random, (uint32_t)plan->longest_ns);
    od_timer_options options = {delay, 0, call, over, it, 0};

    it->plan = plan;
    it->repeats = plan->repeats && prng_one_in(random, 2);
    if (it->repeats)
        options.interval_ns = 1 + prng_below(random, 200000);
    it->timer = od_timer_create(queues[prng_below(random, 2)], &options);
    it->due = odi_clock_now() + delay;
    od_timer_start(it->timer);
}

static void settle(slip *it, bool cancels)
{
    if (cancels || it->repeats) {
        od_timer_cancelled found = od_timer_cancel(it->timer);

        it->asked = true;
        it->prevented = found == OD_TIMER_PREVENTED;
        atomic_store(&it->cancelled, found != OD_TIMER_RUNS);
    }
    od_timer_release(it->timer);
}

static atomic_bool occupies;

static void occupy(void *unused)
{
    odi_clock_sleep(MILLISECONDS(12));
    if (atomic_load(&occupies))
        od_pool_submit(pool, OD_BAND_DEFAULT, occupy, NULL);
}

/* Arms, and settles what it armed some time before; at the end some are left to the stop. */
static void *clerk(void *raw)
{
    const scenario *plan = raw;
    slip *at_hand[AT_HAND] = {0};
    uint32_t index;

    while ((index = atomic_fetch_add(&next_slip, 1)) < slip_count) {
        prng random = prng_for(stress_seed, index);
        slip **place = &at_hand[prng_below(&random, AT_HAND)];

        if (*place != NULL)
            settle(*place, prng_one_in(&random, 2));
        *place = &slips[index];
        arm(*place, plan, &random);
        if (plan->cancels_queues && prng_one_in(&random, 512))
            (void)od_queue_cancel_all(queues[index % 2]);
        if (plan->cancels_queues && prng_one_in(&random, 512)) {
            od_queue_suspend(queues[index % 2]);
            odi_clock_sleep(50 * ODI_MICROSECOND);
            od_queue_resume(queues[index % 2]);
        }
    }
    for (int i = 0; i < AT_HAND; i++) {
        if (at_hand[i] != NULL)
            settle(at_hand[i], i % 2 == 0);
    }
    return NULL;
}

static void check_slip(const slip *it)
{
    unsigned calls = atomic_load(&it->calls);

    child_expects(atomic_load(&it->overs) == 1);
    if (it->repeats)
        return;
    child_expects(calls <= 1);
    child_expects(!it->prevented || calls == 0);
    if (!it->plan->cancels_queues)
        child_expects(calls == 1 || it->asked);
}

static void run(void *raw)
{
    const scenario *plan = raw;
    pthread_t threads[THREADS];

    slip_count = stress_count(plan->plain, plan->sanitized);
    slips = calloc(slip_count, sizeof *slips);
    pool = plan->starves ? pool_without_spares(plan->workers) : pool_of(plan->workers);
    queues[0] = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "concurrent");
    queues[1] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    atomic_store(&occupies, plan->starves);
    if (plan->starves)
        submit_many(pool, plan->workers, occupy, NULL);
    for (int i = 0; i < THREADS; i++)
        child_expects(pthread_create(&threads[i], NULL, clerk, (void *)(uintptr_t)plan) == 0);
    join_threads(threads, THREADS);

    /* What nobody cancelled comes by itself; of "repeating" nothing is left. */
    child_expects(COMES_TRUE(atomic_load(&ended) == slip_count));
    atomic_store(&occupies, false);
    child_expects(od_pool_timers_armed(pool) == 0);

    /* And what is armed at a stop ends with it. */
    slip left[AT_HAND] = {0};
    prng random = prng_for(stress_seed, UINT32_MAX);
    for (int i = 0; i < AT_HAND; i++) {
        od_timer_options options = {SECONDS(100) + i, i % 2 ? 1000 : 0, call, over, &left[i], 0};

        left[i].plan = plan;
        left[i].timer = od_timer_create(queues[prng_below(&random, 2)], &options);
        od_timer_start(left[i].timer);
    }
    child_expects(od_pool_stop(pool, INT64_MAX, NULL) == OD_OK);
    for (int i = 0; i < AT_HAND; i++) {
        child_expects(atomic_load(&left[i].overs) == 1 && atomic_load(&left[i].calls) == 0);
        od_timer_release(left[i].timer);
    }
    child_expects(atomic_load(&early) == 0);
    child_expects(atomic_load(&late_calls) == 0);
    child_expects(atomic_load(&double_ends) == 0);
    child_expects(atomic_load(&calls_after_end) == 0);
    for (uint32_t i = 0; i < slip_count; i++)
        check_slip(&slips[i]);
    od_queue_release(queues[0]);
    od_queue_release(queues[1]);
    child_expects(od_pool_free(pool) == OD_OK);
    free(slips);
}

TEST(each_timer_is_called_once_or_called_off)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        stress_run("timers", scenarios[i].name, run, (void *)(uintptr_t)&scenarios[i]);
}

STRESS_PROGRAM
