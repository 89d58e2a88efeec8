/* Controlled runs: threads of a run take steps one at a time, and equal seeds give equal logs. */
#include "Support/process.h"
#include "Support/pools.h"
#include "Support/watchdog.h"

#include "include/od_control.h"
#include "include/od_semaphore.h"
#include "include/od_timer.h"
#include "include/od_top.h"
#include "os/clock.h"

#include <pthread.h>
#include <sched.h>
#include <sys/select.h>

/* The state of one body. Its threads take turns, but ThreadSanitizer must see each order between them. */
typedef struct {
    od_pool *pool;
    od_semaphore *done, *first, *second;
    atomic_int value;
    int order, plain;
    int64_t before, after;
} body_state;

static od_control_options options_of(od_control_policy policy, uint64_t seed)
{
    return (od_control_options){.policy = policy, .seed = seed, .changes = 2, .expected = 30, .most_steps = 5000};
}

static void set_up(body_state *it)
{
    od_pool_options options;
    char message[256];

    od_pool_options_init(&options);
    options.name = "worker";
    options.workers = 2;
    options.spare_workers = 4;
    options.placement = OD_PLACEMENT_NONE;
    options.stack_bytes = 1 << 20;
    it->done = od_semaphore_create(0);
    if (od_pool_create(&options, &it->pool, message, sizeof message) != OD_OK)
        od_control_fail(message, NULL, 0);
}

static void tear_down(body_state *it)
{
    (void)od_pool_free(it->pool);
    od_semaphore_release(it->done);
}

/* ---- ThreadSanitizer ---- */

static void write_plainly(void *raw)
{
    body_state *it = raw;

    it->plain++;
    od_semaphore_signal(it->done);
}

static void race(void *raw)
{
    body_state *it = raw;

    set_up(it);
    for (int i = 0; i < 2; i++)
        (void)od_pool_submit(it->pool, OD_BAND_DEFAULT, write_plainly, it);
    for (int i = 0; i < 2; i++)
        (void)od_semaphore_wait(it->done, INT64_MAX);
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

static void race_under_control(void *unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 20; seed++) {
        body_state it = {0};
        od_control_options options = options_of(OD_CONTROL_RANDOM, seed);
        od_control_report report;

        od_control_free(od_control_run(&options, race, &it, &report));
        tear_down(&it);
    }
}

/* First in the file: in a child of a process with threads the sanitizer reports nothing. */
TEST(the_baton_hides_no_race_from_the_sanitizer)
{
    outcome it = in_a_child(race_under_control, NULL, 60);

    assert_true((it.status != 0) == UNDER_TSAN);
    assert_true((strstr(it.said, "write_plainly") != NULL) == UNDER_TSAN);
}

/* ---- logs and choices ---- */

static void add_one(void *raw)
{
    body_state *it = raw;
    int seen = atomic_load(&it->value);

    od_control_point(OD_CONTROL_POINT, NULL, "control_test.c", 7);
    atomic_store(&it->value, seen + 1);
    od_semaphore_signal(it->done);
}

static void lose_an_update(void *raw)
{
    body_state *it = raw;

    set_up(it);
    for (int i = 0; i < 2; i++)
        (void)od_pool_submit(it->pool, OD_BAND_DEFAULT, add_one, it);
    for (int i = 0; i < 2; i++)
        (void)od_semaphore_wait(it->done, INT64_MAX);
    if (it->value != 2)
        od_control_fail("an update is lost", "control_test.c", 9);
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

static uint64_t run_once(od_control_policy policy, uint64_t seed, od_control_report *report, const od_control_choice *forced,
                         size_t count)
{
    body_state it = {0};
    od_control_options options = options_of(policy, seed);
    uint64_t hash = 1;

    options.forced = forced;
    options.forced_count = count;
    od_control *control = od_control_run(&options, lose_an_update, &it, report);
    for (size_t i = 0; i < report->steps; i++) {
        const od_control_step *step = &report->log[i];

        hash = (hash ^ (step->kind * 65536u + step->thread * 256u + step->chosen) ^ step->ready << 24) * 1099511628211u;
    }
    assert_int_equal(report->end, OD_CONTROL_OVER);
    assert_string_equal(od_control_thread(control, 0), "test");
    od_control_free(control);
    tear_down(&it);
    return hash;
}

TEST(a_seed_gives_one_log_and_some_seed_loses_the_update)
{
    int failed = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        od_control_report one, two;
        od_control_policy policy = seed % 2 ? OD_CONTROL_RANDOM : OD_CONTROL_PRIORITIES;
        uint64_t first = run_once(policy, seed, &one, NULL, 0), second = run_once(policy, seed, &two, NULL, 0);

        if (first != second)
            print_error("seed %d: %zu and %zu steps\n", (int)seed, one.steps, two.steps);
        assert_true(first == second);
        assert_int_equal(one.failed, two.failed);
        failed += one.failed;
        if (one.failed)
            assert_string_equal(one.text, "an update is lost");
    }
    assert_in_range(failed, 1, 59);
}

