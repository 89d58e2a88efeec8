/* What waiting work and idleness cost: bytes per pending job, memory given back, and a
 * process that does nothing when there is nothing to do. */
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include <malloc.h>
#include <sys/mman.h>

#include "include/od_external.h"
#include "include/od_timer.h"

/* ---- memory ---- */

enum { BYTES_FROM_OUTSIDE = 24, BYTES_FROM_INSIDE = 40, BACK_WITHIN_KIB = 8 * 1024 };

static od_pool *pool;
static od_queue *queue;
static od_group *group;
static atomic_ullong ran;
static gate door;

static void hold_the_worker(void)
{
    door = (gate){0};
    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
}

static void print_bytes(const char *where, long jobs, long kib)
{
    print_message("%s: %ld jobs, %.1f bytes each\n", where, jobs, (double)kib * 1024.0 / (double)jobs);
}

static void pending_from_outside(long jobs)
{
    pool = lone_worker();
    queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "pending");
    group = od_group_create();
    hold_the_worker();
    atomic_store(&ran, 0);
    malloc_trim(0);
    long before = resident_kib();
    for (long i = 0; i < jobs; i++)
        od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
    long pending = resident_kib() - before;
    gate_open(&door);
    assert_true(od_group_wait(group, HANG_NS));
    assert_int_equal(atomic_load(&ran), jobs);
    print_bytes("outside", jobs, pending);
    assert_true(pending * 1024 <= jobs * BYTES_FROM_OUTSIDE);
    assert_comes_true(resident_kib() - before <= BACK_WITHIN_KIB);
    od_group_release(group);
    end_pool(pool, queue);
}

TEST_UNSANITIZED(pending_jobs_from_outside_take_at_most_24_bytes, NULL, NULL)
{
    pending_from_outside(1000000);
    pending_from_outside(1200000); /* past a power of two */
}

static struct {
    long jobs, before, pending;
} inside;

static void submit_from_inside(void *unused)
{
    malloc_trim(0);
    inside.before = resident_kib();
    /* Rings that are out of use go soon, but for those that a deque outgrows while the one before is on its way: where
     * the reclaimer has no CPU that may be all of them. What is pending is what stays. */
    for (long i = 0; i < inside.jobs; i++) {
        od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        if (i % 32768 == 0)
            odi_reclaim_drain();
    }
    odi_reclaim_drain();
    inside.pending = resident_kib() - inside.before;
}

static void pending_from_inside(long jobs)
{
    pool = lone_worker();
    queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "pending");
    group = od_group_create();
    atomic_store(&ran, 0);
    inside.jobs = jobs;
    od_queue_async(queue, group, OD_QUEUE_BAND, submit_from_inside, NULL);
    assert_true(od_group_wait(group, HANG_NS));
    assert_int_equal(atomic_load(&ran), jobs);
    print_bytes("inside", jobs, inside.pending);
    assert_true(inside.pending * 1024 <= jobs * BYTES_FROM_INSIDE);
    assert_comes_true(resident_kib() - inside.before <= BACK_WITHIN_KIB);
    od_group_release(group);
    end_pool(pool, queue);
}

TEST_UNSANITIZED(pending_jobs_from_inside_take_at_most_40_bytes, NULL, NULL)
{
    pending_from_inside(1000000);
    pending_from_inside(1200000);
}

TEST_UNSANITIZED(memory_does_not_grow_with_what_has_passed_through, NULL, NULL)
{
    long first = 0;

    pool = pool_of(2);
    queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "through");
    for (int round = 0; round < 30; round++) {
        group = od_group_create();
        for (int i = 0; i < 20000; i++)
            od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        assert_true(od_group_wait(group, HANG_NS));
        od_group_release(group);
        if (round == 9)
            first = resident_kib();
    }
    assert_comes_true(resident_kib() - first <= BACK_WITHIN_KIB);
    end_pool(pool, queue);
}

static atomic_int timers_over;

static void submit_in_every_band(void *unused)
{
    for (int i = 0; i < 200; i++)
        od_pool_submit(pool, (od_band)(i % 5), count_job, &ran);
}

static void no_call(void *unused, uint64_t missed) {}
static void count_over(void *unused) { atomic_fetch_add(&timers_over, 1); }

/* Everything that takes memory or address space: workers, bands, a line of several blocks, records of a group beyond its
 * first bucket, an external thread, a timer. */
