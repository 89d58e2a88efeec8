/* lane/: queues' order, width, suspension, cancelling, turns, and lives. */
#include "Support/pools.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "job/group.h"
#include "lane/queue.h"

static od_pool *pool;

static int set_up(void **state)
{
    (void)state;
    pool = pool_of(3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return od_pool_free(pool) == OD_OK ? 0 : -1;
}

static od_queue *queue_of(int32_t width)
{
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, width, "test");

    if (queue == NULL)
        abort();
    return queue;
}

static void add(od_queue *queue, void (*function)(void *), void *context)
{
    od_queue_async(queue, NULL, OD_QUEUE_BAND, function, context);
}

/* ---- serial order ---- */

enum { SUBMITTERS = 3, EACH = 5000, EACH_SANITIZED = 1000 };

static struct {
    od_queue *queue;
    int each;
    atomic_int inside;
    int overlaps, disorder, ran;
    int last[SUBMITTERS];
} serial;

static void serial_job(void *raw)
{
    int submitter = (int)((uintptr_t)raw >> 32), index = (int)(uintptr_t)raw;

    /* Nothing here is atomic but `inside`: a serial queue needs no more. */
    serial.overlaps += atomic_fetch_add(&serial.inside, 1) != 0;
    serial.disorder += index != serial.last[submitter] + 1;
    serial.last[submitter] = index;
    serial.ran++;
    atomic_fetch_sub(&serial.inside, 1);
}

static void *submit_in_order(void *raw)
{
    for (int i = 1; i <= serial.each; i++)
        add(serial.queue, serial_job, (void *)((uintptr_t)raw << 32 | (uintptr_t)i));
    return NULL;
}

static void assert_serial(int each)
{
    pthread_t threads[SUBMITTERS];

    serial.each = each;
    serial.overlaps = serial.disorder = serial.ran = 0;
    memset(serial.last, 0, sizeof serial.last);
    for (uintptr_t i = 0; i < SUBMITTERS; i++)
        pthread_create(&threads[i], NULL, submit_in_order, (void *)i);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    assert_true(od_queue_wait(serial.queue, HANG_NS));
    assert_int_equal(serial.overlaps, 0);
    assert_int_equal(serial.disorder, 0);
    assert_int_equal(serial.ran, SUBMITTERS * each);
}

static void a_serial_queue_runs_one_at_a_time_in_each_submitters_order(void **state)
{
    (void)state;
    serial.queue = queue_of(1);
    assert_serial(UNLESS_SANITIZED(EACH, EACH_SANITIZED));
    od_queue_release(serial.queue);
}

static atomic_bool toggling;

static void *suspend_and_resume(void *queue)
{
    prng random = prng_for(3, 3);

    while (atomic_load(&toggling)) {
        od_queue_suspend(queue);
        if (prng_one_in(&random, 2))
            sched_yield();
        od_queue_resume(queue);
        for (uint32_t i = prng_below(&random, 100); i > 0; i--)
            odi_spin_pause();
    }
    return NULL;
}

static void order_survives_suspensions(void **state)
{
    pthread_t toggler;

    (void)state;
    serial.queue = queue_of(1);
    atomic_store(&toggling, true);
    pthread_create(&toggler, NULL, suspend_and_resume, serial.queue);
    assert_serial(UNLESS_SANITIZED(EACH, EACH_SANITIZED));
    atomic_store(&toggling, false);
    pthread_join(toggler, NULL);
    od_queue_release(serial.queue);
}

static void *resize(void *raw)
{
    prng random = prng_for(4, 4);

    (void)raw;
    while (atomic_load(&toggling)) {
        od_pool_set_workers(pool, 1 + (int)prng_below(&random, 6));
        odi_clock_sleep(100 * ODI_MICROSECOND);
    }
    return NULL;
}

static void order_survives_a_pool_that_changes_its_size(void **state)
{
    pthread_t resizer;

    (void)state;
    serial.queue = queue_of(1);
    atomic_store(&toggling, true);
    pthread_create(&resizer, NULL, resize, NULL);
    assert_serial(UNLESS_SANITIZED(EACH, EACH_SANITIZED));
    atomic_store(&toggling, false);
    pthread_join(resizer, NULL);
    od_queue_release(serial.queue);
}

/* ---- width ---- */

