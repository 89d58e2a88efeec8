/* gate/within.c: jobs that begin inside of the task that awaits them. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

#include <sys/wait.h>

#ifdef ODI_SWIFT_CLOSURES

/* What the thread runs, as far as the engine can ask the Swift runtime. */
static _Thread_local void *current;

__attribute__((swiftcall)) void *swift_task_getCurrent(void);
__attribute__((swiftcall)) void *swift_task_getCurrent(void)
{
    return current;
}

/* What the task saw otherwise than it should have. */
static int wrong;
#define expect(condition)                                                                 \
    ((condition) ? (void)0 : (void)(wrong++, fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition)))

/* A task: a job of the pool, which is what the thread runs. */
typedef struct {
    void (*body)(void);
    atomic_bool over;
} task_of_test;

static void run_task(void *raw)
{
    task_of_test *task = raw;

    current = raw;
    task->body();
    current = NULL;
    atomic_store(&task->over, true);
}

static void as_task(void (*body)(void))
{
    task_of_test task = {.body = body};

    assert_int_equal(od_pool_submit(pool, OD_BAND_DEFAULT, run_task, &task), OD_OK);
    assert_true(COMES_TRUE(atomic_load(&task.over)));
    assert_int_equal(wrong, 0);
}

static od_queue *queue, *other;
static int begun;
static atomic_int ran;

static bool begins(void)
{
    void *task = NULL;
    bool does = od_queue_begin_within(queue, &task) == OD_BEGUN_WITHIN;

    expect(!does || task == current);
    return does;
}

static void count_run(void *unused) { ran++; }

/* ---- what it is to others ---- */

static void is_a_job_of_the_queue(void)
{
    expect(COMES_TRUE(begins()));
    expect(od_queue_is_current(queue));
    expect(od_queue_of_thread(0) == queue);
    expect(od_queue_current_band() == OD_BAND_UTILITY);
    expect(od_queue_pending(queue) == 1);
    expect(od_queue_running(queue) == 1);
    expect(!od_queue_wait(queue, 0));
    expect(od_queue_cancel_all(queue) == 0);
    expect(od_queue_pending(queue) == 1);
    od_queue_end_within();
    expect(!od_queue_is_current(queue));
    expect(od_queue_of_thread(0) == NULL);
    expect(odi_load_relaxed(&odi_worker_self->queue_running) == NULL); /* for reports */
    expect(od_queue_pending(queue) == 0);
    expect(od_queue_running(queue) == 0);
}

QUEUE_TEST(it_is_a_job_of_the_queue_to_whoever_asks)
{
    for (int each = 0; each < WIDTHS; each++) {
        queue = od_queue_create(pool, OD_BAND_UTILITY, widths[each], "within");
        as_task(is_a_job_of_the_queue);
        end_queue(queue);
    }
}

static void holds_back(void)
{
    expect(COMES_TRUE(begins()));
    add(queue, count_run, NULL);
    expect(all_has_run_that_can(pool));
    expect(ran == 0);
    od_queue_end_within();
}

QUEUE_TEST(it_holds_the_place_of_a_serial_queue)
{
    ran = 0;
    queue = queue_of(1);
    as_task(holds_back);
    end_queue(queue);
    assert_int_equal(ran, 1);
}

static void is_cancelled(void)
{
    odi_record *record = odi_queue_find_record(queue, NULL, od_queue_band(queue), NULL);
    void *task = NULL;

    odi_or_relaxed(&record->flags, ODI_RECORD_CANCELLED); /* relaxed: a cancel between the count and the start */
    expect(COMES_TRUE(od_queue_begin_within(queue, &task) == OD_CANCELLED_WITHIN));
    odi_and_relaxed(&record->flags, ~(uint32_t)ODI_RECORD_CANCELLED);
}

QUEUE_TEST(it_gives_its_place_up_where_a_cancel_has_come)
{
    queue = queue_of(1);
    run_in(queue, no_job, NULL);
    as_task(is_cancelled);
    run_in(queue, no_job, NULL);
    od_queue_release(queue);
}

static void releases(void)
{
    expect(COMES_TRUE(begins()));
    od_queue_release(queue);
    expect(!serves_again(queue));
    od_queue_end_within();
}

QUEUE_TEST(it_keeps_a_queue_that_is_released)
{
    for (int each = 0; each < WIDTHS; each++) {
        queue = queue_of(widths[each]);
        as_task(releases);
        assert_true(COMES_TRUE(serves_again(queue)));
    }
}

