/* A thread that waits runs nothing but what it waits for: programs that were right, and hung, aborted or were
 * kept waiting when a stranger's job ran on top of a waiter. */
#include "Support/branches.h"
#include "Support/crowd.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

#include "base/invariant.h"
#include "include/od_report.h"
#include "job/group.h"
#include "worker/worker.h"

static struct {
    od_pool *pool;
    od_queue *queue, *other;
    od_group *group;
    pthread_mutex_t mutex;
    atomic_int holds, ended, nested;
    crowd inside;
} scene;

static void begin(od_pool *pool)
{
    memset(&scene, 0, sizeof scene);
    pthread_mutex_init(&scene.mutex, NULL);
    scene.pool = pool;
    scene.group = od_group_create();
}

enum { NO_QUEUE = -1 };

static od_queue *queue_of_the_scene(int32_t width, const char *label)
{
    return width == NO_QUEUE ? NULL : od_queue_create(scene.pool, OD_BAND_DEFAULT, width, label);
}

/* One worker, and queues of these widths. */
static void begin_with(int32_t queue, int32_t other)
{
    begin(lone_worker());
    scene.queue = queue_of_the_scene(queue, "of the waiter");
    scene.other = queue_of_the_scene(other, "of the awaited");
}

static void end(void)
{
    od_queue *queues[] = {scene.queue, scene.other};

    for (int i = 0; i < 2; i++) {
        if (queues[i] != NULL)
            od_queue_release(queues[i]);
    }
    od_group_release(scene.group);
    assert_int_equal(od_pool_free(scene.pool), OD_OK);
}

/* ---- a stranger on top of a waiter ---- */

/* Without another thread to be had the second job waits until the first has ended, however long that is. */
SCENE(a_waiter_that_holds_a_mutex_is_not_locked_out_by_a_job_on_top,
      "lone; group g; enter g; add pool {lock; holds; await g; unlock; ended}; holds -> 1; "
      "add pool {lock; unlock; ended}; pause 60; ended = 0; leave g; ended -> 2")

enum { QUEUES = 80 };
static od_queue *queues[QUEUES];

static void sync_onto(void *queue) { run_synced(queue, crowd_visit, &scene.inside); }

static void wait_in_queue(void *queue)
{
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, sync_onto, queue);
    (void)od_group_wait(scene.group, INT64_MAX);
    atomic_fetch_add(&scene.ended, 1);
}

/* More jobs wait than there are threads. What they submitted waits for their queues too, and would trap, or never
 * end, on top of a closure of these. */
TEST(more_serial_queues_wait_than_there_are_threads)
{
    int threads = 2 + 64;

    begin(pool_of(2));
    od_group_enter(scene.group);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = od_queue_create(scene.pool, OD_BAND_DEFAULT, 1, "waits");
        od_queue_async(queues[i], NULL, OD_QUEUE_BAND, wait_in_queue, queues[i]);
    }
    assert_comes_true(blocked_in(scene.pool) == threads); /* in the group's wait, or in a sync */
    usleep(60000);
    assert_int_equal(atomic_load(&scene.ended) + (int)atomic_load(&scene.inside.visits), 0);
    od_group_leave(scene.group);
    assert_comes_true(atomic_load(&scene.ended) == QUEUES && atomic_load(&scene.inside.visits) == QUEUES);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    end();
}

/* ---- what is waited for ---- */

static void note_nested(void *unused) { atomic_fetch_add(&scene.nested, 1); }

/* How long that would take nobody knows. */
SCENE(a_wait_with_a_deadline_runs_not_even_what_it_waits_for,
      "lone; queue q; group g; add pool {add q nested in g; busy g; nested = 0}; nested -> 1")

static void branch(void *raw)
{
    intptr_t depth = (intptr_t)raw;

    if (depth > 0) {
        od_group *group = od_group_create();

        for (int i = 0; i < 2; i++)
            od_queue_async(scene.queue, group, OD_QUEUE_BAND, branch, (void *)(depth - 1));
        (void)od_group_wait(group, INT64_MAX);
        od_group_release(group);
    }
    atomic_fetch_add(&scene.ended, 1);
}

static void wait_for_groups_in_groups(od_pool *pool)
{
    enum { DEPTH = UNLESS_SANITIZED(14, 9) };

    begin(pool);
    scene.queue = od_queue_create(scene.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "free");
    od_queue_async(scene.queue, NULL, OD_QUEUE_BAND, branch, (void *)(intptr_t)DEPTH);
    assert_comes_true(atomic_load(&scene.ended) == (2 << DEPTH) - 1);
    end();
}