static struct {
    atomic_int inside, most;
    atomic_ullong ran;
} crowd;

static void crowd_job(void *unused)
{
    int inside = atomic_fetch_add(&crowd.inside, 1) + 1, most = atomic_load(&crowd.most);

    (void)unused;
    while (inside > most && !atomic_compare_exchange_weak(&crowd.most, &most, inside)) {
    }
    sched_yield();
    atomic_fetch_sub(&crowd.inside, 1);
    atomic_fetch_add(&crowd.ran, 1);
}

static void at_most_width_jobs_run_at_once(void **state)
{
    (void)state;
    for (int32_t width = 1; width <= 5; width++) {
        od_queue *queue = queue_of(width);

        memset(&crowd, 0, sizeof crowd);
        for (int i = 0; i < 2000; i++)
            add(queue, crowd_job, NULL);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&crowd.ran), 2000);
        assert_in_range(atomic_load(&crowd.most), 1, width);
        assert_int_equal(od_queue_width(queue), width);
        od_queue_release(queue);
    }
}

static void a_narrower_width_holds_for_what_starts_afterwards(void **state)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    gate doors[3] = {0};

    (void)state;
    memset(&crowd, 0, sizeof crowd);
    for (int i = 0; i < 3; i++)
        add(queue, gate_job, &doors[i]);
    for (int i = 0; i < 3; i++)
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    for (int i = 0; i < 500; i++)
        add(queue, crowd_job, NULL); /* still in the pool … */
    od_queue_set_width(queue, 1);
    for (int i = 0; i < 500; i++)
        add(queue, crowd_job, NULL); /* … and these in the lane */
    for (int i = 0; i < 3; i++)
        gate_open(&doors[i]);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 1000);
    /* One of the 500 may already have been under way when the width changed. */
    assert_in_range(atomic_load(&crowd.most), 1, 4);
    memset(&crowd, 0, sizeof crowd);
    for (int i = 0; i < 500; i++)
        add(queue, crowd_job, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&crowd.most), 1);
    od_queue_set_width(queue, OD_UNLIMITED);
    for (int i = 0; i < 500; i++)
        add(queue, crowd_job, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 1000);
    od_queue_release(queue);
}

/* ---- suspension ---- */

static void nothing_starts_while_suspended(void **state)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        atomic_ullong ran = 0;

        od_queue_suspend(queue);
        od_queue_suspend(queue);
        assert_true(od_queue_is_suspended(queue));
        for (int job = 0; job < 100; job++)
            add(queue, count_job, &ran);
        od_queue_resume(queue);
        assert_true(od_queue_is_suspended(queue));
        odi_clock_sleep(MILLISECONDS(2));
        assert_int_equal(atomic_load(&ran), 0);
        assert_int_equal(od_queue_pending(queue), 100);
        assert_false(od_queue_wait(queue, MILLISECONDS(1)));
        od_queue_resume(queue);
        assert_false(od_queue_is_suspended(queue));
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), 100);
        od_queue_release(queue);
    }
}

static void what_was_queued_before_a_suspension_is_held_back_too(void **state)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    gate doors[3] = {0};
    atomic_ullong ran = 0;

    (void)state;
    for (int i = 0; i < 3; i++)
        add(queue, gate_job, &doors[i]);
    for (int i = 0; i < 3; i++)
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    for (int i = 0; i < 200; i++)
        add(queue, count_job, &ran);
    od_queue_suspend(queue);
    for (int i = 0; i < 3; i++)
        gate_open(&doors[i]);
    assert_comes_true(metrics_of(pool).diverted == 200);
    assert_int_equal(atomic_load(&ran), 0);
    od_queue_resume(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&ran), 200);
    od_queue_release(queue);
}

static void resume_too_often(void *unused)
{
    od_queue *queue = od_queue_create(pool_of(1), OD_BAND_DEFAULT, 1, "balanced");

    (void)unused;
    od_queue_suspend(queue);
    od_queue_resume(queue);
    od_queue_resume(queue);
}

static void one_resume_too_many_traps_by_name(void **state)
{
    (void)state;
    assert_child_traps(resume_too_often, NULL, "TaskQueue.resume() of \"balanced\"");
}

/* ---- cancelling ---- */

