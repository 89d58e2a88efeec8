/* Sentences of the public headers that no other test holds: promises.tsv has the rest. */
#include "Support/branches.h"
#include "Support/frozen_reader.h"
#include "Support/looks.h"
#include "Support/memory_failure.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/timers.h"
#include "Support/watchdog.h"

#include <glob.h>
#include <time.h>

#include "include/od_fork.h"
#include "include/od_machine.h"
#include "include/od_registry.h"
#include "include/od_report.h"
#include "include/od_semaphore.h"
#include "job/group.h"

/* ---- what cannot be made ---- */

enum { MORE_THAN_IS_AT_HAND = 1000 };

/* Queues and groups come from memory that serves again: some are made from what is at hand. */
static bool queues_run_out(od_queue *made[], const od_queue_options *options)
{
    int count = 0;

    while (count < MORE_THAN_IS_AT_HAND &&
           (made[count] = options != NULL
                              ? od_queue_create_with(pool, options)
                              : od_queue_create(pool, OD_BAND_DEFAULT, 1, "none")) != NULL)
        count++;
    for (int i = 0; i < count; i++)
        od_queue_release(made[i]);
    return count < MORE_THAN_IS_AT_HAND;
}

static bool groups_run_out(od_group *made[])
{
    int count = 0;

    while (count < MORE_THAN_IS_AT_HAND && (made[count] = od_group_create()) != NULL)
        count++;
    for (int i = 0; i < count; i++)
        od_group_release(made[i]);
    return count < MORE_THAN_IS_AT_HAND;
}

static int memory_again_and_tear_down(void **state)
{
    (void)memory_again(state);
    return tear_down(state);
}

TEST_UNSANITIZED(what_cannot_be_made_for_want_of_memory_is_said_so, one_worker, memory_again_and_tear_down)
{
    static void *made[MORE_THAN_IS_AT_HAND];
    od_timer_options timer = {.call = probe_call};
    od_queue_options limited = {.width = 1, .pending_limit = 1};
    od_pool_options options = options_for(1);
    od_pool *none = NULL;
    char message[256] = "";

    od_registry *registry = od_registry_create();
    atomic_store(&of_every_kind, true);
    atomic_store(&grants, 0);
    od_status status = od_pool_create(&options, &none, message, sizeof message);
    od_status first = od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    bool queues = queues_run_out((od_queue **)made, NULL) && queues_run_out((od_queue **)made, &limited);
    bool groups = groups_run_out((od_group **)made);
    bool others = od_semaphore_create(1) != NULL || od_registry_create() != NULL ||
                  od_semaphore_waiter_create(no_job, NULL) != NULL || od_timer_create(queue, &timer) != NULL;
    size_t there = 0;
    while (there < MORE_THAN_IS_AT_HAND && od_registry_add(registry, &none) != 0)
        there++;
    atomic_store(&grants, -1);
    assert_int_equal(status, OD_NO_MEMORY);
    assert_int_equal(first, OD_NO_MEMORY); /* for a worker: a thread might be had */
    assert_null(none);
    assert_true(strlen(message) > 0);
    assert_true(queues);
    assert_true(groups);
    assert_false(others);
    assert_true(there < MORE_THAN_IS_AT_HAND);
    assert_int_equal(od_registry_count(registry), there);
    od_registry_release(registry);
}

/* ---- what a pool is by itself ---- */

