/* pool/: options, threads that come when needed, a size that changes under way, limits that
 * are followed, and threads that cannot be had. */
#include "Support/frozen_reader.h"
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/prng.h"
#include "Support/threads.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

#include <errno.h>

#include "include/od_timer.h"
#include "os/source.h"
#include "worker/bench.h"

static int no_workers; /* threads of the process while no pool has any */

/* ---- options ---- */

static void refuse_options(od_pool_options options, const char *part)
{
    char message[256] = "";
    od_pool *pool = (od_pool *)&pool;

    assert_int_equal(od_pool_create(&options, &pool, message, sizeof message), OD_INVALID);
    assert_null(pool);
    assert_non_null(strstr(message, part));
    assert_int_equal(od_pool_create(&options, &pool, NULL, 0), OD_INVALID);
    memset(message, '?', sizeof message);
    assert_int_equal(od_pool_create(&options, &pool, message, 5), OD_INVALID);
    assert_int_equal(strlen(message), 4);
    assert_int_equal(message[5], '?');
}

TEST(options_out_of_range_are_refused_with_a_sentence)
{
#define REFUSED(field, value, part)                                                       \
    do {                                                                                  \
        od_pool_options options = options_for(2);                                         \
        options.field = (value);                                                          \
        refuse_options(options, part);                                                    \
    } while (0)
    REFUSED(workers, -1, "workers: out of range (-1)");
    REFUSED(workers, 1025, "1025");
    REFUSED(workers, INT32_MIN, "-2147483648");
    REFUSED(placement, (od_placement)4, "unknown value (4)");
    REFUSED(placement, (od_placement)-1, "unknown");
    REFUSED(stack_bytes, 1, "stackSize: out of range (1 bytes)");
    REFUSED(stack_bytes, SIZE_MAX, "stackSize");
    REFUSED(spare_workers, -2, "-2");
    REFUSED(spare_workers, 1025, "1025");
}

TEST(the_least_and_the_most_are_taken)
{
    od_pool_options least = options_for(1), most = options_for(1024);

    least.stack_bytes = 64 * 1024;
    least.spare_workers = 0;
    most.stack_bytes = (size_t)64 << 30;
    most.spare_workers = 1024;
    assert_int_equal(od_pool_free(pool_with(least, (odi_pool_world){0})), OD_OK);
    assert_int_equal(od_pool_free(pool_with(most, (odi_pool_world){0})), OD_OK);
}

/* The options of a variable with this value, where it is one; otherwise what they were before. */
static od_pool_options options_where(const char *name, const char *value, od_status expected)
{
    od_pool_options options = {.workers = 3, .spare_workers = 3, .placement = OD_PLACEMENT_NODE};
    char message[256] = "";

    setenv(name, value, 1);
    assert_int_equal(od_pool_options_from_environment(&options, message, sizeof message), expected);
    unsetenv(name);
    if (expected != OD_OK) {
        assert_non_null(strstr(message, name));
        assert_true(options.workers == 3 && options.spare_workers == 3 && options.placement == OD_PLACEMENT_NODE);
    }
    return options;
}

TEST(the_environment_names_the_spares)
{
    static const char *const nonsense[] = {"", "x", "-1", "1025", "3 "};

    assert_int_equal(options_where("OVERDRIVE_SPARES", "0", OD_OK).spare_workers, 0);
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        options_where("OVERDRIVE_SPARES", nonsense[i], OD_INVALID);
}