static void a_cancel_of_what_waits_is_exact(void **state)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        od_group *group = od_group_create();
        atomic_ullong ran = 0;

        assert_int_equal(od_queue_cancel_all(queue), 0);
        od_queue_suspend(queue);
        for (int job = 0; job < 100; job++)
            od_queue_async(queue, job % 2 ? group : NULL, job % 4 ? OD_QUEUE_BAND : 0,
                           count_job, &ran);
        assert_int_equal(od_queue_cancel_all(queue), 100);
        assert_int_equal(od_queue_cancel_all(queue), 0);
        assert_true(od_group_wait(group, HANG_NS));
        assert_true(od_queue_wait(queue, HANG_NS));
        od_queue_resume(queue);
        add(queue, count_job, &ran); /* the queue goes on */
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), 1);
        od_group_release(group);
        od_queue_release(queue);
    }
}

static void a_job_that_runs_is_not_cancelled(void **state)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        gate door = {0};
        atomic_ullong ran = 0;

        od_queue_async(queue, NULL, OD_QUEUE_BAND, gate_job, &door);
        assert_comes_true(atomic_load(&door.waiting) == 1);
        od_queue_suspend(queue); /* so that no second one starts */
        for (int job = 0; job < 50; job++)
            add(queue, count_job, &ran);
        assert_int_equal(od_queue_cancel_all(queue), 50);
        assert_int_equal(od_queue_pending(queue), 1);
        assert_false(od_queue_wait(queue, 0));
        gate_open(&door);
        od_queue_resume(queue);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), 0);
        od_queue_release(queue);
    }
}

static struct {
    od_queue *queue;
    od_group *group;
    atomic_ullong ran, submitted, cancelled;
    atomic_int running;
    bool from_inside;
} race;

static void spawning_job(void *depth)
{
    atomic_fetch_add(&race.ran, 1);
    for (int i = 0; (intptr_t)depth > 0 && i < 3; i++) {
        atomic_fetch_add(&race.submitted, 1);
        od_queue_async(race.queue, i % 2 ? race.group : NULL, OD_QUEUE_BAND, spawning_job,
                       (void *)((intptr_t)depth - 1));
    }
    if (race.from_inside && (intptr_t)depth == 1)
        atomic_fetch_add(&race.cancelled, od_queue_cancel_all(race.queue));
}

static void *race_submitter(void *unused)
{
    (void)unused;
    for (int i = 0; i < UNLESS_SANITIZED(4000, 600); i++) {
        atomic_fetch_add(&race.submitted, 1);
        od_queue_async(race.queue, i % 2 ? race.group : NULL, OD_QUEUE_BAND, spawning_job,
                       (void *)(intptr_t)(i % 3));
    }
    atomic_fetch_sub(&race.running, 1);
    return NULL;
}

static void *race_canceller(void *unused)
{
    (void)unused;
    while (atomic_load(&race.running) > 0) {
        atomic_fetch_add(&race.cancelled, od_queue_cancel_all(race.queue));
        sched_yield();
    }
    return NULL;
}

static void racing_cancels_account_for_every_job(void **state)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        pthread_t submitters[2], cancellers[2];

        memset(&race, 0, sizeof race);
        race.queue = queue_of(widths[i % 3]);
        race.group = od_group_create();
        race.from_inside = i >= 3;
        atomic_store(&race.running, 2);
        for (int t = 0; t < 2; t++)
            pthread_create(&submitters[t], NULL, race_submitter, NULL);
        for (int t = 0; t < 2; t++)
            pthread_create(&cancellers[t], NULL, race_canceller, NULL);
        for (int t = 0; t < 2; t++)
            pthread_join(submitters[t], NULL);
        for (int t = 0; t < 2; t++)
            pthread_join(cancellers[t], NULL);
        assert_true(od_queue_wait(race.queue, HANG_NS));
        assert_true(od_group_wait(race.group, HANG_NS));
        if (atomic_load(&race.submitted) !=
            atomic_load(&race.ran) + atomic_load(&race.cancelled))
            print_error("width %d: submitted %llu, ran %llu, cancelled %llu\n", widths[i % 3],
                        atomic_load(&race.submitted), atomic_load(&race.ran),
                        atomic_load(&race.cancelled));
        assert_int_equal(atomic_load(&race.submitted),
                         atomic_load(&race.ran) + atomic_load(&race.cancelled));
        assert_int_equal(od_queue_pending(race.queue), 0);
        assert_int_equal(od_group_pending(race.group), 0);
        od_queue_release(race.queue);
        od_group_release(race.group);
    }
}