static void use_everything_of_a_pool(void)
{
    enum { QUEUES = 40, GROUPS = 3 };
    od_pool_options options = options_for(2);
    od_queue *queues[QUEUES];
    od_group *groups[GROUPS];
    od_fork_scope scope;
    gate doors[2] = {0};

    options.stack_bytes = 256 * 1024;
    pool = pool_with(options, (odi_pool_world){0});
    for (int i = 0; i < GROUPS; i++)
        groups[i] = od_group_create();
    for (int i = 0; i < 2; i++)
        hold_a_worker(pool, &doors[i]);
    open_gates(doors, 2);
    od_pool_submit(pool, OD_BAND_DEFAULT, submit_in_every_band, NULL);
    submit_in_every_band(NULL);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = queue_with((od_queue_options){.width = i % 3, .pending_limit = i % 5 == 1 ? 1000 : 0,
                                                  .target = i % 7 == 3 ? queues[0] : NULL, .shared = i == 0});
        od_queue_suspend(queues[i]);
        for (int job = 0; job < 100; job++)
            od_queue_async(queues[i], groups[job % GROUPS], OD_QUEUE_BAND, count_job, &ran);
        od_queue_resume(queues[i]);
    }
    for (int i = 0; i < GROUPS; i++)
        assert_int_equal(od_queue_notify(queues[i], count_job, &ran) + od_group_notify(groups[i], count_job, &ran), OD_OK);
    atomic_store(&timers_over, 0);
    od_timer *timer = od_timer_create(queues[0], &(od_timer_options){.delay_ns = ODI_MILLISECOND, .call = no_call, .over = count_over});
    od_timer_start(timer);
    od_forks_enter(pool, &scope);
    od_forks_leave(&scope);
    for (int i = 0; i < GROUPS; i++) {
        assert_true(od_group_wait(groups[i], HANG_NS));
        od_group_release(groups[i]);
    }
    (void)od_timer_cancel(timer);
    assert_comes_true(atomic_load(&timers_over) == 1); /* until then it needs its queue */
    od_timer_release(timer);
    for (int i = QUEUES; i-- > 0;)
        od_queue_release(queues[i]);
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_comes_true(thread_count() == threads_at_rest());
}

TEST_UNSANITIZED(what_a_pool_and_its_queues_had_goes_with_them, NULL, NULL)
{
    enum { BEFORE = 50, ROUNDS = 400, BYTES_OF_EACH = 60 }; /* what malloc keeps for threads goes up and down, by ten thousand */
    size_t bytes = 0;
    long kib = 0;

    (void)mallopt(M_ARENA_MAX, 1); /* a further one takes 64 MiB of addresses */
    for (int round = -BEFORE; round < ROUNDS; round++) {
        if (round == 0) {
            bytes = mallinfo2().uordblks;
            kib = status_field("VmSize");
        }
        use_everything_of_a_pool();
    }
    bytes = mallinfo2().uordblks - bytes;
    kib = status_field("VmSize") - kib;
    print_message("of %d pools: %zd bytes, %ld KiB of addresses\n", ROUNDS, (ssize_t)bytes, kib);
    assert_true((ssize_t)bytes < ROUNDS * BYTES_OF_EACH);
    assert_true(kib < ROUNDS * 4); /* less than a page of each */
}

/* ---- idleness ---- */

enum { WATCH_S = 2 };

/* Whether the whole process does nothing in WATCH_S seconds, in which this thread sleeps once. Other tests
 * of this file must not have left threads behind. */
static bool is_idle(void)
{
    struct rusage before, after;

    getrusage(RUSAGE_SELF, &before);
    odi_clock_sleep(SECONDS(WATCH_S));
    getrusage(RUSAGE_SELF, &after);
    long switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw;
    int64_t cpu = cpu_microseconds(&after) - cpu_microseconds(&before);
    print_message("in %d s: %ld switches, %lld µs\n", WATCH_S, switches, (long long)cpu);
    return SANITIZED || /* TSan has a thread that ticks */
           (switches <= 10 && cpu <= 500); /* the two calls of getrusage themselves */
}

/* One second after its last work, or later where the machine is busy with something else. */
static void assert_idle(void)
{
    bool idle = false;

    odi_clock_sleep(SECONDS(1));
    for (int window = 0; window < 5 && !idle; window++)
        idle = is_idle();
    assert_true(idle);
}