TEST(the_environment_names_workers_and_placement)
{
    static const char *const nonsense[] = {"", "x", "-1", "0", "1025", "3 ", "99999999999999"};

    assert_int_equal(options_where("OVERDRIVE_WORKERS", "7", OD_OK).workers, 7);
    assert_int_equal(options_where("OVERDRIVE_PLACEMENT", "core", OD_OK).placement, OD_PLACEMENT_CORE);
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        options_where("OVERDRIVE_WORKERS", nonsense[i], OD_INVALID);
    options_where("OVERDRIVE_PLACEMENT", "everywhere", OD_INVALID);
    od_pool_options options = {.workers = 3};
    setenv("OVERDRIVE_WORKERS", "x", 1); /* it alone is left out */
    setenv("OVERDRIVE_SPARES", "5", 1);
    assert_int_equal(od_pool_options_from_environment(&options, NULL, 0), OD_INVALID);
    assert_true(options.workers == 3 && options.spare_workers == 5);
    unsetenv("OVERDRIVE_WORKERS");
    unsetenv("OVERDRIVE_SPARES");
}

/* ---- life ---- */

TEST(a_pool_has_no_thread_before_its_first_job)
{
    atomic_ullong ran = 0;
    od_pool *pool = pool_of(4);

    assert_int_equal(thread_count(), no_workers);
    assert_int_equal(metrics_of(pool).threads_started, 0);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    assert_in_range(metrics_of(pool).threads_started, 1, 4);
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_comes_true(thread_count() == no_workers);
}

/* Of the process, in pages. */
static long address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages;
}

TEST(a_pool_that_was_never_used_goes_without_a_trace)
{
    enum { POOLS = 50 };
    od_stop_report report;
    long directory = (long)(ODI_INJECTOR_DIRECTORY * sizeof(odi_block_place)) / sysconf(_SC_PAGESIZE), before = 0;

    for (int i = 0; i < POOLS; i++) {
        od_pool *pool = pool_of(1 + i);

        before = i > 0 ? before : address_space();
        if (i % 2) {
            assert_int_equal(od_pool_stop(pool, 0, &report), OD_OK);
            assert_int_equal(report.ran + report.cancelled + report.stuck, 0);
        }
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
    assert_int_equal(thread_count(), no_workers);
    if (!SANITIZED) /* whose allocators grow */
        assert_true(address_space() - before < POOLS * directory / 2);
}

TEST(every_submitted_job_runs_once_and_is_counted)
{
    static const int sizes[] = {1, 2, 3, 16};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        atomic_ullong ran = 0;
        od_pool *pool = pool_without_spares(sizes[i]); /* a busy machine's workers block, and may have one */
        int jobs = UNLESS_SANITIZED(20000, 3000);

        for (int job = 0; job < jobs; job++)
            od_pool_submit(pool, (od_band)(job % 5), count_job, &ran);
        assert_comes_true(all_done(pool) == (uint64_t)jobs);
        assert_int_equal(atomic_load(&ran), jobs);
        od_metrics metrics = metrics_of(pool);
        assert_int_equal(metrics.cancelled + metrics.ran_on_callers, 0);
        assert_int_equal(metrics.injector_jobs, jobs);
        assert_in_range(metrics.threads_started, 1, (uintmax_t)sizes[i]);
        od_pool_free(pool);
    }
}

TEST(what_comes_from_outside_is_claimed_in_batches)
{
    od_pool *pool = lone_worker();
    gate door = {0};

    hold_a_worker(pool, &door);
    submit_many(pool, 100, no_job, NULL);
    gate_open(&door);
    assert_comes_true(all_done(pool) == 101);
    assert_int_equal(metrics_of(pool).injector_jobs, 101);
    assert_in_range(metrics_of(pool).injector_claims, 5, 20);
    od_pool_free(pool);
}

static void fill_all_bands(void *pool)
{
    for (int job = 0; job < 5000; job++)
        od_pool_submit(pool, (od_band)(job % 5), no_job, NULL);
}

TEST(rings_that_grow_are_counted_in_every_band)
{
    enum { RINGS = 5 }; /* of 64 slots to 1024; the band of what comes from outside has its first before */
    od_pool *pool = lone_worker();

    od_pool_submit(pool, OD_BAND_DEFAULT, fill_all_bands, pool);
    assert_comes_true(all_done(pool) == 5001);
    assert_int_equal(metrics_of(pool).deque_growths, 5 * RINGS - 1);
    od_pool_free(pool);
}