/* The test runs itself in fresh processes, whose addresses and thread numbers differ. */
TEST(each_process_has_the_same_log)
{
    char self[512] = {0}, command[640], first[64] = "", line[64];
    od_control_report report;

    if (getenv("CONTROL_TEST_LOG") != NULL) {
        printf("log %llx\n", (unsigned long long)run_once(OD_CONTROL_RANDOM, 5, &report, NULL, 0));
        return;
    }
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(command, sizeof command, "CONTROL_TEST_LOG=1 '%s' each_process_has_the_same_log 2>&1 | grep '^log '", self);
    for (int i = 0; i < (UNDER_TSAN || UNDER_ASAN ? 5 : 60); i++) {
        FILE *output = popen(command, "r");

        assert_non_null(output);
        assert_non_null(fgets(line, sizeof line, output));
        pclose(output);
        if (i == 0)
            memcpy(first, line, sizeof first);
        assert_string_equal(line, first);
    }
}

/* Each holds one semaphore and waits for the other's. */
static void lock_both(body_state *it, od_semaphore *one, od_semaphore *other)
{
    (void)od_semaphore_wait(one, INT64_MAX);
    od_control_point(OD_CONTROL_POINT, NULL, NULL, 0);
    (void)od_semaphore_wait(other, INT64_MAX);
    od_semaphore_signal(other);
    od_semaphore_signal(one);
    od_semaphore_signal(it->done);
}

static void forwards(void *raw) { lock_both(raw, ((body_state *)raw)->first, ((body_state *)raw)->second); }
static void backwards(void *raw) { lock_both(raw, ((body_state *)raw)->second, ((body_state *)raw)->first); }