/* Eight jobs, or one that comes alone. */
static void use(od_queue **queues, int count)
{
    for (int i = 0; i < count; i++) {
        for (int uses = i % 2 ? 1 : 8; uses > 0; uses--)
            od_queue_async(queues[i], NULL, OD_QUEUE_BAND, count_job, &ran);
    }
}

static void await(od_queue **queues, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(od_queue_wait(queues[i], HANG_NS));
}

/* Its handle, its record, and nothing that waiting jobs have needed: how many met their drainer is all the same. What
 * was needed meanwhile is free, and what malloc keeps of that is no queue's. */
TEST_UNSANITIZED(a_live_queue_that_was_used_takes_at_most_700_bytes, NULL, NULL)
{
    enum { QUEUES = 50000, BYTES_OF_QUEUE = 700 };

    od_queue **queues = malloc(QUEUES * sizeof *queues);
    assert_non_null(queues);
    pool = lone_worker();
    memset(queues, 0xff, QUEUES * sizeof *queues); /* resident from here on */
    malloc_trim(0);
    long before = resident_kib();
    for (int i = 0; i < QUEUES; i++)
        queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "live");
    hold_the_worker();
    use(queues, QUEUES);
    gate_open(&door);
    await(queues, QUEUES);
    use(queues, QUEUES); /* this time beside the worker */
    await(queues, QUEUES);
    malloc_trim(0);
    long kib = resident_kib() - before;
    print_message("live: %d queues, %.1f bytes each\n", QUEUES, (double)kib * 1024.0 / (double)QUEUES);
    assert_true(kib * 1024 <= (long)QUEUES * BYTES_OF_QUEUE);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    od_pool_free(pool);
    free(queues);
}

TEST(after_work_of_every_kind_the_process_is_idle)
{
    od_queue *serial;
    gate doors[4] = {0};

    pool = pool_of(3);
    queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "idle");
    serial = od_queue_create(pool, OD_BAND_UTILITY, 1, "idle too");
    atomic_store(&ran, 0);
    for (int i = 0; i < 20000; i++) {
        od_pool_submit(pool, (od_band)(i % 5), count_job, &ran);
        od_queue_async(i % 2 ? queue : serial, NULL, OD_QUEUE_BAND, count_job, &ran);
    }
    for (int i = 0; i < 4; i++) /* blocking starts the monitor and spares */
        hold_a_worker(pool, &doors[i]);
    open_gates(doors, 4);
    assert_comes_true(all_done(pool) >= 40004);
    assert_idle();

    od_metrics metrics = metrics_of(pool);
    assert_int_equal(metrics.executed, 40004);
    assert_comes_true(metrics_of(pool).active <= 3);
    end_pool(pool, queue, serial);
}

static void work_in_locked_memory(void *unused)
{
    gate doors[2] = {0};

    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return; /* not allowed here */
    long before = resident_kib();

    pool = pool_of(2);
    for (int i = 0; i < 2; i++)
        hold_a_worker(pool, &doors[i]);
    child_expects(resident_kib() - before < 64 * 1024);
    open_gates(doors, 2);
    od_pool_free(pool);
}

TEST_UNSANITIZED(two_workers_take_tens_of_megabytes_where_memory_is_locked, NULL, NULL)
{
    assert_child_succeeds(work_in_locked_memory, NULL);
}

static void *sync_once(void *unused)
{
    run_synced(queue, count_job, &ran);
    return unused;
}

/* They took turns at looking, 4,000 switches a second. */
TEST(a_hundred_callers_in_sync_sleep)
{
    pthread_t callers[100];

    pool = pool_of(2);
    queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "suspended");
    od_queue_suspend(queue);
    atomic_store(&ran, 0);
    start_threads(callers, 100, sync_once);
    assert_comes_true(waiting_in(queue) == 100);
    assert_idle();
    assert_int_equal(atomic_load(&ran), 0);
    od_queue_resume(queue);
    join_threads(callers, 100);
    assert_int_equal(atomic_load(&ran), 100);
    end_pool(pool, queue);
}

TEST(hints_of_several_bands_do_not_keep_a_worker_awake)
{
    pool = pool_of(1);
    atomic_store(&ran, 0);
    for (int i = 0; i < 100; i++)
        od_pool_submit(pool, (od_band)(i % 5), count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 100);
    assert_comes_true(metrics_of(pool).parks > 0);
    assert_comes_true(odi_idle_sleepers(&pool->team.sites[0].idle) == 1);
    od_pool_free(pool);
}

GUARDED_PROGRAM