static void what_is_cancelled_is_in_the_pools_counters(void **state)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        od_queue *queue = queue_of(widths[i]);
        uint64_t before = metrics_of(pool).cancelled;

        od_queue_suspend(queue);
        for (int job = 0; job < 100; job++)
            add(queue, no_job, NULL);
        assert_int_equal(od_queue_cancel_all(queue), 100);
        od_queue_resume(queue);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_comes_true(metrics_of(pool).cancelled == before + 100);
        od_queue_release(queue);
    }
}

/* ---- records that change hands ---- */

static struct {
    od_queue *queue;
    od_group *group;
    atomic_bool woken;
} sleeper;

static void *sleep_on_the_group(void *unused)
{
    (void)od_group_wait(sleeper.group, INT64_MAX);
    atomic_store(&sleeper.woken, true);
    return unused;
}

static void *sleep_on_the_queue(void *unused)
{
    (void)od_queue_wait(sleeper.queue, INT64_MAX);
    atomic_store(&sleeper.woken, true);
    return unused;
}

/* The last job of a record has told the ledger; before it wakes who waits for the group (the
 * queue), the queue (the group) is let go, and the record is reaped and serves another queue. */
static void assert_woken_although_the_record_changed_hands(void *(*sleep)(void *))
{
    bool waits_for_queue = sleep == sleep_on_the_queue;
    od_queue *second;
    pthread_t thread;
    atomic_ullong ran = 0;

    sleeper.queue = queue_of(OD_UNLIMITED);
    sleeper.group = od_group_create();
    atomic_store(&sleeper.woken, false);
    odi_record *record = odi_group_record(sleeper.group, sleeper.queue, OD_BAND_DEFAULT,
                                          odi_queue_make_record);
    assert_true(odi_record_add(record)); /* a job that runs … */
    pthread_create(&thread, NULL, sleep, NULL);
    assert_comes_true(odi_load_relaxed(&record->ledger) & ODI_LEDGER_WATCHED);
    odi_clock_sleep(MILLISECONDS(20)); /* asleep by now */
    odi_watchers watchers = odi_record_watchers(record);
    assert_true(odi_record_subtract(record, 1)); /* … and ends: drained is owed */
    if (waits_for_queue)
        od_group_release(sleeper.group);
    else
        od_queue_release(sleeper.queue);
    second = queue_of(OD_UNLIMITED);
    add(second, count_job, &ran);
    assert_true(od_queue_wait(second, HANG_NS));
    assert_ptr_equal(odi_load_relaxed(&record->queue), second);
    odi_record_drained(record, watchers);
    assert_comes_true(atomic_load(&sleeper.woken));
    pthread_join(thread, NULL);
    od_queue_release(second);
    if (waits_for_queue)
        od_queue_release(sleeper.queue);
    else
        od_group_release(sleeper.group);
}

static void a_record_that_changed_hands_still_wakes_its_old_groups_waiter(void **state)
{
    (void)state;
    assert_woken_although_the_record_changed_hands(sleep_on_the_group);
}

static void a_record_that_changed_hands_still_wakes_its_old_queues_waiter(void **state)
{
    (void)state;
    assert_woken_although_the_record_changed_hands(sleep_on_the_queue);
}

/* The same late call must not end the watch of the record's next life. */
static void a_late_wake_does_not_end_the_watch_of_a_records_next_life(void **state)
{
    od_queue *first = queue_of(OD_UNLIMITED);
    gate door = {0};
    pthread_t thread;

    (void)state;
    odi_record *record = odi_queue_make_record(first, NULL, OD_BAND_DEFAULT);
    assert_true(odi_record_add(record));
    assert_false(odi_records_empty_or_watched(record, odi_record_next_of_queue));
    odi_watchers watchers = odi_record_watchers(record);
    assert_true(odi_record_subtract(record, 1));
    od_queue_release(first);
    sleeper.queue = queue_of(OD_UNLIMITED);
    sleeper.group = NULL;
    atomic_store(&sleeper.woken, false);
    add(sleeper.queue, gate_job, &door);
    assert_ptr_equal(odi_load_relaxed(&record->queue), sleeper.queue);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    pthread_create(&thread, NULL, sleep_on_the_queue, NULL);
    assert_comes_true(odi_load_relaxed(&record->ledger) & ODI_LEDGER_WATCHED);
    odi_record_drained(record, watchers);
    assert_true(odi_load_relaxed(&record->ledger) & ODI_LEDGER_WATCHED);
    gate_open(&door);
    assert_comes_true(atomic_load(&sleeper.woken));
    pthread_join(thread, NULL);
    od_queue_release(sleeper.queue);
}