TEST(defaults_are_what_the_header_says)
{
    od_pool_options options;

    memset(&options, 0xff, sizeof options);
    od_pool_options_init(&options);
    assert_string_equal(options.name, "overdrive");
    assert_int_equal(options.workers, 0);
    assert_int_equal(options.placement, OD_PLACEMENT_AUTOMATIC);
    assert_int_equal(options.stack_bytes, 0);
    assert_int_equal(options.spare_workers, -1);
    assert_false(options.round_quota_down);
    od_pool *pool = pool_with(options, (odi_pool_world){0});
    assert_int_equal(pool->team.spare_cap, 64);
    assert_int_equal(pool->team.stack_bytes, 256 << 20);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static od_worker_report seen[3];
static int workers_seen;

static void report_beside_two(void *pool)
{
    submit_many(pool, 2, no_job, NULL);
    workers_seen = od_pool_report_workers(pool, seen, 3);
}

static void await_the_end(void *queue) { (void)od_queue_wait(queue, HANG_NS); }

TEST(a_report_tells_where_a_worker_is_what_it_does_and_what_it_waits_for)
{
    od_machine_cpu cpu = {.l3 = -1};
    od_machine_node node = {.id = 5, .whole = true};
    odi_topology one = {.cpu_count = 1, .cpus = &cpu, .node_count = 1, .nodes = &node, .cpus_known = true};
    od_pool *pool = pool_with(options_for(1), (odi_pool_world){.topology = odi_topology_build(&one)});
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "runs");
    od_queue *other = od_queue_create(pool, OD_BAND_DEFAULT, 1, "awaited");

    submit_many(pool, 3, no_job, NULL);
    assert_comes_true(all_done(pool) == 3);
    run_in(queue, report_beside_two, pool);
    assert_int_equal(workers_seen, 2);
    assert_int_equal(seen[0].doing, OD_WORKER_RUNS);
    assert_int_equal(seen[0].node, 5);
    assert_int_equal(seen[0].executed, 3);
    assert_int_equal(seen[0].waiting, 2);
    assert_string_equal(seen[0].queue, "runs");
    assert_int_equal(seen[0].queue_id, (uintptr_t)queue);
    assert_int_equal(seen[1].doing, OD_WORKER_SPARE);

    od_queue_suspend(other);
    od_queue_async(other, NULL, OD_QUEUE_BAND, no_job, NULL);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, await_the_end, other);
    assert_comes_true(od_pool_report_workers(pool, seen, 1) == 1 && seen[0].doing == OD_WORKER_BLOCKS);
    assert_string_equal(seen[0].waits_for, "for the end of");
    assert_string_equal(seen[0].waits_at, "awaited");
    assert_int_equal(seen[0].waits_at_id, (uintptr_t)other);
    od_queue_resume(other);
    end_queue(other);
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void note_name(void *name) { pthread_getname_np(pthread_self(), name, 16); }

static void assert_named(const char *name, const char *expected)
{
    od_pool_options options = options_for(1);
    char seen[16] = "";

    options.name = name;
    od_pool *named = pool_with(options, (odi_pool_world){0});
    od_pool_submit(named, OD_BAND_DEFAULT, note_name, seen);
    assert_int_equal(od_pool_free(named), OD_OK);
    assert_string_equal(seen, expected);
}

static bool a_thread_is_called(const char *name)
{
    char seen[32];
    bool found = false;
    glob_t files;

    assert_int_equal(glob("/proc/self/task/*/comm", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "r"); /* NULL: it has ended */

        found |= file != NULL && fscanf(file, "%31s", seen) == 1 && strcmp(seen, name) == 0;
        if (file != NULL)
            fclose(file);
    }
    globfree(&files);
    return found;
}

TEST(threads_bear_the_pools_name_or_overdrive)
{
    assert_named("0123456789abc", "0123456789-0");
    assert_named("short", "short-0");
    assert_named(NULL, "overdrive-0");
    od_pool *watched = pool_of(1);
    frozen_reader reader;
    odi_pool_arm_monitor(&watched->team);
    assert_comes_true(a_thread_is_called("od-monitor"));
    freeze_a_reader(&reader); /* so that the reclaimer stays */
    assert_true(LOCKED(&watched->team.lock, odi_team_list_workers(&watched->team)));
    assert_comes_true(a_thread_is_called("od-reclaim"));
    thaw(&reader);
    assert_int_equal(od_pool_free(watched), OD_OK);
}