static void deadlock(void *raw)
{
    body_state *it = raw;

    set_up(it);
    it->first = od_semaphore_create(1);
    it->second = od_semaphore_create(1);
    (void)od_pool_submit(it->pool, OD_BAND_DEFAULT, forwards, it);
    (void)od_pool_submit(it->pool, OD_BAND_DEFAULT, backwards, it);
    for (int i = 0; i < 2; i++)
        (void)od_semaphore_wait(it->done, INT64_MAX);
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

static void find_the_deadlock(void *unused)
{
    static body_state it[40];
    bool found = false;

    (void)unused;
    for (uint64_t seed = 0; seed < 40 && !found; seed++) {
        od_control_options options = options_of(OD_CONTROL_RANDOM, seed);
        od_control_report report;
        od_control *control = od_control_run(&options, deadlock, &it[seed], &report);

        found = report.end == OD_CONTROL_DEADLOCK;
        if (!found && report.end != OD_CONTROL_OVER)
            print_error("end %d after %zu steps: %s\n", (int)report.end, report.steps, report.text);
        child_expects(found || report.end == OD_CONTROL_OVER);
        if (found)
            child_expects(strstr(report.text, "waits for a semaphore") != NULL);
        od_control_free(control);
    }
    child_expects(found);
}

/* In a child: the threads of the deadlock never end. */
TEST(a_deadlock_is_named_with_its_waits)
{
    assert_child_succeeds(find_the_deadlock, NULL);
}

static void sleep_long(void *raw)
{
    body_state *it = raw;

    set_up(it);
    it->order = od_control_time() == 0;
    it->before = od_timer_now();
    (void)od_semaphore_wait(it->done, 3600 * ODI_SECOND);
    it->after = od_timer_now();
    it->order = it->order && od_control_time() == it->after - it->before;
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

TEST(time_jumps_when_no_thread_can_go_on)
{
    body_state it = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;
    int64_t began = odi_clock_now();
    od_control *control = od_control_run(&options, sleep_long, &it, &report);

    assert_int_equal(report.end, OD_CONTROL_OVER);
    assert_true(it.after - it.before >= 3600 * ODI_SECOND);
    assert_int_equal(it.order, 1);
    assert_true(odi_clock_now() - began < 60 * ODI_SECOND);
    assert_false(od_control_is_inside());
    assert_null(od_control_owner());
    od_control_free(control);
    tear_down(&it);
}

static void poll_for_ever(void *raw)
{
    (void)raw;
    for (;;)
        od_control_point(OD_CONTROL_POINT, NULL, NULL, 0);
}

static void find_the_livelock(void *unused)
{
    od_control_options options = options_of(OD_CONTROL_RANDOM, 1);
    od_control_report report;

    (void)unused;
    od_control_free(od_control_run(&options, poll_for_ever, NULL, &report));
    child_expects(report.end == OD_CONTROL_LIVELOCK && report.steps == 5000);
}

TEST(a_run_without_an_end_is_a_livelock)
{
    assert_child_succeeds(find_the_livelock, NULL);
}

static void block_for_real(void *unused)
{
    (void)unused;
    (void)select(0, NULL, NULL, NULL, NULL);
}

static void find_the_stuck_thread(void *unused)
{
    od_control_options options = options_of(OD_CONTROL_RANDOM, 1);
    od_control_report report;

    (void)unused;
    od_control_free(od_control_run(&options, block_for_real, NULL, &report));
    child_expects(report.end == OD_CONTROL_STUCK);
    child_expects(strstr(report.text, "test has reached no scheduling point for 2 s") != NULL);
}

TEST(a_thread_that_blocks_for_real_is_named)
{
    assert_child_succeeds(find_the_stuck_thread, NULL);
}

/* ---- the engine's own threads ---- */

static void publish_inside(void *raw)
{
    char message[256];
    body_state *it = raw;

    lose_an_update(raw);
    it->order = od_top_publish(message, sizeof message);
}

TEST(a_thread_of_the_process_is_no_thread_of_the_run)
{
    body_state it = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;
    od_control *control = od_control_run(&options, publish_inside, &it, &report);

    assert_int_equal(it.order, 1);
    assert_int_equal(report.end, OD_CONTROL_OVER);
    for (uint32_t i = 0; i < report.threads; i++)
        assert_string_not_equal(od_control_thread(control, i), "od-top");
    assert_true(od_top_end());
    od_control_free(control);
    tear_down(&it);
}

static void count_default_workers(void *raw)
{
    od_pool_options options;
    char message[256];
    body_state *it = raw;

    od_pool_options_init(&options);
    if (od_pool_create(&options, &it->pool, message, sizeof message) != OD_OK)
        od_control_fail(message, NULL, 0);
    it->order = od_pool_workers(it->pool);
}

TEST(a_pool_of_a_run_has_the_workers_of_the_process)
{
    body_state it = {0}, other = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    count_default_workers(&other);
    od_control_free(od_control_run(&options, count_default_workers, &it, &report));
    assert_int_equal(it.order, other.order);
    (void)od_pool_free(it.pool);
    (void)od_pool_free(other.pool);
}

static void explore_in_the_child(void *unused)
{
    body_state it = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    (void)unused;
    child_expects(!od_control_is_inside());
    od_control_yield();
    od_control_free(od_control_run(&options, lose_an_update, &it, &report));
    child_expects(report.end == OD_CONTROL_OVER);
}

static void fork_inside(void *raw)
{
    outcome child = in_a_child(explore_in_the_child, NULL, 30);

    ((body_state *)raw)->order = child.status;
}

TEST(a_forked_child_of_a_run_is_outside_and_may_run_its_own)
{
    body_state it = {.order = -1};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    od_control_free(od_control_run(&options, fork_inside, &it, &report));
    assert_int_equal(report.end, OD_CONTROL_OVER);
    assert_int_equal(it.order, 0);
}

static atomic_int released, has_failed;

static void fail_after_the_end(void *unused)
{
    (void)unused;
    for (int i = 0; i < 256; i++) /* one more step moves the log */
        od_control_point(OD_CONTROL_POINT, NULL, NULL, 0);
    while (!atomic_load(&released))
        sched_yield();
    od_control_fail("too late", NULL, 0);
    atomic_store(&has_failed, 1);
    od_control_point(OD_CONTROL_POINT, NULL, NULL, 0);
}

static void keep_the_log(void *unused)
{
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 1);
    od_control_report report, again;
    body_state it = {0};

    (void)unused;
    od_control *dead = od_control_run(&options, fail_after_the_end, NULL, &report);
    child_expects(report.end == OD_CONTROL_STUCK && !report.failed && report.steps == 256);
    atomic_store(&released, 1);
    while (!atomic_load(&has_failed))
        sched_yield();
    od_control_free(od_control_run(&options, lose_an_update, &it, &again));
    child_expects(again.end == OD_CONTROL_OVER);
    for (size_t i = 0; i < report.steps; i++)
        child_expects(report.log[i].kind == OD_CONTROL_POINT);
    od_control_free(dead);
}

TEST(a_dead_run_has_a_final_log)
{
    assert_child_succeeds(keep_the_log, NULL);
}

/* ---- the program's own waits, queues and owner ---- */

static int place;

static void wait_at_the_place(void *raw)
{
    body_state *it = raw;

    while (it->value == 0)
        od_control_wait(&place, "for the place");
    od_semaphore_signal(it->done);
}

static void wake_at_the_place(void *raw)
{
    body_state *it = raw;

    set_up(it);
    (void)od_pool_submit(it->pool, OD_BAND_DEFAULT, wait_at_the_place, it);
    it->order = od_control_yield();
    it->value = od_control_owner() == it && od_control_is_inside();
    od_control_wake(&place);
    (void)od_semaphore_wait(it->done, INT64_MAX);
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

TEST(waits_of_the_program_end_by_its_wakes)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        body_state it = {0};
        od_control_options options = options_of(OD_CONTROL_RANDOM, seed);
        od_control_report report;

        options.owner = &it;
        od_control *control = od_control_run(&options, wake_at_the_place, &it, &report);
        assert_int_equal(report.end, OD_CONTROL_OVER);
        assert_int_equal(it.order, 1);
        assert_int_equal(it.value, 1);
        od_control_free(control);
        tear_down(&it);
    }
}