/* ---- sync ---- */

static struct {
    od_queue *queue;
    long counter; /* guarded by the queue's order alone */
    int overlaps;
    atomic_int inside;
} turns;

static void add_one(void *unused)
{
    (void)unused;
    turns.overlaps += atomic_fetch_add(&turns.inside, 1) != 0;
    turns.counter++;
    atomic_fetch_sub(&turns.inside, 1);
}

static void *take_turns(void *unused)
{
    (void)unused;
    for (int i = 0; i < UNLESS_SANITIZED(2000, 400); i++) {
        od_stay stay;

        if (i % 3 == 0) {
            add(turns.queue, add_one, NULL);
            continue;
        }
        od_queue_sync_begin(turns.queue, &stay);
        add_one(NULL);
        od_queue_sync_end(&stay);
    }
    return NULL;
}

static void sync_callers_and_jobs_take_turns(void **state)
{
    pthread_t threads[3];

    (void)state;
    memset(&turns, 0, sizeof turns);
    turns.queue = queue_of(1);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, take_turns, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(od_queue_wait(turns.queue, HANG_NS));
    assert_int_equal(turns.counter, 3 * UNLESS_SANITIZED(2000, 400));
    assert_int_equal(turns.overlaps, 0);
    od_queue_release(turns.queue);
}

static void a_sync_caller_comes_after_what_it_submitted(void **state)
{
    od_queue *queue = queue_of(1);
    atomic_ullong ran = 0;
    od_stay stay;

    (void)state;
    for (int round = 1; round <= 50; round++) {
        for (int i = 0; i < 20; i++)
            add(queue, count_job, &ran);
        od_queue_sync_begin(queue, &stay);
        assert_int_equal(atomic_load(&ran), 20 * round);
        assert_true(od_queue_is_current(queue));
        od_queue_sync_end(&stay);
        assert_false(od_queue_is_current(queue));
    }
    od_queue_release(queue);
}

static void sync_on_an_open_queue_does_not_wait(void **state)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    gate door = {0};
    od_stay outer, inner;

    (void)state;
    add(queue, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    od_queue_sync_begin(queue, &outer);
    od_queue_sync_begin(queue, &inner);
    od_queue_sync_end(&inner);
    od_queue_sync_end(&outer);
    gate_open(&door);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_queue_release(queue);
}

static void sync_with_oneself(void *queue)
{
    od_stay stay;

    od_queue_sync_begin(queue, &stay);
}

static void wait_for_oneself(void *unused)
{
    pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "narrow");

    (void)unused;
    add(queue, sync_with_oneself, queue);
    (void)od_queue_wait(queue, HANG_NS);
}

static void sync_onto_the_serial_queue_one_is_on_traps_by_name(void **state)
{
    (void)state;
    assert_child_traps(wait_for_oneself, NULL, "TaskQueue.sync on the serial queue \"narrow\"");
}

static void sync_two_deep(void *queue)
{
    od_stay first, second;

    od_queue_sync_begin(queue, &first);
    od_queue_sync_begin(queue, &second);
}

static void sync_within_sync_traps_too(void **state)
{
    (void)state;
    od_queue *queue = queue_of(1);
    assert_child_traps(sync_two_deep, queue, "TaskQueue.sync on the serial queue \"test\"");
    od_queue_release(queue);
}

typedef struct {
    od_queue *other;
    atomic_ullong *counter;
} visit;

static void visit_other(void *raw)
{
    visit *it = raw;
    od_stay stay;

    od_queue_sync_begin(it->other, &stay);
    atomic_fetch_add(it->counter, 1);
    od_queue_sync_end(&stay);
}