ON_ONE(a_pool_says_whether_its_stop_is_over)
{
    assert_false(od_pool_is_stopped(pool));
    assert_int_equal(od_pool_stop(pool, INT64_MAX, NULL), OD_OK);
    assert_true(od_pool_is_stopped(pool));
}

/* ---- threads ---- */

static void end_what_did_not_begin(void *unused) { od_blocking_end(); }

static void end_it_on_a_worker(void *unused)
{
    od_pool_submit(pool_of(1), OD_BAND_DEFAULT, end_what_did_not_begin, NULL);
    odi_clock_sleep(HANG_NS);
}

TEST(an_end_of_blocking_that_did_not_begin_traps_by_name)
{
    od_blocking_end(); /* a thread that is no worker is not asked */
    assert_child_traps(end_it_on_a_worker, NULL, "od_blocking_end: no matching od_blocking_begin");
}

static void *look_at_another_thread(void *unused)
{
    bool right = !od_thread_is_main() && od_fork_wanted();

    right &= od_thread_work() == NULL && od_thread_route() == NULL && od_thread_bounce() == NULL;
    return right ? &od_forks_self : unused;
}

static bool another_thread_says_so(void)
{
    pthread_t thread;
    void *right;

    pthread_create(&thread, NULL, look_at_another_thread, NULL);
    pthread_join(thread, &right);
    return right != NULL;
}

TEST(a_thread_keeps_the_words_of_the_layer_above)
{
    int words[3];

    od_thread_set_work(&words[0]);
    od_thread_set_route(&words[1]);
    od_thread_set_bounce(&words[2]);
    assert_ptr_equal(od_thread_work(), &words[0]);
    assert_ptr_equal(od_thread_route(), &words[1]);
    assert_ptr_equal(od_thread_bounce(), &words[2]);
    assert_ptr_equal(*od_thread_bounce_place(), &words[2]);
    assert_true(another_thread_says_so());
    od_thread_set_work(NULL);
    od_thread_set_route(NULL);
    od_thread_set_bounce(NULL);
}

TEST(a_thread_that_never_forked_is_asked_for_work) { assert_true(another_thread_says_so()); }

TEST(a_thread_knows_whether_it_is_the_first_and_where_it_is)
{
    cpu_set_t all, one;

    assert_true(od_thread_is_main());
    assert_true(another_thread_says_so());
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0)
            assert_int_equal(od_thread_cpu(), cpu);
    }
    sched_setaffinity(0, sizeof all, &all);
}

/* ---- blocking ---- */

static void make_up_for_nothing(odi_team *unused) {}

static struct {
    atomic_ullong ran;
    bool came;
} nested;

static void end_the_inner_of_two(void *of)
{
    od_blocking_begin();
    od_blocking_begin();
    od_blocking_end();
    od_pool_submit(of, OD_BAND_DEFAULT, count_job, &nested.ran);
    nested.came = COMES_TRUE(atomic_load(&nested.ran) == 1);
    od_blocking_end();
}

/* Without a monitor nobody comes but for what is said. */
ON_ONE(pairs_of_blocking_nest)
{
    pool->team.arm_monitor = make_up_for_nothing;
    od_pool_submit(pool, OD_BAND_DEFAULT, end_the_inner_of_two, pool);
    assert_comes_true(all_done(pool) == 2);
    assert_true(nested.came);
}

/* ---- queues ---- */

ON_ONE(options_of_zero_make_a_queue_as_create_does)
{
    od_queue *plain = od_queue_create(pool, OD_BAND_USER_INTERACTIVE, OD_UNLIMITED, "");
    od_queue *zero = od_queue_create_with(pool, &(od_queue_options){0});
    od_queue *both[] = {plain, zero};

    for (int i = 0; i < 2; i++) {
        assert_true(od_queue_is_active(both[i]));
        assert_string_equal(od_queue_label(both[i]), "");
        assert_int_equal(od_queue_band(both[i]), OD_BAND_USER_INTERACTIVE);
        assert_int_equal(od_queue_width(both[i]), OD_UNLIMITED);
        assert_int_equal(od_queue_pending_limit(both[i]), 0);
        assert_int_equal(od_queue_overflow(both[i]), OD_OVERFLOW_WAITS);
        od_queue_release(both[i]);
    }
}