TEST(calls_outside_a_run_do_nothing)
{
    od_control_point(OD_CONTROL_POINT, NULL, NULL, 0);
    od_control_fail("not inside", NULL, 0);
    od_control_wake(&place);
    assert_false(od_control_yield());
    assert_int_equal(od_control_time(), 0);
    assert_false(od_control_is_inside());
    assert_null(od_control_owner());
}

static od_queue *outside;

static void do_nothing(void *unused)
{
    (void)unused;
}

static const char *label_of(const void *queue)
{
    return od_queue_label((od_queue *)(uintptr_t)queue);
}

static void leave_the_run(void *raw)
{
    (void)raw;
    (void)od_queue_async(outside, NULL, OD_QUEUE_BAND, do_nothing, NULL);
}

TEST(a_queue_from_outside_is_a_failure)
{
    od_pool *pool = pool_of(1);
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    outside = od_queue_create(pool, OD_BAND_DEFAULT, 1, "outside");
    options.owns = od_control_owns;
    options.label = label_of;
    assert_false(od_control_owns(outside));
    od_control *control = od_control_run(&options, leave_the_run, NULL, &report);
    assert_true(report.failed);
    assert_non_null(strstr(report.text, "made outside the run (\"outside\")"));
    od_control_free(control);
    assert_true(od_queue_wait(outside, INT64_MAX));
    od_queue_release(outside);
    (void)od_pool_free(pool);
}

static void make_a_queue(void *raw)
{
    body_state *it = raw;

    set_up(it);
    outside = od_queue_create(it->pool, OD_BAND_DEFAULT, 1, "earlier");
    it->order = od_control_owns(outside);
}

TEST(a_queue_of_an_earlier_run_is_a_failure)
{
    body_state it = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    options.owns = od_control_owns;
    options.label = label_of;
    od_control_free(od_control_run(&options, make_a_queue, &it, &report));
    assert_int_equal(it.order, 1);
    assert_false(report.failed);
    od_control *control = od_control_run(&options, leave_the_run, NULL, &report);
    assert_true(report.failed);
    assert_non_null(strstr(report.text, "made outside the run (\"earlier\")"));
    od_control_free(control);
    assert_true(od_queue_wait(outside, INT64_MAX));
    od_queue_release(outside);
    tear_down(&it);
}

static atomic_int inside, most_inside;

static void count_runs(void *unused)
{
    (void)unused;
    int now = atomic_fetch_add(&inside, 1) + 1;
    if (now > atomic_load(&most_inside))
        atomic_store(&most_inside, now);
    for (int i = 0; i < 300; i++) /* a second run would begin meanwhile */
        sched_yield();
    atomic_fetch_sub(&inside, 1);
}

static void *run_many(void *unused)
{
    od_control_options options = options_of(OD_CONTROL_RANDOM, 1);
    od_control_report report;

    for (int i = 0; i < 20; i++)
        od_control_free(od_control_run(&options, count_runs, NULL, &report));
    return unused;
}

TEST(a_second_run_waits_for_the_first)
{
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&most_inside), 1);
}

