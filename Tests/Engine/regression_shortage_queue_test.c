/* What once became of a line's jobs when memory was short: two at a time in a serial queue, a worker
 * that waited for itself, and an end that nobody was told of. */
#include "Support/looks.h"
#include "Support/memory_failure.h"
#include "Support/pools.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "include/od_timer.h"

/* ---- one at a time ---- */

static struct {
    od_queue *target, *serial;
    uint32_t flags;
    atomic_int inside, beside;
    atomic_bool submitted;
    atomic_ullong ran;
} lines;

static void note_who_is_inside(void *unused)
{
    (void)unused;
    atomic_fetch_add(&lines.beside, atomic_load(&lines.inside));
    atomic_fetch_add(&lines.ran, 1);
}

static void submit_without_memory(void *unused)
{
    (void)unused;
    atomic_store(&grants, 0);
    od_queue_async_with(lines.serial, NULL, OD_QUEUE_BAND, lines.flags, note_who_is_inside, NULL);
    atomic_store(&lines.submitted, true);
}

static void *submitter(void *unused)
{
    submit_without_memory(unused);
    return NULL;
}

static od_pool *open_lines(uint32_t flags)
{
    od_pool *pool = pool_of(2);

    memset(&lines, 0, sizeof lines);
    lines.flags = flags;
    lines.target = od_queue_create(pool, OD_BAND_DEFAULT, 2, "target");
    lines.serial = od_queue_create_with(
        pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .target = lines.target});
    atomic_ullong ran = 0;
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran); /* its first threads are there */
    assert_comes_true(atomic_load(&ran) == 1 && odi_idle_sleepers(&pool->team.sites[0].idle) > 0);
    return pool;
}