SCENE(callers_that_wait_count_for_a_limit_and_timers_are_let_in,
      "pool 1; queue q width 1 limit 1 refuses; hold q Door; thread {inside q; in}; q.waiting -> 1; refuse q a; "
      "timer t q 0 0 b; q.pending >= 2; open Door; join; b -> 1; t.overs -> 1; a = 0; q.refused = 0")

/* ---- timers ---- */

static int64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * ODI_SECOND + now.tv_nsec;
}

TEST(timers_go_by_the_monotonic_clock)
{
    int64_t before = monotonic(), now = od_timer_now(), after = monotonic();
    assert_in_range(now, before, after);
}

ON_ONE(a_timer_that_never_comes_is_not_armed_for_the_clocks_end)
{
    probe never = {0}, beyond = {0}, once = {0}, others = {0};

    start(&never, INT64_MAX, 0);
    start(&beyond, INT64_MAX - 1, 0);
    start(&once, 0, INT64_MAX);
    start(&others, 0, MILLISECONDS(1));
    assert_comes_true(atomic_load(&others.calls) >= 5 && atomic_load(&once.calls) == 1);
    assert_int_equal(atomic_load(&never.calls) + atomic_load(&beyond.calls), 0);
    assert_int_equal(od_timer_cancel(never.timer), OD_TIMER_PREVENTED);
    assert_int_equal(od_timer_cancel(beyond.timer), OD_TIMER_PREVENTED);
    (void)od_timer_cancel(others.timer);
    (void)od_timer_cancel(once.timer);
    assert_comes_true(atomic_load(&others.overs) + atomic_load(&once.overs) + atomic_load(&never.overs) == 3);
    assert_int_equal(atomic_load(&once.calls), 1);
    od_timer_release(never.timer);
    od_timer_release(beyond.timer);
    od_timer_release(once.timer);
    od_timer_release(others.timer);
}

SCENE(timers_that_are_not_due_are_counted,
      "pool 1; queue q; pool.armed = 0; timer t q 3600000 0 a; pool.armed = 1; timer u q 3600000 0 a; pool.armed = 2; "
      "disarm t; t.overs -> 1; disarm u; u.overs -> 1; pool.armed -> 0")

static void create_with_an_interval_below_zero(void *unused)
{
    od_timer_options options = {.interval_ns = -1, .call = probe_call};

    (void)od_timer_create(queue, &options);
}

ON_ONE(an_interval_below_zero_traps)
{
    assert_child_traps(create_with_an_interval_below_zero, NULL, "negative interval (-1 ns)");
}

/* ---- groups ---- */

static struct {
    od_group *group;
    gate door;
    atomic_bool over;
    bool came;
} awaited;

static void end_behind_the_gate(void *unused)
{
    gate_pass(&awaited.door);
    odi_clock_sleep(MILLISECONDS(1));
    atomic_store(&awaited.over, true);
}

static void *open_for_a_waiter(void *unused)
{
    awaited.came = COMES_TRUE(waiters_of(&awaited.group->watch) == 1);
    gate_open(&awaited.door);
    return unused;
}

ON_TWO(a_group_is_waited_for_until_it_is_empty_or_the_time_has_passed)
{
    od_group *group = awaited.group = od_group_create();
    pthread_t opener;

    assert_true(od_group_wait(group, 0) && od_group_wait(group, 1) && od_group_wait(group, INT64_MAX));
    od_queue_async(queue, group, OD_QUEUE_BAND, end_behind_the_gate, NULL);
    assert_false(od_group_wait(group, 0));
    int64_t before = odi_clock_now();
    assert_false(od_group_wait(group, MILLISECONDS(20)));
    assert_true(odi_clock_now() - before >= MILLISECONDS(20));
    pthread_create(&opener, NULL, open_for_a_waiter, NULL);
    assert_true(od_group_wait(group, INT64_MAX));
    assert_true(atomic_load(&awaited.over));
    pthread_join(opener, NULL);
    assert_true(awaited.came);
    od_group_release(group);
}