static void jobs_of_one_serial_queue_may_sync_onto_another(void **state)
{
    od_queue *from[6], *onto = queue_of(1);
    atomic_ullong counter = 0;
    visit it = {onto, &counter};

    (void)state;
    for (int i = 0; i < 6; i++) { /* more than there are workers: each hands its place over */
        from[i] = queue_of(1);
        for (int job = 0; job < 50; job++)
            add(from[i], visit_other, &it);
        add(onto, count_job, &counter);
    }
    for (int i = 0; i < 6; i++) {
        assert_true(od_queue_wait(from[i], HANG_NS));
        od_queue_release(from[i]);
    }
    assert_true(od_queue_wait(onto, HANG_NS));
    assert_int_equal(atomic_load(&counter), 306);
    od_queue_release(onto);
}

/* ---- lives ---- */

static void a_released_queue_still_runs_what_it_was_given(void **state)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1, 2};
    atomic_ullong ran = 0;

    (void)state;
    for (int round = 0; round < 300; round++) {
        od_queue *queue = queue_of(widths[round % 3]);

        if (round % 2)
            od_queue_suspend(queue); /* a release resumes */
        for (int i = 0; i < 20; i++)
            add(queue, count_job, &ran);
        od_queue_release(queue);
    }
    assert_comes_true(atomic_load(&ran) == 300 * 20);
}

static void a_released_queues_memory_serves_again(void **state)
{
    od_queue *first = queue_of(1);

    (void)state;
    add(first, no_job, NULL);
    assert_true(od_queue_wait(first, HANG_NS));
    od_queue_release(first);
    assert_comes_true(({
        od_queue *next = queue_of(2);
        bool same = next == first;
        od_queue_release(next);
        same;
    }));
}

static void groups_come_and_go_while_their_jobs_run(void **state)
{
    od_queue *queues[] = {queue_of(OD_UNLIMITED), queue_of(1), queue_of(2)};
    atomic_ullong ran = 0, notified = 0;

    (void)state;
    for (int round = 0; round < UNLESS_SANITIZED(1000, 200); round++) {
        od_group *group = od_group_create();

        for (int i = 0; i < 12; i++)
            od_queue_async(queues[i % 3], group, i % 2 ? OD_QUEUE_BAND : 0, count_job, &ran);
        if (round % 3 == 0)
            od_group_notify(group, count_job, &notified);
        if (round % 3 == 1)
            assert_true(od_group_wait(group, HANG_NS));
        od_group_release(group); /* with its jobs under way, mostly */
    }
    assert_comes_true(atomic_load(&ran) == 12ull * UNLESS_SANITIZED(1000, 200));
    assert_comes_true(atomic_load(&notified) == (UNLESS_SANITIZED(1000, 200) + 2) / 3);
    for (int i = 0; i < 3; i++)
        od_queue_release(queues[i]);
}

static void ten_thousand_serial_queues_cost_no_threads(void **state)
{
    enum { QUEUES = 10000 };
    od_queue **queues = malloc(QUEUES * sizeof *queues);
    atomic_ullong ran = 0;

    (void)state;
    for (int i = 0; i < QUEUES; i++)
        queues[i] = queue_of(1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < QUEUES; i++)
            add(queues[i], count_job, &ran);
    }
    assert_comes_true(atomic_load(&ran) == 3 * QUEUES);
    /* Three, and a few more where a busy machine makes workers look blocked. */
    assert_in_range(metrics_of(pool).threads_started, 1, 20);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    free(queues);
}

/* More queues with work than there are tags: their jobs travel wrapped. */
static void queues_beyond_the_last_tag_work_the_same(void **state)
{
    enum { QUEUES = (1 << 15) + 500 };
    od_queue **queues = malloc(QUEUES * sizeof *queues);
    atomic_ullong ran = 0;
    uint64_t cancelled = 0;

    (void)state;
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = queue_of(i % 2 ? 1 : OD_UNLIMITED);
        if (i % 3 == 0)
            od_queue_suspend(queues[i]);
        add(queues[i], count_job, &ran);
        add(queues[i], count_job, &ran);
    }
    for (int i = 0; i < QUEUES; i += 3) {
        if (i % 2)
            cancelled += od_queue_cancel_all(queues[i]);
        od_queue_resume(queues[i]);
    }
    for (int i = 0; i < QUEUES; i++)
        assert_true(od_queue_wait(queues[i], HANG_NS));
    assert_true(cancelled > 1000);
    assert_int_equal(atomic_load(&ran) + cancelled, 2 * QUEUES);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    free(queues);
}

/* ---- what a queue says ---- */