TEST(groups_that_wait_for_groups_need_no_thread_for_each) { wait_for_groups_in_groups(lone_worker()); }

TEST(groups_that_wait_for_groups_are_shared_by_workers_without_spares)
{
    wait_for_groups_in_groups(pool_without_spares(3));
}

static void run_what_it_waits_for(void *unused)
{
    for (int i = 0; i < 3; i++) {
        od_queue_async(scene.queue, scene.group, OD_QUEUE_BAND, crowd_visit, &scene.inside);
        (void)od_group_wait(scene.group, INT64_MAX);
    }
    atomic_store(&scene.nested, odi_load_relaxed(&odi_worker_self->back_ns) != 0);
    atomic_store(&scene.ended, 1);
}

TEST(who_has_run_all_that_it_waits_for_gives_nobody_its_place)
{
    begin_with(OD_UNLIMITED, NO_QUEUE);
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, run_what_it_waits_for, NULL);
    assert_comes_true(atomic_load(&scene.ended) == 1);
    assert_int_equal(atomic_load(&scene.inside.visits), 3);
    assert_false(atomic_load(&scene.nested));
    end();
}

SCENE(what_is_waited_for_is_taken_from_behind_strangers,
      "lone; queue q; group g; add pool {add pool 100 x; add q 3 a in g; await g; a = 3; x = 0}; x -> 100")

SCENE(who_waits_for_a_serial_queue_runs_it_and_nothing_else,
      "lone; queue q width 1; add pool {add q 3 a; add pool x; await q; a = 3; x = 0}; x -> 1")

/* The same drainer came to it: the wait was over with the job before. */
SCENE(what_comes_when_the_wait_is_over_is_a_stranger,
      "lone; queue q width 1; add pool {lock; add q a; notify q {add q {lock; unlock; ended}}; await q; unlock; ended}; "
      "ended -> 2; a = 1")

/* What stands in its line before its own jobs has to run first, and nothing behind them. */
SCENE(who_waits_for_a_target_runs_no_more_of_the_queues_on_it_than_stands_before,
      "lone; queue t width 1; queue q width 1 on t; "
      "add pool {lock; add q a; add t a; add q {lock; unlock; ended}; await t; unlock; ended}; ended -> 2; a = 2")

/* Behind the first job of the queue on it nothing is left that is waited for, and nothing in the target's line. */
SCENE(who_waits_for_a_target_that_is_cancelled_meanwhile_runs_no_more_of_the_queues_on_it,
      "lone; queue t width 1; queue q width 1 on t; "
      "add pool {lock; add q {cancel t 1; a}; add t a; add q {lock; unlock; ended}; await t; unlock; ended}; "
      "ended -> 2; a = 1")

/* The random programs found it: the jobs of a queue on it are none of those that are waited for, and these
 * need not wait for them. */
SCENE(who_waits_for_a_concurrent_target_runs_none_of_the_queues_on_it,
      "pool 1; queue t; queue q width 1 on t; "
      "add pool {lock; add q {lock; unlock; ended}; add t a; await t; unlock; ended}; ended -> 2; a = 1")

/* ---- where it runs ---- */

/* A job of a queue of this width waits for one of another queue; `nested` counts what is not as it should be. */
static void wait_in_a_queue(int32_t width, void (*wait)(void *unused), int ends)
{
    begin_with(width, OD_UNLIMITED);
    od_queue_async(scene.queue, NULL, OD_QUEUE_BAND, wait, NULL);
    assert_comes_true(atomic_load(&scene.ended) == ends);
    assert_int_equal(atomic_load(&scene.nested), 0);
    end();
}

SCENE(what_a_waiter_runs_is_not_inside_the_waiters_queue,
      "lone; queue q width 2; queue r; group g; "
      "add q {add r {q.current = 0; r.current = 1; inside q; q.current = 1; outside; ended} in g; await g; "
      "q.current = 1; ended}; ended -> 2")

/* The random programs found it: the first two of these were nowhere, and the innermost one was the second. */
SCENE(who_runs_what_does_not_fit_is_inside_all_its_queues_in_their_order,
      "lone; queue full width 2 limit 1 runs; queue q; queue r; group g; "
      "add pool {add r {inside full; inside q; suspend full; add full a; add full {full.here = 1; q.current = 1; "
      "r.current = 1; a}; a = 1; q.here = 1; resume full} in g; await g}; a -> 2")