SCENE(a_notification_comes_once_from_who_finds_the_group_empty,
      "pool 1; queue q; group g; notify g {pool.main = 1; told}; told = 1; hold q Door in g; "
      "notify g {pool.main = 0; later}; notify g {pool.main = 0; later}; later = 0; open Door; later -> 2; enter g; "
      "leave g; told = 1; later = 2")

/* ---- what the layer above defines ---- */

static atomic_int tasks_run, tasks_discarded, jobs_run, jobs_discarded;

/* A task that submits the next one as its last action. Before that action's task begins, `meddle` is called. */
static atomic_int nexts_left, direct, longest, in_a_row;
static od_queue *nexts_queue;
static void (*_Atomic meddle)(od_queue *queue);

void od_task_run(void *task)
{
    in_a_row = 0;
    while (task != NULL) {
        atomic_fetch_add(&tasks_run, task == &tasks_run);
        if (nexts_left > 0) {
            nexts_left--;
            od_queue_async_next_task(nexts_queue, OD_QUEUE_BAND, &tasks_run);
            void (*with)(od_queue *) = meddle;
            if (with != NULL)
                with(nexts_queue);
        }
        task = od_next_task();
        direct += task != NULL;
        in_a_row = task != NULL ? in_a_row + 1 : 0;
        longest = in_a_row > longest ? in_a_row : longest;
    }
}
void od_task_discard(void *task) { atomic_fetch_add(&tasks_discarded, task == &tasks_run); }
void od_executor_run(void *job) { atomic_fetch_add(&jobs_run, job == &jobs_run); }
void od_executor_discard(void *job) { atomic_fetch_add(&jobs_discarded, job == &jobs_run); }

static void assert_tasks(int run, int discarded)
{
    assert_int_equal(atomic_load(&tasks_run), run);
    assert_int_equal(atomic_load(&tasks_discarded), discarded);
}

ON_ONE(a_task_is_run_or_discarded_by_a_cancel_or_a_stop)
{
    od_queue_async_task(queue, OD_QUEUE_BAND, &tasks_run);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_tasks(1, 0);
    od_queue_suspend(queue);
    od_queue_async_task(queue, OD_QUEUE_BAND, &tasks_run);
    assert_int_equal(od_queue_cancel_all(queue), 1);
    assert_tasks(1, 1);
    od_queue_async_task(queue, OD_QUEUE_BAND, &tasks_run);
    assert_stop(pool, 0, 1, 2, 0);
    assert_tasks(1, 2);
    od_queue_async_task(queue, OD_QUEUE_BAND, &tasks_run);
    assert_tasks(1, 3);
}

static void chain_tasks(od_queue *queue, int count, void (*with)(od_queue *queue))
{
    atomic_store(&tasks_run, 0);
    atomic_store(&tasks_discarded, 0);
    direct = longest = 0;
    nexts_queue = queue;
    nexts_left = count - 1;
    meddle = with;
    od_queue_async_task(queue, OD_QUEUE_BAND, &tasks_run);
}