static void close_lines(od_pool *pool)
{
    assert_true(od_queue_wait(lines.serial, HANG_NS));
    assert_true(od_queue_wait(lines.target, HANG_NS));
    od_queue_release(lines.serial);
    od_queue_release(lines.target);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* A closure of the target holds one of its places: it used to run there what it submitted to the
 * serial queue, whoever was in that. */
static void a_closure_of_a_target_enters_no_serial_queue_for_want_of_memory(void **state)
{
    static const uint32_t flags[] = {0, OD_BARRIER};

    (void)state;
    if (SANITIZED)
        skip();
    for (int each = 0; each < 2; each++) {
        od_pool *pool = open_lines(flags[each]);
        od_scope scope;

        od_queue_sync_begin(lines.serial, &scope);
        atomic_store(&lines.inside, 1);
        od_queue_async(lines.target, NULL, OD_QUEUE_BAND, submit_without_memory, NULL);
        assert_comes_true(atomic_load(&lines.submitted) || waiting_in(lines.serial) == 1);
        atomic_store(&lines.inside, 0);
        od_queue_sync_end(&scope);
        assert_comes_true(atomic_load(&lines.ran) == 1);
        atomic_store(&grants, -1);
        assert_int_equal(atomic_load(&lines.beside), 0);
        close_lines(pool);
    }
}

/* Who submits need not wait for the resume, but for those who were there before it. */
static void a_submission_to_a_suspended_queue_without_memory_waits_for_who_is_inside(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    for (int each = 0; each < 4; each++) {
        od_pool *pool = open_lines(each % 2 == 0 ? 0 : OD_BARRIER);
        od_queue *suspended = each / 2 == 0 ? lines.serial : lines.target;
        pthread_t thread;
        od_scope scope;

        od_queue_sync_begin(lines.serial, &scope);
        atomic_store(&lines.inside, 1);
        od_queue_suspend(suspended);
        assert_int_equal(pthread_create(&thread, NULL, submitter, NULL), 0);
        assert_comes_true(atomic_load(&grants) == 0);
        for (int i = 0; i < 20 && !atomic_load(&lines.submitted); i++)
            odi_clock_sleep(ODI_MILLISECOND); /* time for who would not wait */
        atomic_store(&lines.inside, 0);
        od_queue_sync_end(&scope);
        assert_comes_true(atomic_load(&lines.submitted)); /* and it is suspended still */
        atomic_store(&grants, -1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        od_queue_resume(suspended);
        assert_int_equal(atomic_load(&lines.ran), 1);
        assert_int_equal(atomic_load(&lines.beside), 0);
        close_lines(pool);
    }
}

/* ---- timers ---- */

static void count_call(void *counter, uint64_t missed)
{
    (void)missed;
    count_job(counter);
}

/* A lone worker without a ring for the band of the queues. */
static od_pool *fresh_worker(atomic_ullong *ran)
{
    od_pool *pool = lone_worker();

    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, count_job, ran);
    assert_comes_true(atomic_load(ran) == 1);
    return pool;
}

/* The worker that fires a timer used to wait there for the queue's turn. */
static void a_worker_that_fires_a_timer_without_memory_does_not_wait_for_the_queue(void **state)
{
    atomic_ullong ran = 0, calls = 0;
    od_scope scope;

    (void)state;
    if (SANITIZED)
        skip();
    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_queue_sync_begin(queue, &scope);
    od_timer *timer = od_timer_create(
        queue, &(od_timer_options){.delay_ns = ODI_MILLISECOND, .call = count_call, .context = &calls});
    atomic_store(&grants, 0);
    od_timer_start(timer);
    assert_comes_true(LOOK(queue, queue->first_node != NULL));
    atomic_store(&grants, -1);
    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 2); /* before the queue is free */
    assert_int_equal(atomic_load(&calls), 0);
    od_queue_sync_end(&scope);
    assert_comes_true(atomic_load(&calls) == 1);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_timer_release(timer);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- ends that somebody waits for ---- */

/* The call runs while the worker looks for work, and its end was told by nobody. */
static void the_end_of_a_timers_call_without_memory_is_told_to_its_queue(void **state)
{
    atomic_ullong ran = 0, calls = 0;

    (void)state;
    if (SANITIZED)
        skip();
    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_timer *timer = od_timer_create(
        queue, &(od_timer_options){.delay_ns = ODI_MILLISECOND, .call = count_call, .context = &calls});
    atomic_store(&grants, 0);
    od_timer_start(timer);
    assert_comes_true(atomic_load(&calls) == 1);
    bool empty = od_queue_wait(queue, HANG_NS);
    atomic_store(&grants, -1);
    assert_true(empty);
    od_timer_release(timer);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

typedef struct {
    od_queue *next;
    gate door;
    atomic_ullong *ran;
} leader;

static void leave_a_job_and_wait(void *raw)
{
    leader *it = raw;

    od_queue_async(it->next, NULL, OD_QUEUE_BAND, count_job, it->ran); /* into the worker's deque */
    gate_pass(&it->door);
}

/* The worker begins another queue's run and tells the end of its own, which lets a barrier go. Where
 * there is no memory for the drainer's pass it runs right there, and its run was overwritten. */
static void the_end_of_a_barrier_that_begins_without_memory_is_told_to_its_queue(void **state)
{
    atomic_ullong ran = 0;

    (void)state;
    if (SANITIZED)
        skip();
    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "open");
    leader first = {od_queue_create(pool, OD_BAND_USER_INITIATED, OD_UNLIMITED, "next"), {0}, &ran};
    od_queue_async(queue, NULL, OD_BAND_DEFAULT, leave_a_job_and_wait, &first);
    assert_comes_true(atomic_load(&first.door.waiting) == 1);
    od_queue_async_with(queue, NULL, OD_QUEUE_BAND, OD_BARRIER, count_job, &ran);
    atomic_store(&grants, 0);
    gate_open(&first.door);
    assert_comes_true(atomic_load(&ran) == 3);
    bool empty = od_queue_wait(queue, HANG_NS) && od_queue_wait(first.next, HANG_NS);
    atomic_store(&grants, -1);
    assert_true(empty);
    od_queue_release(first.next);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- room of its own ---- */

static void count_alone(void *inside)
{
    atomic_fetch_add(&lines.beside, atomic_fetch_add((atomic_int *)inside, 1));
    odi_spin_pause();
    atomic_fetch_sub((atomic_int *)inside, 1);
    atomic_fetch_add(&lines.ran, 1);
}

/* What a timer does where memory is short, in every flavour: its room serves call after call. */
static void what_is_kept_in_its_own_room_runs_once_and_alone(void **state)
{
    enum { CALLS = 500 };
    od_pool *pool = open_lines(0);
    odi_wait_node room;

    (void)state;
    for (uint64_t call = 1; call <= CALLS; call++) {
        od_queue_async(lines.serial, NULL, OD_QUEUE_BAND, count_alone, &lines.inside);
        assert_true(odi_queue_keep_in(lines.serial, &room,
                                      odi_job_plain(count_alone, &lines.inside, 0)));
        od_queue_async(lines.serial, NULL, OD_QUEUE_BAND, count_alone, &lines.inside);
        assert_comes_true(atomic_load(&lines.ran) == 3 * call);
    }
    assert_int_equal(atomic_load(&lines.beside), 0);
    close_lines(pool);
}

/* ---- on a stop's thread ---- */

static struct {
    od_queue *held, *upon;
    atomic_ullong ran;
    atomic_bool submitted;
} late;

static void submit_late_without_memory(void *unused)
{
    (void)unused;
    atomic_store(&grants, 0);
    od_queue_async(late.upon, NULL, OD_QUEUE_BAND, count_job, &late.ran);
    atomic_store(&grants, -1);
    atomic_store(&late.submitted, true);
}

/* Found by reading: the stop waited for the turn of what it was to give up, behind the job that it
 * had reported as stuck. */
static void what_a_stops_notification_submits_without_memory_is_given_up(void **state)
{
    od_stop_report report;
    gate door = {0};

    (void)state;
    if (SANITIZED)
        skip();
    memset(&late, 0, sizeof late);
    od_pool *pool = lone_worker();
    od_queue *last = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "last");
    od_group *group = od_group_create();
    late.held = od_queue_create(pool, OD_BAND_DEFAULT, 1, "held");
    late.upon = od_queue_create_with(
        pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .target = late.held});
    od_queue_async(late.held, NULL, OD_QUEUE_BAND, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    od_queue_async(last, group, OD_QUEUE_BAND, count_job, &late.ran);
    od_group_notify(group, submit_late_without_memory, NULL);
    assert_int_equal(od_pool_stop(pool, 0, &report), OD_OK);
    assert_true(atomic_load(&late.submitted));
    assert_int_equal(atomic_load(&late.ran), 0);
    assert_int_equal(report.stuck, 1);
    assert_int_equal(report.ran, 0);
    assert_int_equal(report.cancelled, 2);
    gate_open(&door);
    assert_comes_true(all_done(pool) == 3); /* it has left the gate */
    od_group_release(group);
    od_queue_release(last);
    od_queue_release(late.upon);
    od_queue_release(late.held);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- what was taken for a shortage ---- */

static struct {
    od_pool *pool;
    od_queue *queue;
    pthread_barrier_t begin;
    int pauses;
    atomic_ullong ran, on_submitters;
} first_two;

static _Thread_local bool submits;

static void note_thread(void *unused)
{
    (void)unused;
    atomic_fetch_add(&first_two.on_submitters, submits);
    atomic_fetch_add(&first_two.ran, 1);
}

/* The second one comes while the first begins the pool. */
static void *submit_one(void *second)
{
    submits = true;
    pthread_barrier_wait(&first_two.begin);
    while (second != NULL && odi_load_relaxed(&first_two.pool->team.starts) == 0)
        odi_spin_pause();
    for (int i = 0; second != NULL && i < first_two.pauses; i++)
        odi_spin_pause();
    assert_int_equal(od_queue_async(first_two.queue, NULL, OD_QUEUE_BAND, note_thread, NULL), OD_OK);
    return NULL;
}

/* Who found the pool closed, and then open, took that for a record without memory: he ran the job himself, on
 * a suspended queue, and a limit did not judge it. */
static void who_submits_while_another_thread_begins_the_pool_is_not_short_of_memory(void **state)
{
    (void)state;
    for (int round = 0; round < UNLESS_SANITIZED(500, 100); round++) {
        bool limited = round % 2 == 1;
        pthread_t threads[2];

        first_two.pool = pool_of(1);
        first_two.pauses = round / 2 % 8;
        first_two.queue = od_queue_create_with(
            first_two.pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .overflow = OD_OVERFLOW_REFUSED,
                                                .pending_limit = limited});
        atomic_store(&first_two.ran, 0);
        pthread_barrier_init(&first_two.begin, NULL, 2);
        od_queue_suspend(first_two.queue);
        for (uintptr_t i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, submit_one, (void *)i), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&first_two.ran), 0);
        assert_int_equal(od_queue_pending(first_two.queue), limited ? 1 : 2);
        assert_int_equal(od_queue_refused(first_two.queue), limited);
        od_queue_resume(first_two.queue);
        assert_true(od_queue_wait(first_two.queue, HANG_NS));
        assert_int_equal(atomic_load(&first_two.on_submitters), 0);
        od_queue_release(first_two.queue);
        assert_int_equal(od_pool_free(first_two.pool), OD_OK);
        pthread_barrier_destroy(&first_two.begin);
    }
}

int main(void)
{
#define MEMORY_TEST(name) cmocka_unit_test_teardown(name, memory_again)
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(a_closure_of_a_target_enters_no_serial_queue_for_want_of_memory),
        MEMORY_TEST(a_submission_to_a_suspended_queue_without_memory_waits_for_who_is_inside),
        MEMORY_TEST(a_worker_that_fires_a_timer_without_memory_does_not_wait_for_the_queue),
        MEMORY_TEST(the_end_of_a_timers_call_without_memory_is_told_to_its_queue),
        MEMORY_TEST(the_end_of_a_barrier_that_begins_without_memory_is_told_to_its_queue),
        MEMORY_TEST(what_a_stops_notification_submits_without_memory_is_given_up),
        cmocka_unit_test(what_is_kept_in_its_own_room_runs_once_and_alone),
        cmocka_unit_test(who_submits_while_another_thread_begins_the_pool_is_not_short_of_memory),
    };
    return run_guarded(tests);
}