typedef struct {
    od_pool *pool;
    bool is_worker, is_other_worker;
    void *owner;
    atomic_bool done;
} identity;

static void look_around(void *raw)
{
    identity *it = raw;

    it->is_worker = od_pool_is_worker(it->pool) && od_pool_is_worker(NULL);
    it->owner = od_pool_current_owner();
    atomic_store(&it->done, true);
}

TEST(a_job_knows_its_pool_and_others_do_not)
{
    od_pool *pool = pool_of(1), *other = pool_of(1);
    identity it = {.pool = pool};

    od_pool_set_owner(pool, &it);
    assert_false(od_pool_is_worker(NULL));
    assert_null(od_pool_current_owner());
    od_pool_submit(pool, OD_BAND_DEFAULT, look_around, &it);
    assert_comes_true(atomic_load(&it.done));
    assert_true(it.is_worker);
    assert_ptr_equal(it.owner, &it);
    it = (identity){.pool = other};
    od_pool_submit(pool, OD_BAND_DEFAULT, look_around, &it);
    assert_comes_true(atomic_load(&it.done));
    assert_false(it.is_worker);
    od_pool_free(pool);
    od_pool_free(other);
}

/* ---- size ---- */

TEST(a_size_out_of_range_is_refused)
{
    od_pool *pool = pool_of(3);

    assert_int_equal(od_pool_set_workers(pool, -1), OD_INVALID);
    assert_int_equal(od_pool_set_workers(pool, 1025), OD_INVALID);
    assert_int_equal(od_pool_workers(pool), 3);
    assert_int_equal(od_pool_set_workers(pool, 1024), OD_OK);
    assert_int_equal(od_pool_workers(pool), 1024);
    od_pool_free(pool);
}

TEST(jobs_survive_a_pool_that_grows_and_shrinks)
{
    atomic_ullong ran = 0;
    od_pool *pool = pool_of(4);
    prng random = prng_for(11, 0);
    uint64_t submitted = 0;

    for (int round = 0; round < UNLESS_SANITIZED(300, 60); round++) {
        assert_int_equal(od_pool_set_workers(pool, 1 + (int)prng_below(&random, 8)), OD_OK);
        for (uint32_t jobs = prng_below(&random, 200); jobs > 0; jobs--, submitted++)
            od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    }
    assert_comes_true(all_done(pool) == submitted);
    assert_int_equal(atomic_load(&ran), submitted);
    od_pool_free(pool);
}

TEST(a_smaller_pool_sends_threads_home)
{
    gate doors[6] = {0};
    od_pool *pool = pool_of(6);

    for (int i = 0; i < 6; i++)
        hold_a_worker(pool, &doors[i]);
    assert_int_equal(od_pool_set_workers(pool, 1), OD_OK);
    open_gates(doors, 6);
    assert_comes_true(metrics_of(pool).active <= 1);
    assert_comes_true(thread_count() <= no_workers + 2); /* one worker, and the monitor */
    atomic_ullong ran = 0;
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    od_pool_free(pool);
}

static void call_nothing(void *unused, uint64_t missed) {}

/* One of them until a timer is due. The one that works is as many as there may be. */
TEST(a_smaller_pool_sends_sleepers_home)
{
    enum { WORKERS = 4 };
    od_timer_options options = {.delay_ns = SECONDS(3600), .call = call_nothing};
    od_pool *pool = pool_of(WORKERS);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "of a timer");
    od_timer *timer = od_timer_create(queue, &options);
    gate doors[WORKERS] = {0};

    od_timer_start(timer);
    for (int i = 0; i < WORKERS; i++)
        hold_a_worker(pool, &doors[i]);
    open_gates(doors, WORKERS - 1);
    assert_comes_true(idle_ones_sleep(pool, WORKERS - 1));
    assert_comes_true(odi_load_relaxed(&pool->team.timers.leader) != 0); /* relaxed: looked at again and again */
    assert_null(odi_team_set_target(&pool->team, 1, NULL)); /* where memory is too short for a plan, too */
    assert_comes_true(metrics_of(pool).active == 1);
    gate_open(&doors[WORKERS - 1]);
    assert_int_equal(od_timer_cancel(timer), OD_TIMER_PREVENTED);
    od_timer_release(timer);
    end_pool(pool, queue);
}