ON_ONE(a_task_submitted_last_runs_next_as_a_job_and_others_get_their_slice)
{
    od_metrics before, after;

    od_pool_metrics(pool, &before);
    chain_tasks(queue, 1000, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_tasks(1000, 0);
    od_pool_metrics(pool, &after);
    assert_int_equal(after.executed - before.executed, 1000);
    assert_in_range(direct, 900, 999);
    assert_in_range(longest, 1, 16);
}

static void cancel_in_between(od_queue *queue) { assert_int_equal(od_queue_cancel_all(queue), 1); }

ON_ONE(a_cancel_discards_a_task_that_was_to_run_next)
{
    chain_tasks(queue, 2, cancel_in_between);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_tasks(1, 1);
    assert_int_equal(direct, 0);
}

static void suspend_in_between(od_queue *queue)
{
    meddle = NULL;
    od_queue_suspend(queue);
}

ON_ONE(a_suspension_holds_a_task_that_was_to_run_next)
{
    chain_tasks(queue, 20, suspend_in_between);
    assert_comes_true(od_queue_is_suspended(queue) && od_queue_pending(queue) == 1);
    assert_tasks(1, 0);
    od_queue_resume(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_tasks(20, 0);
}

static void wait_in_between(od_queue *queue)
{
    (void)queue;
    meddle = NULL;
    od_blocking_begin();
    assert_comes_true(atomic_load(&tasks_run) == 2);
    od_blocking_end();
}

ON_TWO(a_wait_hands_over_a_task_that_was_to_run_next)
{
    chain_tasks(queue, 2, wait_in_between);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_tasks(2, 0);
    assert_int_equal(direct, 0);
}

static od_queue *nested_queue;
static int direct_in_wait;

static void run_another_in_between(od_queue *queue)
{
    (void)queue;
    meddle = NULL;
    od_queue_async_task(nested_queue, OD_QUEUE_BAND, &tasks_discarded); /* any other task */
    direct_in_wait = -direct;
    od_queue_wait(nested_queue, INT64_MAX);
    direct_in_wait += direct;
}

ON_ONE(a_task_inside_a_wait_does_not_take_the_task_that_was_to_run_next)
{
    nested_queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "nested");
    chain_tasks(queue, 2, run_another_in_between);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_tasks(2, 0);
    assert_int_equal(direct_in_wait, 0);
    od_queue_release(nested_queue);
}

ON_ONE(an_executors_job_is_run_or_discarded_by_a_stop)
{
    gate door = {0};

    od_pool_submit_executor_job(pool, OD_BAND_DEFAULT, &jobs_run);
    assert_comes_true(atomic_load(&jobs_run) == 1);
    hold_a_worker(pool, &door);
    od_pool_submit_executor_job(pool, OD_BAND_DEFAULT, &jobs_run);
    assert_stop(pool, MILLISECONDS(2), 1, 1, 1);
    assert_int_equal(atomic_load(&jobs_discarded), 1);
    od_pool_submit_executor_job(pool, OD_BAND_DEFAULT, &jobs_run);
    assert_int_equal(atomic_load(&jobs_discarded), 2);
    gate_open(&door);
    assert_comes_true(all_have_gone(pool));
    assert_int_equal(atomic_load(&jobs_run), 1);
}

static atomic_int asked_for_a_pool;

/* This program's own. */
od_pool *od_default_pool(void)
{
    atomic_fetch_add(&asked_for_a_pool, 1);
    return NULL;
}

TEST(forks_run_where_they_are_without_a_default_pool)
{
    int before = threads_at_rest();

    assert_int_equal(fib(10), 55);
    assert_true(atomic_load(&asked_for_a_pool) > 0);
    assert_comes_true(thread_count() == before);
}

/* ---- the machine ---- */

TEST(a_description_that_does_not_fit_is_cut)
{
    char whole[256], cut[8];
    const od_machine *machine = od_machine_discover(NULL, NULL, 0);

    assert_non_null(machine);
    size_t length = od_machine_describe(machine, false, 0, whole, sizeof whole);
    assert_int_equal(length, strlen(whole));
    assert_true(length > sizeof cut);
    assert_int_equal(od_machine_describe(machine, false, 0, cut, sizeof cut), sizeof cut - 1);
    assert_memory_equal(cut, whole, sizeof cut - 1);
    assert_int_equal(cut[sizeof cut - 1], 0);
    od_machine_free(machine);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