static void report_itself(void *unused)
{
    od_worker_report report;

    assert_int_equal(od_pool_report_workers(scene.pool, &report, 1), 1);
    atomic_fetch_add(&scene.nested, strcmp(report.queue, "of the awaited") != 0);
}

static void wait_and_report(void *unused)
{
    od_worker_report report;

    od_queue_async(scene.other, scene.group, OD_QUEUE_BAND, report_itself, NULL);
    (void)od_group_wait(scene.group, INT64_MAX);
    (void)od_pool_report_workers(scene.pool, &report, 1);
    atomic_fetch_add(&scene.nested, strcmp(report.queue, "of the waiter") != 0);

    od_group_enter(scene.group);
    od_blocking_begin();
    odi_store_relaxed(&odi_worker_self->waits_ns, 1); /* relaxed, all: the worker's own */
    odi_store_relaxed(&odi_worker_self->back_ns, 1);
    (void)od_group_wait(scene.group, ODI_MILLISECOND);
    atomic_fetch_add(&scene.nested, odi_load_relaxed(&odi_worker_self->waits_for) != NULL);
    atomic_fetch_add(&scene.nested, odi_load_relaxed(&odi_worker_self->waits_ns) != 1); /* since the outermost began */
    od_blocking_end();
    atomic_fetch_add(&scene.nested, odi_load_relaxed(&odi_worker_self->back_ns) == 1);
    od_group_leave(scene.group);
    atomic_fetch_add(&scene.ended, 1);
}

TEST(reports_name_what_runs_and_not_what_waits_below) { wait_in_a_queue(1, wait_and_report, 1); }

/* The one on top was counted twice, and the one below not at all. */
SCENE(what_runs_on_top_of_a_wait_and_what_waits_are_one_each,
      "lone; queue q width 1; queue r; group g; "
      "add q {add r {q.running = 1; r.running = 1} in g; await g; r.running = 0; ended}; ended -> 1")

/* As if it had noted the time just before. */
TEST(what_a_worker_slept_is_no_part_of_its_next_jobs_time)
{
    static gate held;
    od_worker_report report;

    begin(lone_worker());
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, crowd_visit, &scene.inside);
    assert_comes_true(atomic_load(&scene.inside.visits) == 1);
    assert_comes_true(odi_idle_sleepers(&scene.pool->team.sites[0].idle) == 1);
    odi_worker *worker = odi_load_acquire(&scene.pool->team.slots[0], W3);
    assert_comes_true(odi_thread_sleeps(odi_load_relaxed(&worker->thread_id)) == 1); /* it has had its last look */
    odi_store_relaxed(&worker->noted_jobs, odi_worker_activity(worker));
    odi_store_relaxed(&worker->noted_ns, odi_clock_coarse() - 1000 * ODI_SECOND);
    hold_a_worker(scene.pool, &held);
    assert_int_equal(od_pool_report_workers(scene.pool, &report, 1), 1);
    gate_open(&held);
    assert_true(report.running_ns < 500 * ODI_SECOND);
    assert_true(report.running_at_most_ns < 500 * ODI_SECOND);
    end();
}

static void say_that_it_waited_and_stay(void *door)
{
    od_blocking_begin();
    od_blocking_end();
    gate_pass(door);
}

/* As if it had noted the time long before. */
TEST(what_a_worker_waited_is_part_of_that_jobs_time_and_not_of_the_next_ones)
{
    gate doors[2] = {0};
    od_worker_report report;

    begin(lone_worker());
    for (int each = 0; each < 2; each++)
        od_pool_submit(scene.pool, OD_BAND_DEFAULT, each == 0 ? say_that_it_waited_and_stay : gate_job, &doors[each]);
    assert_comes_true(atomic_load(&doors[0].waiting) == 1);
    odi_worker *worker = odi_load_acquire(&scene.pool->team.slots[0], W3);
    odi_store_relaxed(&worker->noted_ns, odi_clock_coarse() - 1000 * ODI_SECOND); /* relaxed: its owner is in a job */
    for (int each = 0; each < 2; each++) {
        assert_comes_true(atomic_load(&doors[each].waiting) == 1);
        assert_int_equal(od_pool_report_workers(scene.pool, &report, 1), 1);
        assert_int_equal(report.running_at_most_ns > 500 * ODI_SECOND, each == 0);
        gate_open(&doors[each]);
    }
    end();
}

/* ---- the words of the layer above ---- */

static int words[3];
static atomic_int bare, kept;