/* ---- limits ---- */

static atomic_int cpus_allowed;

static FILE *open_nothing(const odi_source *source, const char *path)
{
    errno = ENOENT;
    return NULL;
}

static int allow(const odi_source *source, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    for (int cpu = 0; cpu < atomic_load(&cpus_allowed); cpu++)
        odi_cpu_mask_add(mask, cpu);
    return 0;
}

static odi_source source = {.open = open_nothing, .affinity = allow, .root = ""};

TEST(a_pool_without_a_number_follows_the_limits)
{
    atomic_ullong ran = 0;
    uint64_t submitted = 0;

    atomic_store(&cpus_allowed, 3);
    od_pool *pool = pool_with(options_for(0), (odi_pool_world){.source = &source});
    assert_int_equal(od_pool_workers(pool), 3);
    int64_t before = odi_clock_now();
    odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed, both: nobody else is there */
    odi_pool_refresh(&pool->team);
    assert_true(odi_load_relaxed(&pool->next_refresh_ns) >= before + ODI_SECOND);
    atomic_store(&cpus_allowed, 5);
    int64_t give_up = odi_clock_now() + HANG_NS;
    while (od_pool_workers(pool) != 5 && odi_clock_now() < give_up) {
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        submitted++;
        odi_clock_sleep(MILLISECONDS(5));
    }
    assert_int_equal(od_pool_workers(pool), 5);
    assert_int_equal(od_pool_set_workers(pool, 2), OD_OK); /* no longer */
    atomic_store(&cpus_allowed, 1);
    odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed: whoever is through with a job looks now */
    submit_many(pool, 20, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == submitted + 20);
    assert_true(all_has_run_that_can(pool));
    assert_int_equal(od_pool_workers(pool), 2);
    od_pool_free(pool);
}

/* A machine of three CPUs with a quota of two, while it can be read. */
static atomic_bool files_are_refused;

static FILE *open_quota(const odi_source *source, const char *path)
{
    static char group[] = "0::/job\n", quota[] = "200000 100000\n";
    static char mounts[] = "30 20 0:27 / /cg rw - cgroup2 cgroup2 rw\n";
    char *text = strcmp(path, "/proc/self/cgroup") == 0      ? group
                 : strcmp(path, "/proc/self/mountinfo") == 0 ? mounts
                 : strcmp(path, "/cg/job/cpu.max") == 0      ? quota
                                                             : NULL;

    errno = atomic_load(&files_are_refused) ? EMFILE : ENOENT;
    return errno == EMFILE || text == NULL ? NULL : fmemopen(text, strlen(text), "r");
}

static int workers_now(od_pool *pool)
{
    odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed: nobody else is there */
    odi_pool_refresh(&pool->team);
    return od_pool_workers(pool);
}

TEST(a_pool_keeps_its_quota_while_no_descriptor_is_to_be_had)
{
    static odi_source quota = {.open = open_quota, .affinity = allow, .root = ""};

    atomic_store(&cpus_allowed, 3);
    atomic_store(&files_are_refused, false);
    od_pool *pool = pool_with(options_for(0), (odi_pool_world){.source = &quota});
    assert_int_equal(od_pool_workers(pool), 2);
    atomic_store(&files_are_refused, true);
    assert_int_equal(workers_now(pool), 2);
    assert_int_equal(workers_now(pool), 2);
    atomic_store(&files_are_refused, false);
    atomic_store(&cpus_allowed, 1);
    assert_int_equal(workers_now(pool), 1);
    od_pool_free(pool);
}