TEST(forced_choices_repeat_a_run_and_a_missed_one_is_told)
{
    for (uint64_t seed = 1; seed < 10; seed++) {
        od_control_choice choices[256];
        od_control_report one, two;
        body_state it = {0};
        size_t count = 0;
        od_control_options options = options_of(OD_CONTROL_RANDOM, seed);
        od_control *control = od_control_run(&options, lose_an_update, &it, &one);

        for (size_t i = 0; i < one.steps && count < 256; i++) {
            const od_control_step *step = &one.log[i];

            if ((step->ready & (step->ready - 1)) != 0 && step->chosen != step->usual)
                choices[count++] = (od_control_choice){step->decision, step->chosen};
        }
        od_control_free(control);
        tear_down(&it);
        (void)run_once(OD_CONTROL_CONTINUES, 0, &two, choices, count);
        assert_int_equal(two.missed, UINT32_MAX);
        assert_int_equal(two.failed, one.failed);
        assert_int_equal(two.steps, one.steps);
        choices[0] = (od_control_choice){0, 63};
        (void)run_once(OD_CONTROL_CONTINUES, 0, &two, choices, 1);
        assert_int_equal(two.missed, 0);
        choices[0] = (od_control_choice){1u << 30, 0}; /* after the end */
        (void)run_once(OD_CONTROL_CONTINUES, 0, &two, choices, 1);
        assert_int_equal(two.missed, 1u << 30);
    }
}

static void stop_half_way(void *raw)
{
    set_up(raw);
    (void)od_pool_submit(((body_state *)raw)->pool, OD_BAND_DEFAULT, do_nothing, NULL);
    od_control_point(OD_CONTROL_POINT, NULL, NULL, 0);
    abort();
}

static void trap_under_control(void *unused)
{
    od_control_choice forced = {2, 1};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 1);
    od_control_report report;
    body_state it = {0};

    (void)unused;
    options.trap_line = "repeat: ";
    options.forced = &forced;
    options.forced_count = 1;
    od_control_free(od_control_run(&options, stop_half_way, &it, &report));
}

TEST(a_trap_writes_its_schedule)
{
    assert_child_traps(trap_under_control, NULL, "repeat: 2:1.");
}

#ifdef __x86_64__
static void break_half_way(void *unused)
{
    (void)unused;
    __asm__ volatile("int3");
}

static void break_under_control(void *unused)
{
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 1);
    od_control_report report;

    (void)unused;
    options.trap_line = "repeat: ";
    od_control_free(od_control_run(&options, break_half_way, NULL, &report));
}

TEST(a_breakpoint_trap_ends_the_process)
{
    assert_child_traps(break_under_control, NULL, "repeat: .");
}
#endif

static void submit_without_threads(void *raw)
{
    body_state *it = raw;

    set_up(it);
    od_control_refuse_threads(true);
    it->order = (int)od_pool_submit(it->pool, OD_BAND_DEFAULT, do_nothing, NULL);
    od_control_refuse_threads(false);
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

TEST(refused_threads_are_a_status_of_the_submission)
{
    body_state it = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    od_control_refuse_threads(true); /* outside a run */
    od_control *control = od_control_run(&options, submit_without_threads, &it, &report);
    assert_int_equal(report.end, OD_CONTROL_OVER);
    assert_int_equal(it.order, OD_NO_THREAD);
    od_control_free(control);
    tear_down(&it);
}

static void *submit_from_outside(void *queue)
{
    (void)od_queue_async(queue, NULL, OD_QUEUE_BAND, do_nothing, NULL);
    return NULL;
}

static void let_a_thread_in(void *raw)
{
    body_state *it = raw;
    pthread_t thread;

    set_up(it);
    od_queue *queue = od_queue_create(it->pool, OD_BAND_DEFAULT, 1, "inside");
    if (pthread_create(&thread, NULL, submit_from_outside, queue) == 0)
        pthread_join(thread, NULL);
    (void)od_queue_wait(queue, INT64_MAX);
    od_queue_release(queue);
    (void)od_pool_stop(it->pool, INT64_MAX, NULL);
}

TEST(a_thread_outside_is_counted)
{
    body_state it = {0};
    od_control_options options = options_of(OD_CONTROL_CONTINUES, 0);
    od_control_report report;

    options.owns = od_control_owns;
    od_control *control = od_control_run(&options, let_a_thread_in, &it, &report);
    assert_int_equal(report.end, OD_CONTROL_OVER);
    assert_true(report.outside > 0);
    od_control_free(control);
    tear_down(&it);
}

CHILDREN_MAY_START_THREADS

GUARDED_PROGRAM