static void set_words(void *work, void *route, void *bounce)
{
    od_thread_set_work(work);
    od_thread_set_route(route);
    od_thread_set_bounce(bounce);
}

static void look_for_words(void *unused)
{
    atomic_fetch_add(&bare, !od_thread_work() && !od_thread_route() && !od_thread_bounce());
    set_words(&bare, &bare, &bare);
}

static void wait_with_words(void *unused)
{
    set_words(&words[0], &words[1], &words[2]);
    od_queue_async(scene.queue, scene.group, OD_QUEUE_BAND, look_for_words, NULL);
    (void)od_group_wait(scene.group, INT64_MAX);
    atomic_fetch_add(&kept, od_thread_work() == &words[0] && od_thread_route() == &words[1] &&
                                od_thread_bounce() == &words[2]);
    set_words(NULL, NULL, NULL);
}

TEST(what_a_waiter_runs_has_none_of_its_words_and_leaves_them)
{
    begin_with(OD_UNLIMITED, NO_QUEUE);
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, wait_with_words, NULL);
    assert_comes_true(all_done(scene.pool) == 2);
    assert_int_equal(atomic_load(&bare), 1);
    assert_int_equal(atomic_load(&kept), 1);
    end();
}

/* ---- a queue that is suspended ---- */

SCENE(a_waiter_runs_nothing_of_a_queue_that_it_has_suspended,
      "pool 1; queue q; group g; add pool {add q a in g; suspend q; holds; await g}; holds -> 1; settle; a = 0; "
      "resume q; a -> 1")

/* ---- where it forks ---- */

static void expect_the_hand_to_be_held(void *unused)
{
    int held = 0;

    for (int each = 0; each < odi_queue_drain_batches(scene.queue); each++)
        held += scene.queue->batches[each].owner != NULL;
    child_expects(held == 1 && scene.queue->gate.held == 1);
}

static void fork_and_look(void *unused)
{
    outcome it = in_a_child(expect_the_hand_to_be_held, NULL, 60);
    atomic_store(&scene.nested, it.status);
}

static void wait_for_one_that_forks(void *unused)
{
    od_queue_async(scene.other, scene.group, OD_QUEUE_BAND, fork_and_look, NULL);
    (void)od_group_wait(scene.group, INT64_MAX);
}

/* It belongs to the drainer below, which goes on in the child and has its permit. */
TEST(a_child_of_what_a_waiter_runs_leaves_the_waiters_hand_to_its_drainer)
{
    begin_with(1, OD_UNLIMITED);
    od_queue_suspend(scene.queue);
    od_queue_async(scene.queue, NULL, OD_QUEUE_BAND, wait_for_one_that_forks, NULL);
    for (int i = 0; i < 8; i++) /* in the same drain batch */
        od_queue_async(scene.queue, NULL, OD_QUEUE_BAND, crowd_visit, &scene.inside);
    od_queue_resume(scene.queue);
    assert_comes_true(atomic_load(&scene.inside.visits) == 8);
    assert_int_equal(atomic_load(&scene.nested), 0);
    end();
}

static pid_t forked;

static void fork_here(void *unused) { forked = fork(); }

static void wait_in_the_child_too(void *unused)
{
    od_queue_async(scene.queue, scene.group, OD_QUEUE_BAND, fork_here, NULL);
    (void)od_group_wait(scene.group, INT64_MAX);
    if (forked == 0) { /* which of the group's records was used last is the parent's, too */
        od_queue_suspend(scene.queue);
        od_queue_async(scene.queue, scene.group, OD_QUEUE_BAND, fork_here, NULL);
        _exit(od_queue_pending(scene.queue) != 1);
    }
}

/* What it waits for is the parent's there, and over. */
TEST(a_wait_whose_job_forks_is_over_in_the_child)
{
    int status = -1;

    begin_with(OD_UNLIMITED, NO_QUEUE);
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, wait_in_the_child_too, NULL);
    assert_comes_true(all_done(scene.pool) == 2);
    if (!COMES_TRUE(waitpid(forked, &status, WNOHANG) != 0))
        kill(forked, SIGKILL);
    assert_int_equal(status, 0);
    end();
}