static void say_it_and_wait(void *door)
{
    od_blocking_begin();
    gate_pass(door);
    od_blocking_end();
}

static void compute_for_a_while(void *unused)
{
    int64_t until = odi_clock_after(MILLISECONDS(60));

    while (odi_clock_now() < until) {
    }
}

/* It is counted by what it says, and not once more by what the monitor sees. */
TEST(who_says_that_it_waits_has_one_in_its_place_and_not_two)
{
    od_pool *pool = pool_of(1);
    gate door = {0};

    od_pool_submit(pool, OD_BAND_DEFAULT, say_it_and_wait, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    od_pool_submit(pool, OD_BAND_DEFAULT, compute_for_a_while, NULL);
    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_comes_true(all_done(pool) == 2);
    assert_int_equal(metrics_of(pool).most_spares, 1);
    gate_open(&door);
    od_pool_free(pool);
}

/* None of them comes to look. */
TEST(limits_are_followed_while_all_workers_are_in_jobs)
{
    od_pool_options options = options_for(0);
    gate door = {0};

    options.spare_workers = 0;
    atomic_store(&cpus_allowed, 1);
    od_pool *pool = pool_with(options, (odi_pool_world){.source = &source});
    hold_a_worker(pool, &door);
    atomic_store(&cpus_allowed, 2);
    odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN); /* relaxed: the monitor looks again and again */
    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_comes_true(all_done(pool) == 1);
    gate_open(&door);
    od_pool_free(pool);
}

/* Where the token's holder waits awake it says on which CPU. */
TEST(workers_wait_awake_where_there_are_two_cpus_and_not_with_one)
{
    for (int cpus = 1; cpus <= 2; cpus++) {
        atomic_store(&cpus_allowed, cpus);
        od_pool *pool = pool_with(options_for(1), (odi_pool_world){.source = &source});
        odi_atomic(int) *spun_on = &pool->team.sites[0].searcher_cpu;

        odi_store_relaxed(spun_on, -7); /* relaxed, both: a hint */
        for (uint64_t job = 1; job <= 20 || (cpus == 2 && job < 10000 && odi_load_relaxed(spun_on) == -7); job++) {
            od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
            assert_comes_true(all_done(pool) == job);
        }
        assert_true(all_has_run_that_can(pool));
        assert_int_equal(odi_load_relaxed(spun_on) == -7, cpus == 1);
        od_pool_free(pool);
    }
}

