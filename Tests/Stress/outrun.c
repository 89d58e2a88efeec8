/* Producers that outrun the workers by far, on queues with a pending limit: nothing is lost or run
 * twice, no more waits than the limit says, and memory stays where it was. 10^8 submissions:
 * STRESS_SCALE=100. */
#include "Support/pools.h"
#include "Support/stress.h"

enum { LIMIT = 10000, STEPS_OF_A_JOB = 300, LOOKS = 50, PERCENT = 5, SLACK_KIB = 1024, END_MEANWHILE = 100 };

/* One bit for each job, touched before memory is measured. */
static struct {
    od_queue *queue;
    atomic_ulong *bits;
    uint32_t room;
    atomic_uint issued, twice;
    atomic_ullong ran, refused, most_pending;
    atomic_uint result; /* keeps the jobs' work from being optimised away */
} world;

static void job(void *raw)
{
    uint32_t number = (uint32_t)(uintptr_t)raw, word = number / 64, steps = number | 1;
    unsigned long bit = 1ul << number % 64;

    /* About ten times as long as a submission takes. */
    for (int step = 0; step < STEPS_OF_A_JOB; step++) {
        steps = steps * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(steps)); /* each step is taken */
    }
    atomic_fetch_add_explicit(&world.twice,
                              (atomic_fetch_or_explicit(&world.bits[word], bit, memory_order_relaxed) & bit) != 0,
                              memory_order_relaxed);
    atomic_store_explicit(&world.result, steps, memory_order_relaxed);
    atomic_fetch_add_explicit(&world.ran, 1, memory_order_release);
}

/* What is refused is offered again. */
static void submit(uint32_t number)
{
    while (!od_queue_try_async(world.queue, NULL, OD_QUEUE_BAND, 0, job, (void *)(uintptr_t)number)) {
        atomic_fetch_add(&world.refused, 1);
        sched_yield();
    }
}

static void *produce(void *raw)
{
    bool refuses = *(od_overflow *)raw == OD_OVERFLOW_REFUSED;

    for (;;) {
        uint32_t number = atomic_fetch_add(&world.issued, 1);

        if (number >= world.room)
            return NULL;
        if (refuses)
            submit(number);
        else
            od_queue_async(world.queue, NULL, OD_QUEUE_BAND, job, (void *)(uintptr_t)number);
    }
}

/* Jobs that are due are among those done: `ran` of `room`. */
static void wait_for_share(uint64_t share)
{
    while (atomic_load_explicit(&world.ran, memory_order_acquire) < share) {
        uint64_t pending = od_queue_pending(world.queue);

        if (pending > atomic_load(&world.most_pending))
            atomic_store(&world.most_pending, pending);
        odi_clock_sleep(ODI_MILLISECOND);
    }
}

static void outrun(void *raw)
{
    enum { PRODUCERS = 2, WORKERS = 2 };
    od_pool *pool = pool_of(WORKERS);
    od_queue_options options = {.band = OD_BAND_DEFAULT, .width = OD_UNLIMITED, .label = "limited",
                                .pending_limit = LIMIT, .overflow = *(od_overflow *)raw};
    pthread_t producers[PRODUCERS];
    long before, most = 0;

    world.room = stress_count(1000000, 60000);
    world.queue = od_queue_create_with(pool, &options);
    size_t words = world.room / 64 + 1;
    world.bits = malloc(words * sizeof *world.bits);
    child_expects(world.queue != NULL && world.bits != NULL);
    memset(world.bits, 0xff, words * sizeof *world.bits);
    for (size_t word = 0; word < words; word++)
        atomic_store_explicit(&world.bits[word], 0, memory_order_relaxed);
    for (int i = 0; i < PRODUCERS; i++)
        child_expects(pthread_create(&producers[i], NULL, produce, raw) == 0);
    /* The queue has been full by then. */
    wait_for_share(world.room / LOOKS * 2);
    before = resident_kib();
    for (int look = 3; look <= LOOKS; look++) {
        wait_for_share(world.room / LOOKS * (uint64_t)look);
        long now = resident_kib();
        most = now > most ? now : most;
    }
    join_threads(producers, PRODUCERS);
    child_expects(od_queue_wait(world.queue, INT64_MAX));
    dprintf(STDOUT_FILENO, "    %u jobs, %ld KiB after a twenty-fifth, %ld KiB at most, %llu pending at "
            "most, refused %llu times\n", world.room, before, most,
            (unsigned long long)world.most_pending, (unsigned long long)world.refused);
    child_expects(atomic_load(&world.ran) == world.room);
    child_expects(atomic_load(&world.twice) == 0);
    /* Those that wait, those that run, the producers' own, and what ended while it was asked. */
    child_expects(atomic_load(&world.most_pending) <= LIMIT + WORKERS + 2 * PRODUCERS + END_MEANWHILE);
    child_expects(SANITIZED || most <= before + before * PERCENT / 100 + SLACK_KIB);
    od_queue_release(world.queue);
    free(world.bits);
    child_expects(od_pool_free(pool) == OD_OK);
}

static void run(const char *name, od_overflow overflow)
{
    stress_run("outrun", name, outrun, &overflow);
}

TEST(producers_that_wait)
{
    run("waits", OD_OVERFLOW_WAITS);
}

TEST(producers_that_run_it_themselves)
{
    run("runs", OD_OVERFLOW_RUNS);
}

TEST(producers_that_are_refused)
{
    run("refused", OD_OVERFLOW_REFUSED);
}

STRESS_PROGRAM