TEST(the_moment_of_a_notification_that_forks_is_the_parents)
{
    static odi_watch_waiter waiter;
    int status = -1;

    begin(lone_worker());
    od_group_enter(scene.group);
    odi_set set = odi_group_set(scene.group);
    assert_false(odi_watch_begin(&set, &waiter));
    od_group_notify(scene.group, fork_here, NULL);
    od_group_notify(scene.group, note_nested, NULL);
    od_group_leave(scene.group);
    bool told = atomic_load(&scene.nested) == 1 && odi_load_acquire(&waiter.released, L10) == 1;
    if (forked == 0)
        _exit(told || atomic_load(&scene.nested) > 0 || odi_load_acquire(&waiter.released, L10) > 0);
    assert_true(told);
    assert_int_equal(waitpid(forked, &status, 0), forked);
    assert_int_equal(status, 0);
    end();
}

/* ---- a place in line ---- */

/* It lost it every 20 ms, to come back at the end of the line if a stranger on top of it lasted. */
SCENE(a_sync_caller_keeps_its_place_in_line,
      "lone; queue q width 1; inside q; add pool {add pool Door; inside q; a}; q.waiting -> 1; add q b; pause 60; "
      "outside; open Door; order ab")

/* ---- a place among the workers ---- */

static atomic_int branch_over;

static void long_branch(void *unused)
{
    atomic_fetch_add(&scene.holds, 1);
    compute_until(&branch_over);
}

static void fork_and_join(void *unused)
{
    od_fork_slot *slot = od_fork(long_branch, NULL);
    while (atomic_load(&scene.holds) == 0)
        odi_thread_yield(); /* until it is stolen */
    od_join(slot, long_branch, NULL);
    atomic_fetch_add(&scene.ended, 1);
}

TEST(a_worker_asleep_in_a_join_gives_its_place_over)
{
    begin(pool_of(2));
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, fork_and_join, NULL);
    assert_comes_true(blocked_in(scene.pool) == 1);
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, note_nested, NULL);
    assert_comes_true(atomic_load(&scene.nested) == 1);
    atomic_store(&branch_over, true);
    assert_comes_true(atomic_load(&scene.ended) == 1);
    assert_comes_true(blocked_in(scene.pool) == 0);
    end();
}

/* ---- nothing goes on ---- */

static void (*describe)(od_pool *pool, char *text, size_t size);
static atomic_int described;

static void note_the_description(od_pool *pool, char *text, size_t size)
{
    describe(pool, text, size);
    atomic_fetch_add(&described, 1);
}

static void stand_still(void *times)
{
    describe = odi_describe_waits_above;
    odi_describe_waits_above = note_the_description;
    begin(lone_worker());
    scene.queue = od_queue_create(scene.pool, OD_BAND_DEFAULT, 1, "who waits");
    for (int time = 1; time <= (intptr_t)times; time++) { /* once each time */
        od_group_enter(scene.group);
        od_queue_async(scene.queue, NULL, OD_QUEUE_BAND, wait_in_queue, scene.queue);
        child_expects(COMES_TRUE(atomic_load(&described) == time));
        odi_clock_sleep(MILLISECONDS(20)); /* several looks on */
        child_expects(atomic_load(&described) == time);
        od_group_leave(scene.group);
        child_expects(od_queue_wait(scene.queue, HANG_NS));
        child_expects(COMES_TRUE(atomic_load(&scene.inside.visits) == (unsigned)time));
    }
    end(); /* the monitor has left: it has said what it had to say */
    child_expects(atomic_load(&described) == (intptr_t)times);
}

TEST(a_pool_that_stands_still_says_who_waits_for_what)
{
    outcome it = in_a_child(stand_still, (void *)2, 60);
    assert_int_equal(it.status, 0);
    assert_non_null(strstr(it.said, "pool \"test\" is stuck: closures are pending, but every thread waits (1 threads, 0 spares"));
    assert_non_null(strstr(it.said, ": a closure of \"who waits\" waits for a group.\n"));
}

TEST(of_many_that_wait_four_are_named_and_the_others_counted)
{
    od_pool *pool = pool_of(6);
    char text[512] = "";
    gate door = {0};
    int named = 0;

    submit_many(pool, 6, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 6);
    odi_describe_waits_above(pool, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "a closure blocks")) != NULL; at++)
        named++;
    assert_int_equal(named, 4);
    assert_non_null(strstr(text, "; and 2 more"));
    gate_open(&door);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void sync_and_leave(void *queue) { run_synced(queue, no_job, NULL); }