TEST(more_cpus_than_1024_have_1024_workers)
{
    atomic_store(&cpus_allowed, 1500);
    od_pool *pool = pool_with(options_for(0), (odi_pool_world){.source = &source});
    assert_int_equal(od_pool_workers(pool), 1024);
    assert_int_equal(od_pool_set_workers(pool, 3), OD_OK);
    assert_int_equal(od_pool_set_workers(pool, 0), OD_OK);
    assert_int_equal(od_pool_workers(pool), 1024);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void arm_nothing(odi_team *team)
{
}

TEST(what_waits_is_begun_where_the_limits_allow_more)
{
    od_pool_options options = options_for(0);

    options.spare_workers = 0;
    for (int number = 0; number <= 2; number += 2) { /* or whoever has set a number */
        atomic_ullong ran = 0;
        gate door = {0};

        atomic_store(&cpus_allowed, 1);
        od_pool *pool = pool_with(options, (odi_pool_world){.source = &source});
        pool->team.arm_monitor = arm_nothing; /* which might be about to start the one that is asked for */
        hold_a_worker(pool, &door);
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        atomic_store(&cpus_allowed, 2);
        assert_int_equal(od_pool_set_workers(pool, number), OD_OK);
        assert_int_equal(odi_load_relaxed(&pool->team.may_spin), number == 0); /* relaxed: nobody else writes it */
        assert_int_equal(metrics_of(pool).threads_started, 2); /* by now: nobody else looks */
        assert_comes_true(atomic_load(&ran) == 1);
        gate_open(&door);
        atomic_store(&cpus_allowed, 3); /* and again */
        assert_int_equal(od_pool_set_workers(pool, 0), OD_OK);
        assert_comes_true(od_pool_workers(pool) == 3);
        od_pool_free(pool);
    }
}

/* Its workers are neither as many as the limits say, nor where. */
TEST(a_pool_of_a_number_that_pins_nobody_does_not_read_the_limits_again)
{
    atomic_store(&cpus_allowed, 2);
    od_pool *pool = pool_with(options_for(2), (odi_pool_world){.source = &source});
    atomic_store(&cpus_allowed, 3);
    odi_store_relaxed(&pool->next_refresh_ns, INT64_MIN);
    odi_pool_refresh(&pool->team);
    assert_int_equal(pool->limits.affinity_count, 2);
    od_pool_free(pool);
}

/* The leak checker looks. */
TEST(a_pool_that_is_refused_frees_the_machine_that_was_made_up_for_it)
{
    od_pool_options options = options_for(-1);
    od_pool *pool = NULL;

    assert_int_equal(odi_pool_create_in(&options, &(odi_pool_world){.topology = machine_of(1, 2, 1)}, &pool, NULL, 0),
                     OD_INVALID);
    assert_null(pool);
}

/* The last of two stays, where there are spares. */
TEST(who_leaves_the_bench_takes_no_place_along)
{
    for (int stays = 0; stays <= 1; stays++) {
        od_pool *pool = stays ? pool_of(3) : pool_without_spares(3);
        gate door = {0};

        pool->team.bench_ns = MILLISECONDS(1);
        submit_many(pool, 3, gate_job, &door);
        assert_comes_true(atomic_load(&door.waiting) == 3);
        assert_int_equal(od_pool_set_workers(pool, 1), OD_OK);
        gate_open(&door);
        assert_comes_true(workers_present(pool) == 1 + stays);
        assert_int_equal(metrics_of(pool).active, 1);
        od_pool_free(pool);
    }
}

static void ask_for_the_bench(void *result)
{
    atomic_store((atomic_int *)result, (int)odi_team_bench(odi_worker_self));
}

/* Two may have seen that there is one too many. */
TEST(who_is_not_one_too_many_keeps_its_place)
{
    od_pool *pool = lone_worker();
    atomic_int result = -1;

    pool->team.bench_ns = MILLISECONDS(1);
    od_pool_submit(pool, OD_BAND_DEFAULT, ask_for_the_bench, &result);
    assert_comes_true(atomic_load(&result) != -1);
    assert_int_equal(atomic_load(&result), ODI_BENCH_GOES_ON);
    assert_int_equal(metrics_of(pool).active, 1);
    od_pool_free(pool);
}

static struct {
    od_pool *pool;
    atomic_bool gone;
} freed;

static void *free_and_say_so(void *unused)
{
    od_pool_free(freed.pool);
    atomic_store(&freed.gone, true);
    return unused;
}

/* What it has retired may go back to what is freed with it. */
TEST(a_pool_goes_when_nobody_reads_what_it_has_retired)
{
    atomic_ullong ran = 0;
    frozen_reader reader;
    pthread_t freer;

    freed.pool = pool_of(1);
    freeze_a_reader(&reader);
    od_pool_submit(freed.pool, OD_BAND_DEFAULT, count_job, &ran); /* retires the table without its worker */
    assert_comes_true(atomic_load(&ran) == 1);
    assert_int_equal(pthread_create(&freer, NULL, free_and_say_so, NULL), 0);
    for (int look = 0; look < 50; look++, odi_clock_sleep(MILLISECONDS(1)))
        assert_false(atomic_load(&freed.gone));
    thaw(&reader);
    pthread_join(freer, NULL);
}

/* ---- no threads ---- */

TEST(without_threads_a_submission_is_refused_whole)
{
    od_pool *pool = pool_of(2);
    od_queue *serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_group *group = od_group_create();
    atomic_ullong ran = 0;

    atomic_store(&before_thread, no_thread);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran), OD_NO_THREAD);
        assert_int_equal(od_queue_async(serial, NULL, OD_QUEUE_BAND, count_job, &ran), OD_NO_THREAD);
        assert_int_equal(od_queue_async(serial, group, OD_QUEUE_BAND, count_job, &ran), OD_NO_THREAD);
    }
    assert_int_equal(od_queue_pending(serial) + od_group_pending(group), 0);
    assert_true(od_group_wait(group, HANG_NS));
    assert_int_equal(all_done(pool), 0);
    assert_in_range(metrics_of(pool).thread_failures, 1, 300);

    atomic_store(&before_thread, NULL); /* threads are to be had again */
    assert_int_equal(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran), OD_OK);
    assert_int_equal(od_queue_async(serial, group, OD_QUEUE_BAND, count_job, &ran), OD_OK);
    assert_comes_true(atomic_load(&ran) == 2);
    assert_true(od_group_wait(group, HANG_NS));
    assert_int_equal(metrics_of(pool).ran_on_callers, 0);
    od_group_release(group);
    end_pool(pool, serial);
}