static void note_band(void *band)
{
    *(atomic_int *)band = od_pool_current_band();
}

static void a_job_runs_in_its_queues_band_or_a_higher_one(void **state)
{
    od_queue *queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, NULL);
    static const int asked[] = {OD_QUEUE_BAND, 0, 1, 2, 3, 4, 99, -7};
    static const int given[] = {3, 0, 1, 2, 3, 3, 3, 3};

    (void)state;
    assert_int_equal(od_pool_current_band(), -1);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        atomic_int band = -5;

        od_queue_async(queue, NULL, asked[i], note_band, &band);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&band), given[i]);
    }
    assert_string_equal(od_queue_label(queue), "");
    assert_int_equal(od_queue_band(queue), OD_BAND_UTILITY);
    od_queue_release(queue);
}

static void a_long_label_is_cut(void **state)
{
    char label[100];

    (void)state;
    memset(label, 'q', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, label);
    assert_int_equal(strlen(od_queue_label(queue)), OD_LABEL_BYTES - 1);
    od_queue_release(queue);
}

static void notifications_of_a_queue_come_when_it_is_empty(void **state)
{
    od_queue *queue = queue_of(1);
    atomic_ullong notified = 0;

    (void)state;
    od_queue_notify(queue, count_job, &notified);
    assert_int_equal(atomic_load(&notified), 1);
    od_queue_suspend(queue);
    add(queue, no_job, NULL);
    od_queue_notify(queue, count_job, &notified);
    odi_clock_sleep(MILLISECONDS(1));
    assert_int_equal(atomic_load(&notified), 1);
    od_queue_resume(queue);
    assert_comes_true(atomic_load(&notified) == 2);
    od_queue_suspend(queue);
    add(queue, no_job, NULL);
    od_queue_notify(queue, count_job, &notified);
    assert_int_equal(od_queue_cancel_all(queue), 1); /* nothing pending any more */
    assert_comes_true(atomic_load(&notified) == 3);
    od_queue_release(queue);
}

int main(void)
{
#define LANE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LANE_TEST(a_serial_queue_runs_one_at_a_time_in_each_submitters_order),
        LANE_TEST(order_survives_suspensions),
        LANE_TEST(order_survives_a_pool_that_changes_its_size),
        LANE_TEST(at_most_width_jobs_run_at_once),
        LANE_TEST(a_narrower_width_holds_for_what_starts_afterwards),
        LANE_TEST(nothing_starts_while_suspended),
        LANE_TEST(what_was_queued_before_a_suspension_is_held_back_too),
        LANE_TEST(one_resume_too_many_traps_by_name),
        LANE_TEST(a_cancel_of_what_waits_is_exact),
        LANE_TEST(a_job_that_runs_is_not_cancelled),
        LANE_TEST(racing_cancels_account_for_every_job),
        LANE_TEST(what_is_cancelled_is_in_the_pools_counters),
        LANE_TEST(a_record_that_changed_hands_still_wakes_its_old_groups_waiter),
        LANE_TEST(a_record_that_changed_hands_still_wakes_its_old_queues_waiter),
        LANE_TEST(a_late_wake_does_not_end_the_watch_of_a_records_next_life),
        LANE_TEST(sync_callers_and_jobs_take_turns),
        LANE_TEST(a_sync_caller_comes_after_what_it_submitted),
        LANE_TEST(sync_on_an_open_queue_does_not_wait),
        LANE_TEST(sync_onto_the_serial_queue_one_is_on_traps_by_name),
        LANE_TEST(sync_within_sync_traps_too),
        LANE_TEST(jobs_of_one_serial_queue_may_sync_onto_another),
        LANE_TEST(a_released_queue_still_runs_what_it_was_given),
        LANE_TEST(a_released_queues_memory_serves_again),
        LANE_TEST(groups_come_and_go_while_their_jobs_run),
        LANE_TEST(ten_thousand_serial_queues_cost_no_threads),
        LANE_TEST(queues_beyond_the_last_tag_work_the_same),
        LANE_TEST(a_job_runs_in_its_queues_band_or_a_higher_one),
        LANE_TEST(a_long_label_is_cut),
        LANE_TEST(notifications_of_a_queue_come_when_it_is_empty),
    };
    return run_guarded(tests);
}

CHILDREN_MAY_START_THREADS