static void forks(void)
{
    expect(COMES_TRUE(begins()));
    pid_t child = fork();

    if (child == 0) {
        od_queue_end_within();
        _exit(od_queue_of_thread(0) == NULL && od_queue_pending(queue) == 0 ? 0 : 1);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect(status == 0);
    od_queue_end_within();
}

QUEUE_TEST(a_forked_child_ends_it_without_its_worker)
{
    for (int each = 0; each < WIDTHS; each++) {
        queue = queue_of(widths[each]);
        as_task(forks);
        end_queue(queue);
    }
}

/* ---- where it is not as good as a turn ---- */

static void begins_not(void) { expect(!begins()); }

static void begins_not_again(void)
{
    expect(COMES_TRUE(begins())); /* who ran the last job may hold its place for a moment */
    expect(!begins());
    od_queue_end_within();
}

static void submits_what_matters_less(void)
{
    od_pool_submit(pool, OD_BAND_BACKGROUND, count_run, NULL);
    expect(!begins());
}

static void brings_what_matters_less_from_outside(void)
{
    (void)odi_site_push(odi_worker_self->site, OD_BAND_BACKGROUND, odi_job_plain(count_run, NULL, 0));
    expect(!begins());
}

static void begins_so_often(void)
{
    for (begun = 0; begun < 1000 && begins(); begun++)
        od_queue_end_within();
}

static void begins_again_late(void)
{
    expect(COMES_TRUE(begins()));
    od_queue_end_within();
    odi_clock_sleep(30 * ODI_MILLISECOND);
    expect(!begins());
}

static void is_another(void)
{
    void *mine = current;

    current = &mine;
    expect(!begins());
    current = NULL;
    expect(!begins());
    current = mine;
    expect(COMES_TRUE(begins()));
    od_queue_end_within();
}

static void runs_on_another_queue(void *raw)
{
    current = raw;
    expect(!begins());
    current = NULL;
}

QUEUE_TEST(it_does_not_begin_where_something_is_before_it)
{
    queue = queue_of(1);
    od_queue_suspend(queue);
    as_task(begins_not);
    add(queue, count_run, NULL);
    as_task(begins_not);
    od_queue_resume(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    as_task(begins_not_again);
    od_queue_release(queue);
}

static void submits_to_it(void)
{
    add(queue, count_run, NULL);
    expect(!begins());
}

/* On a pool of one worker, which the task is on. */
static void where_nobody_helps(int32_t width, void (*body)(void))
{
    od_pool *three = pool;
    od_stop_report report;

    pool = pool_of(1);
    queue = queue_of(width);
    as_task(body);
    od_queue_release(queue);
    assert_int_equal(od_pool_stop(pool, HANG_NS, &report), OD_OK);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pool = three;
}

QUEUE_TEST(it_does_not_begin_while_another_band_waits)
{
    where_nobody_helps(1, submits_what_matters_less);
    where_nobody_helps(1, brings_what_matters_less_from_outside);
}

static void submits_beside_it(void)
{
    od_pool_submit(pool, OD_BAND_DEFAULT, count_run, NULL);
    expect(!begins());
}

static void brings_something_beside_it_from_outside(void)
{
    (void)odi_site_push(odi_worker_self->site, OD_BAND_DEFAULT, odi_job_plain(count_run, NULL, 0));
    expect(!begins());
}

QUEUE_TEST(it_does_not_begin_before_what_waits_for_a_worker)
{
    where_nobody_helps(2, submits_to_it);
    where_nobody_helps(OD_UNLIMITED, submits_to_it);
    where_nobody_helps(OD_UNLIMITED, submits_beside_it);
    where_nobody_helps(OD_UNLIMITED, brings_something_beside_it_from_outside);
}

QUEUE_TEST(it_does_not_begin_for_ever_while_others_wait_for_the_worker)
{
    for (int each = 0; each < WIDTHS; each++) {
        queue = queue_of(widths[each]);
        as_task(begins_so_often);
        assert_true(begun > 0 && begun <= 64);
        as_task(begins_so_often);
        assert_true(begun > 0);
        od_queue_release(queue);
    }
    queue = queue_of(1);
    as_task(begins_again_late);
    od_queue_release(queue);
}

QUEUE_TEST(it_does_not_begin_in_what_runs_on_top_of_a_task)
{
    queue = queue_of(1);
    as_task(is_another);
    od_queue_release(queue);
}

QUEUE_TEST(it_does_not_begin_with_another_queues_place_in_hand)
{
    queue = queue_of(1);
    for (int each = 0; each < WIDTHS; each++) {
        other = queue_of(widths[each]);
        add(other, runs_on_another_queue, &other);
        end_queue(other);
    }
    assert_int_equal(wrong, 0);
    od_queue_release(queue);
}

QUEUE_TEST(it_does_not_begin_on_a_queue_of_another_pool)
{
    od_pool *foreign = pool_of(1);
    od_stop_report report;

    queue = od_queue_create(foreign, OD_BAND_DEFAULT, 1, "foreign");
    as_task(begins_not);
    od_queue_release(queue);
    assert_int_equal(od_pool_stop(foreign, HANG_NS, &report), OD_OK);
    assert_int_equal(od_pool_free(foreign), OD_OK);
}

QUEUE_TEST(it_does_not_begin_outside_of_workers)
{
    queue = queue_of(1);
    current = &current;
    assert_false(begins());
    current = NULL;
    od_queue_release(queue);
}

#endif

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