TEST(a_further_thread_that_could_not_be_had_is_tried_for_again_some_time_later)
{
    od_pool *pool = pool_without_spares(2);
    gate door = {0};

    pool->team.arm_monitor = arm_nothing; /* which would try on its own */
    hold_a_worker(pool, &door);
    int64_t before = odi_clock_now();
    atomic_store(&before_thread, no_thread);
    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    assert_int_equal(metrics_of(pool).thread_failures, 1);
    assert_true(LOCKED(&pool->team.lock, pool->team.next_start_ns) >= before + MILLISECONDS(100));
    for (int each = 0; each < 2; each++) {
        odi_lock_acquire(&pool->team.lock);
        pool->team.next_start_ns = each == 0 ? INT64_MAX : before;
        odi_lock_release(&pool->team.lock);
        od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
        assert_int_equal(metrics_of(pool).thread_failures, each + 1);
    }
    atomic_store(&before_thread, NULL);
    gate_open(&door);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void submit_in_a_child_without_threads(void *pool)
{
    atomic_ullong ran = 0;

    child_expects(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) == OD_NO_THREAD);
    atomic_store(&before_thread, NULL);
    child_expects(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) == OD_OK);
    child_expects(COMES_TRUE(atomic_load(&ran) == 1));
}

TEST(a_forked_childs_first_submission_is_refused_without_threads)
{
    od_pool *pool = pool_of(1);
    atomic_ullong ran = 0;

    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    atomic_store(&before_thread, no_thread);
    assert_child_succeeds(submit_in_a_child_without_threads, pool);
    atomic_store(&before_thread, NULL);
    od_pool_free(pool);
}

static void run_without_threads(void *unused)
{
    od_pool *pool = pool_of(2);
    atomic_ullong ran = 0;

    atomic_store(&before_thread, no_thread);
    for (int i = 0; i < 1000; i++)
        child_expects(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) == OD_NO_THREAD);
    od_stop_report report;
    child_expects(od_pool_stop(pool, INT64_MAX, &report) == OD_OK);
    child_expects(report.ran == 0 && report.cancelled == 0 && report.stuck == 0);
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(a_missing_thread_is_said_once)
{
    outcome it = in_a_child(run_without_threads, NULL, 60);
    assert_int_equal(it.status, 0);
    char *said = strstr(it.said, "could not be started");
    assert_non_null(said);
    assert_null(strstr(said + 1, "could not be started"));
    assert_non_null(strstr(said, "; 0 run). Submissions are refused."));
}

static atomic_int threads_to_grant;