TEST(who_waits_at_a_queue_is_described_with_its_name_as_far_as_there_is_room)
{
    static const char one[] = ": a closure waits in sync on \"held\"", two[] = "; a closure waits in sync on \"held\"";
    od_pool *pool = pool_of(3);
    od_queue *held = od_queue_create(pool, OD_BAND_DEFAULT, 1, "held");
    char text[512], both[512];
    od_scope scope;

    snprintf(both, sizeof both, "%s%s", one, two);
    run_in(held, no_job, NULL); /* whose worker is idle */
    od_queue_sync_begin(held, &scope);
    for (int waits = 1; waits <= 2; waits++) {
        od_pool_submit(pool, OD_BAND_DEFAULT, sync_and_leave, held);
        assert_comes_true(blocked_in(pool) == waits);
        odi_describe_waits_above(pool, text, sizeof text);
        assert_string_equal(text, waits == 1 ? one : both);
    }
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    odi_describe_waits_above(pool, text, 8);
    assert_int_equal(strncmp(text, one, 7) + text[7], 0);
    assert_int_equal(strspn(text + 8, "x"), sizeof text - 9);
    od_queue_sync_end(&scope);
    end_pool(pool, held);
}

static char warned[512];
static atomic_int warnings;

static void take_warning(const char *sentence)
{
    snprintf(warned, sizeof warned, "%s", sentence);
    atomic_fetch_add(&warnings, 1);
}

static void stand_still_for_a_taker(void *times)
{
    od_warnings_to(take_warning);
    stand_still(times);
    child_expects(atomic_load(&warnings) == 1);
    child_expects(strncmp(warned, "pool \"test\" is stuck: ", 22) == 0);
    child_expects(strchr(warned, '\n') == NULL);
    od_warnings_to(NULL);
    odi_warn("written again");
}

TEST(warnings_go_to_who_asks_for_them)
{
    outcome it = in_a_child(stand_still_for_a_taker, (void *)1, 60);
    assert_int_equal(it.status, 0);
    assert_string_equal(it.said, "overdrive: written again\n");
}

/* ---- threads that cannot be had ---- */

static void lock_and_note(void *thread)
{
    pthread_mutex_lock(&scene.mutex);
    pthread_mutex_unlock(&scene.mutex);
    atomic_fetch_add(&scene.nested, pthread_equal(*(pthread_t *)thread, pthread_self()) != 0);
    atomic_fetch_add(&scene.ended, 1);
}

static void hold_the_worker(void *told)
{
    atomic_store(&scene.holds, 1);
    compute_until(told);
}

/* A worker is there, and will come: the submitter, who holds what the job needs, is not to run it. */
TEST_WITH(a_submission_is_no_call_where_a_further_thread_cannot_be_had, NULL, threads_again)
{
    pthread_t self = pthread_self();
    atomic_int told = 0;

    begin(pool_of(2));
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, hold_the_worker, &told);
    assert_comes_true(atomic_load(&scene.holds) == 1);
    atomic_store(&before_thread, no_thread);
    pthread_mutex_lock(&scene.mutex);
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, lock_and_note, &self);
    pthread_mutex_unlock(&scene.mutex);
    atomic_store(&told, 1);
    assert_comes_true(atomic_load(&scene.ended) == 1);
    assert_int_equal(atomic_load(&scene.nested), 0);
    atomic_store(&before_thread, NULL);
    end();
}

static void wait_for_the_group(void *unused)
{
    atomic_store(&scene.holds, 1);
    (void)od_group_wait(scene.group, INT64_MAX);
    atomic_fetch_add(&scene.ended, 1);
}

static void leave_the_group(void *unused) { od_group_leave(scene.group); }

/* The first spare was started with the pool, and stays. */
TEST_WITH(a_job_that_waits_has_its_place_taken_though_no_thread_is_to_be_had, NULL, threads_again)
{
    begin(pool_of(1));
    scene.pool->team.bench_ns = MILLISECONDS(1);
    for (int round = 0; round < 2; round++) {
        atomic_store(&scene.ended, 0);
        atomic_store(&scene.holds, 0);
        od_group_enter(scene.group);
        od_pool_submit(scene.pool, OD_BAND_DEFAULT, wait_for_the_group, NULL);
        assert_comes_true(atomic_load(&scene.holds) == 1);
        atomic_store(&before_thread, no_thread);
        od_pool_submit(scene.pool, OD_BAND_DEFAULT, leave_the_group, NULL);
        assert_comes_true(atomic_load(&scene.ended) == 1);
        assert_comes_true(metrics_of(scene.pool).active == 1);
        odi_clock_sleep(MILLISECONDS(10)); /* ten times as long as one that may leave sits there */
        assert_int_equal(metrics_of(scene.pool).threads_started, 2);
    }
    atomic_store(&before_thread, NULL);
    end();
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