static int grant_some(void) { return atomic_fetch_sub(&threads_to_grant, 1) > 0 ? 0 : EAGAIN; }

TEST(with_fewer_threads_than_asked_for_nothing_is_lost)
{
    for (int granted = 0; granted <= 5; granted++) {
        atomic_ullong ran = 0;
        od_pool *pool = pool_of(4);
        int jobs = UNLESS_SANITIZED(5000, 1000);

        atomic_store(&threads_to_grant, granted);
        atomic_store(&before_thread, grant_some);
        uint64_t accepted = 0;
        for (int i = 0; i < jobs; i++)
            accepted += od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) == OD_OK;
        /* One may be the reclaimer's, and a sanitizer asks twice. */
        assert_true(accepted == (uint64_t)jobs || (accepted == 0 && granted <= UNLESS_SANITIZED(1, 3)));
        assert_comes_true(all_done(pool) == accepted);
        assert_int_equal(atomic_load(&ran), accepted);
        atomic_store(&before_thread, NULL);
        od_pool_free(pool);
    }
}

/* A start that fails holds the search token meanwhile: what is submitted then relies on it. */
static struct {
    odi_team *team;
    atomic_bool attempting, may_fail;
} slow_failure;

static int fail_slowly(void)
{
    /* Under the team's lock it is the reclaimer that is started: not our business. */
    if (odi_load_relaxed(&slow_failure.team->lock.word) != ODI_LOCK_FREE)
        return 0;
    atomic_store(&slow_failure.attempting, true);
    while (!atomic_load(&slow_failure.may_fail))
        odi_clock_sleep(100 * ODI_MICROSECOND);
    return EAGAIN;
}

typedef struct {
    od_pool *pool;
    atomic_ullong *ran;
    gate start; /* the thread is there before threads are refused */
} submission;

static void *submit_one(void *raw)
{
    submission *it = raw;

    gate_pass(&it->start);
    od_pool_submit(it->pool, OD_BAND_DEFAULT, count_job, it->ran);
    return NULL;
}

TEST(a_job_that_relied_on_a_start_that_failed_is_not_forgotten)
{
    gate door = {0};
    atomic_ullong ran = 0;
    od_pool *pool = pool_without_spares(2); /* nobody sits on the bench */
    submission it = {.pool = pool, .ran = &ran};
    pthread_t submitter;

    pthread_create(&submitter, NULL, submit_one, &it);
    assert_comes_true(atomic_load(&it.start.waiting) == 1); /* a sanitizer asks for attributes too */
    hold_a_worker(pool, &door); /* the first worker is busy … */
    slow_failure.team = &pool->team;
    atomic_store(&before_thread, fail_slowly);
    gate_open(&it.start); /* … so this starts the second */
    assert_comes_true(atomic_load(&slow_failure.attempting));
    gate_open(&door);
    assert_comes_true(atomic_load(&ran) == 1);
    assert_comes_true(odi_idle_sleepers(&pool->team.sites[0].idle) == 1);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran); /* a search is under way, it sees */
    atomic_store(&slow_failure.may_fail, true);
    pthread_join(submitter, NULL);
    atomic_store(&before_thread, NULL);
    assert_comes_true(atomic_load(&ran) == 2);
    od_pool_free(pool);
}

static void block_where_nobody_can_be_asked(void *unused)
{
    od_pool *pool = pool_of(1);
    gate door = {0};

    hold_a_worker(pool, &door);
    child_expects(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0}) == 0);
    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, unused);
    child_expects(COMES_TRUE(all_done(pool) == 1)); /* a worker that uses no time is taken for asleep */
    gate_open(&door);
}

TEST(who_blocks_where_no_descriptor_is_to_be_had_is_noticed_too)
{
    assert_child_succeeds(block_where_nobody_can_be_asked, NULL);
}

CHILDREN_MAY_START_THREADS

int main(int count, char **names)
{
    no_workers = threads_at_rest();
    return run_guarded(__FILE__, count, names);
}
