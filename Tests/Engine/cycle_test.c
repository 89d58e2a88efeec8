/* gate/cycle: closures that wait for each other are named, and others are not. */
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "gate/cycle.h"
#include "include/od_external.h"
#include "include/od_group.h"
#include "include/od_report.h"

CHILDREN_MAY_START_THREADS

enum { MOST = 4, LONGEST = 48 };

static struct {
    od_queue *queues[LONGEST];
    int count;
    bool of_barriers;
    atomic_int inside;
} circle;

/* Each from a thread of its own: in queue i, then onto queue i + 1. */
static void *sync_onto_the_next(void *raw)
{
    int i = (int)(intptr_t)raw;
    od_scope own, next;

    if (circle.of_barriers)
        od_queue_sync_barrier_begin(circle.queues[i], &own);
    else
        od_queue_sync_begin(circle.queues[i], &own);
    atomic_fetch_add(&circle.inside, 1);
    while (atomic_load(&circle.inside) < circle.count)
        sched_yield();
    od_queue_sync_begin(circle.queues[(i + 1) % circle.count], &next);
    od_queue_sync_end(&next);
    od_queue_sync_end(&own);
    return NULL;
}

static void a_circle_of(void *raw)
{
    static const char *const labels[MOST] = {"anna", "bert", "carl", "dora"};
    od_pool *pool = pool_of(1);

    circle.count = (int)(intptr_t)raw;
    for (int i = 0; i < circle.count; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, circle.of_barriers ? OD_UNLIMITED : 1, labels[i % MOST]);
    run_on_threads(circle.count, sync_onto_the_next);
}

TEST(a_circle_is_named)
{
    for (intptr_t count = 2; count <= MOST; count++) {
        outcome it = in_a_child(a_circle_of, (void *)count, 60);

        assert_non_null(strstr(it.said, "overdrive: TaskQueue.sync: a circle of serial queues (\""));
        assert_non_null(strstr(it.said, "\" waits for \""));
        assert_non_null(strstr(it.said, "\"anna\""));
        assert_non_null(strstr(it.said, "\"bert\""));
        assert_true(count < 3 || strstr(it.said, "\", which waits for \"") != NULL);
        assert_true(count < 4 || strstr(it.said, "\"dora\"") != NULL);
        assert_non_null(strstr(it.said, "\", which runs the caller). Use async in one of them.\n"));
    }
}

TEST(a_circle_is_named_as_far_as_a_sentence_goes)
{
    outcome it = in_a_child(a_circle_of, (void *)(intptr_t)LONGEST, 60);

    assert_non_null(strstr(it.said, "\" waits for \""));
}

TEST(a_circle_of_barriers_is_named)
{
    circle.of_barriers = true;
    outcome it = in_a_child(a_circle_of, (void *)(intptr_t)2, 60);
    circle.of_barriers = false;

    assert_non_null(strstr(it.said, "overdrive: TaskQueue.sync: a circle of barriers (\""));
    assert_non_null(strstr(it.said, "\", which runs the caller). Use async in one of them.\n"));
}

/* ---- waits for jobs ---- */

enum { PLAIN, BY_HAND, OF_THE_QUEUE };

typedef struct {
    od_queue *held, *wanted;
    od_group *group;
    int kind;
    bool both; /* two of them begin together */
} vain_wait;

static struct {
    char sentence[1024];
    atomic_int count, over;
} said;

static void take_warning(const char *sentence)
{
    snprintf(said.sentence, sizeof said.sentence, "%s", sentence);
    atomic_fetch_add(&said.count, 1);
}

static void nothing(void *unused) {}

static void leave(void *group)
{
    od_group_leave(group);
}

/* A job of `held` that waits for half a second for one of `wanted`. */
static void wait_in_vain(void *raw)
{
    vain_wait *it = raw;
    int64_t most = MILLISECONDS(500);

    if (it->both) {
        atomic_fetch_add(&circle.inside, 1);
        while (atomic_load(&circle.inside) < 2)
            sched_yield();
    }
    if (it->kind == BY_HAND)
        od_group_enter(it->group);
    od_queue_async(it->wanted, it->kind == PLAIN ? it->group : NULL, OD_QUEUE_BAND, it->kind == BY_HAND ? leave : nothing,
                   it->group);
    if (it->kind == OF_THE_QUEUE)
        (void)od_queue_wait(it->wanted, most);
    else if (it->kind == BY_HAND)
        (void)od_group_wait_for(it->group, it->wanted, OD_QUEUE_BAND, most);
    else
        (void)od_group_wait(it->group, most);
    atomic_fetch_add(&said.over, 1);
}

static void begin_listening(void)
{
    memset(&said, 0, sizeof said);
    atomic_store(&circle.inside, 0);
    od_warnings_to(take_warning);
}

TEST(a_wait_for_work_behind_its_own_closure_is_named)
{
    od_pool *pool = pool_of(1);
    od_queue *serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "anna"), *on = NULL;
    od_queue_options options = {.band = OD_BAND_DEFAULT, .width = OD_UNLIMITED, .label = "bert", .target = serial};

    on = od_queue_create_with(pool, &options);
    for (int kind = PLAIN; kind <= OF_THE_QUEUE; kind++) {
        vain_wait it = {serial, kind == BY_HAND ? on : serial, od_group_create(), kind, false};

        begin_listening();
        od_queue_async(serial, NULL, OD_QUEUE_BAND, wait_in_vain, &it);
        assert_comes_true(atomic_load(&said.over) == 1);
        od_warnings_to(NULL);
        assert_int_equal(atomic_load(&said.count), 1);
        assert_string_equal(said.sentence, "wait: the work seems to begin only after the closure that waits for it (queue \"anna\"). "
                                           "Wait for it outside of the queue.");
        assert_true(od_queue_wait(serial, HANG_NS));
        assert_true(od_queue_wait(on, HANG_NS));
        od_group_release(it.group);
    }
    od_queue_release(on);
    end_pool(pool, serial);
}

TEST(a_wait_for_work_behind_its_own_barrier_is_named)
{
    od_pool *pool = pool_of(1);
    od_queue *wide = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "anna");
    vain_wait it = {wide, wide, od_group_create(), PLAIN, false};

    begin_listening();
    od_queue_async_with(wide, NULL, OD_QUEUE_BAND, OD_BARRIER, wait_in_vain, &it);
    assert_comes_true(atomic_load(&said.over) == 1);
    od_warnings_to(NULL);
    assert_int_equal(atomic_load(&said.count), 1);
    od_group_release(it.group);
    end_pool(pool, wide);
}

TEST(closures_that_wait_for_each_others_work_are_named)
{
    od_pool *pool = pool_of(2);
    od_queue *anna = od_queue_create(pool, OD_BAND_DEFAULT, 1, "anna");
    od_queue *bert = od_queue_create(pool, OD_BAND_DEFAULT, 1, "bert");
    vain_wait first = {anna, bert, od_group_create(), PLAIN, true}, second = {bert, anna, od_group_create(), BY_HAND, true};

    begin_listening();
    od_queue_async(anna, NULL, OD_QUEUE_BAND, wait_in_vain, &first);
    od_queue_async(bert, NULL, OD_QUEUE_BAND, wait_in_vain, &second);
    assert_comes_true(atomic_load(&said.over) == 2);
    od_warnings_to(NULL);
    assert_int_equal(atomic_load(&said.count), 1);
    assert_non_null(strstr(said.sentence, "wait: closures seem to wait for each other's work (on \""));
    assert_non_null(strstr(said.sentence, "\"anna\""));
    assert_non_null(strstr(said.sentence, "\"bert\""));
    assert_true(od_queue_wait(anna, HANG_NS) && od_queue_wait(bert, HANG_NS));
    od_group_release(first.group);
    od_group_release(second.group);
    end_pool(pool, anna, bert);
}

static void take_time(void *unused)
{
    odi_clock_sleep(MILLISECONDS(200));
}

static void wait_for_another_queue(void *raw)
{
    vain_wait *it = raw;

    od_queue_async(it->wanted, it->group, OD_QUEUE_BAND, take_time, NULL);
    (void)od_group_wait(it->group, INT64_MAX);
    atomic_fetch_add(&said.over, 1);
}

TEST(a_long_wait_for_another_queues_work_is_not_named)
{
    od_pool *pool = pool_of(1);
    od_queue *anna = od_queue_create(pool, OD_BAND_DEFAULT, 1, "anna");
    od_queue *bert = od_queue_create(pool, OD_BAND_DEFAULT, 1, "bert");
    vain_wait it = {anna, bert, od_group_create(), PLAIN, false};

    begin_listening();
    od_queue_async(anna, NULL, OD_QUEUE_BAND, wait_for_another_queue, &it);
    assert_comes_true(atomic_load(&said.over) == 1);
    od_warnings_to(NULL);
    assert_int_equal(atomic_load(&said.count), 0);
    od_group_release(it.group);
    end_pool(pool, anna, bert);
}

/* ---- wide queues: all holders are needed ---- */

static void hold_and_wait(void *raw)
{
    vain_wait *it = raw;

    atomic_fetch_add(&circle.inside, 1);
    while (atomic_load(&circle.inside) < 3) /* the third is the submitter of the awaited work */
        sched_yield();
    if (it->both)
        (void)od_group_wait(it->group, MILLISECONDS(500));
    else
        odi_clock_sleep(MILLISECONDS(500));
    atomic_fetch_add(&said.over, 1);
}

/* Two closures have both permits of a queue. The number of these that wait for work behind them is `waiting`. */
static int warnings_of_a_wide_queue(int waiting)
{
    od_pool *pool = pool_of(2);
    od_queue *wide = od_queue_create(pool, OD_BAND_DEFAULT, 2, "wide");
    od_group *group = od_group_create();
    vain_wait waits = {wide, wide, group, PLAIN, true}, sleeps = {wide, wide, group, PLAIN, false};

    begin_listening();
    for (int i = 0; i < 2; i++)
        od_queue_async(wide, NULL, OD_QUEUE_BAND, hold_and_wait, i < waiting ? &waits : &sleeps);
    while (atomic_load(&circle.inside) < 2)
        sched_yield();
    od_queue_async(wide, group, OD_QUEUE_BAND, nothing, NULL);
    atomic_fetch_add(&circle.inside, 1);
    assert_comes_true(atomic_load(&said.over) == 2);
    od_warnings_to(NULL);
    assert_true(od_queue_wait(wide, HANG_NS));
    od_group_release(group);
    end_pool(pool, wide);
    return atomic_load(&said.count);
}

TEST(a_wait_behind_all_closures_of_a_limited_queue_is_named)
{
    assert_int_equal(warnings_of_a_wide_queue(2), 1);
    assert_non_null(strstr(said.sentence, "\"wide\""));
}

TEST(a_wait_behind_some_closures_of_a_limited_queue_is_not_named)
{
    assert_int_equal(warnings_of_a_wide_queue(1), 0);
}

static void sync_across(void *raw)
{
    int i = (int)(intptr_t)raw;
    od_scope scope;

    atomic_fetch_add(&circle.inside, 1);
    while (atomic_load(&circle.inside) < 4)
        sched_yield();
    od_queue_sync_begin(circle.queues[i ^ 1], &scope);
    od_queue_sync_end(&scope);
    atomic_fetch_add(&said.over, 1);
}

/* A larger width still ends it, so the process goes on. */
TEST(a_circle_of_sync_through_limited_queues_is_named_and_does_not_trap)
{
    od_pool *pool = pool_of(4);

    begin_listening();
    for (int i = 0; i < 2; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 2, i == 0 ? "anna" : "bert");
    for (intptr_t i = 0; i < 4; i++)
        od_queue_async(circle.queues[i & 1], NULL, OD_QUEUE_BAND, sync_across, (void *)(i & 1));
    assert_comes_true(atomic_load(&said.count) == 1);
    od_warnings_to(NULL);
    assert_non_null(strstr(said.sentence, "\"anna\""));
    assert_non_null(strstr(said.sentence, "\"bert\""));
    od_queue_set_width(circle.queues[0], 4);
    assert_comes_true(atomic_load(&said.over) == 4);
    end_pool(pool, circle.queues[0], circle.queues[1]);
}

static void wait_until_all_wait(void *raw)
{
    sync_onto_the_next(raw);
}

static void a_barrier_and_a_closure(void *unused)
{
    od_pool *pool = pool_of(2);

    circle.count = 2;
    circle.queues[0] = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "anna");
    circle.queues[1] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "bert");
    (void)unused;
    atomic_store(&circle.inside, 0);
    od_pool_submit(pool, OD_BAND_DEFAULT, wait_until_all_wait, (void *)0);
    od_scope own, next;
    od_queue_sync_begin(circle.queues[1], &own);
    atomic_fetch_add(&circle.inside, 1);
    while (atomic_load(&circle.inside) < 2)
        sched_yield();
    od_queue_sync_barrier_begin(circle.queues[0], &next);
    od_queue_sync_end(&next);
    od_queue_sync_end(&own);
}

TEST(a_circle_of_a_barrier_and_a_closure_of_a_concurrent_queue_is_named)
{
    outcome it = in_a_child(a_barrier_and_a_closure, NULL, 60);

    assert_non_null(strstr(it.said, "overdrive: TaskQueue.sync: a circle of "));
    assert_non_null(strstr(it.said, "\"anna\""));
    assert_non_null(strstr(it.said, "\"bert\""));
}

/* ---- work of the Swift layer ---- */

static bool is_queued(const void *work)
{
    (void)work;
    return false;
}

static bool is_of(const void *work, void *current) { return work == current; }

static void name_of(const void *work, char *text, size_t bytes) { snprintf(text, bytes, "%s", (const char *)work); }

static struct {
    char names[MOST][8];
    od_group *ends[MOST];
    int count;
} works;

/* The work waits for the end of the next one. */
static void wait_for_the_next(void *raw)
{
    int i = (int)(intptr_t)raw, next = (i + 1) % works.count;
    od_awaited_work awaited = {works.names[next], is_queued, is_of, name_of};
    void *outer = od_work_enter(works.names[i]);

    atomic_fetch_add(&circle.inside, 1);
    while (atomic_load(&circle.inside) < works.count)
        sched_yield();
    (void)od_group_wait_for_work(works.ends[next], NULL, OD_QUEUE_BAND, &awaited, MILLISECONDS(500));
    od_work_leave(outer);
    od_group_leave(works.ends[i]);
    atomic_fetch_add(&said.over, 1);
}

TEST(works_that_wait_for_each_other_are_named)
{
    static const char *const sentences[] = {
        [2] = " waits for ", [3] = ", which waits for ",
    };
    for (works.count = 2; works.count <= 3; works.count++) {
        od_pool *pool = pool_of(4);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "all");

        begin_listening();
        for (int i = 0; i < works.count; i++) {
            snprintf(works.names[i], sizeof works.names[i], "task %d", i);
            works.ends[i] = od_group_create();
            od_group_enter(works.ends[i]);
        }
        for (intptr_t i = 0; i < works.count; i++)
            od_queue_async(queue, NULL, OD_QUEUE_BAND, wait_for_the_next, (void *)i);
        assert_comes_true(atomic_load(&said.over) == works.count);
        od_warnings_to(NULL);
        assert_int_equal(atomic_load(&said.count), 1);
        assert_non_null(strstr(said.sentence, "wait: tasks or closures seem to wait for each other (task "));
        assert_non_null(strstr(said.sentence, sentences[works.count]));
        for (int i = 0; i < works.count; i++) {
            assert_non_null(strstr(said.sentence, works.names[i]));
            od_group_release(works.ends[i]);
        }
        end_pool(pool, queue);
    }
}

static void wait_for_the_work_around(void *raw)
{
    od_awaited_work awaited = {works.names[0], is_queued, is_of, name_of};

    (void)raw;
    (void)od_group_wait_for_work(works.ends[0], NULL, OD_QUEUE_BAND, &awaited, MILLISECONDS(500));
}

/* The closure may run on the thread of the work below it, or on another. */
static void wait_for_a_group_that_waits(void *raw)
{
    vain_wait *it = raw;
    void *outer = od_work_enter(works.names[0]);

    od_queue_async(it->wanted, it->group, OD_QUEUE_BAND, wait_for_the_work_around, NULL);
    (void)od_group_wait(it->group, INT64_MAX);
    od_work_leave(outer);
    od_group_leave(works.ends[0]);
    atomic_fetch_add(&said.over, 1);
}

TEST(work_that_waits_for_a_group_whose_closure_waits_for_the_work_is_named)
{
    for (int workers = 1; workers <= 2; workers++) {
        od_pool *pool = pool_of(workers);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "all");
        vain_wait it = {queue, queue, od_group_create(), PLAIN, false};

        begin_listening();
        snprintf(works.names[0], sizeof works.names[0], "task");
        works.ends[0] = od_group_create();
        od_group_enter(works.ends[0]);
        od_queue_async(queue, NULL, OD_QUEUE_BAND, wait_for_a_group_that_waits, &it);
        assert_comes_true(atomic_load(&said.over) == 1);
        od_warnings_to(NULL);
        assert_int_equal(atomic_load(&said.count), 1);
        assert_non_null(strstr(said.sentence, "task"));
        od_group_release(works.ends[0]);
        od_group_release(it.group);
        end_pool(pool, queue);
    }
}

/* ---- what is no circle ---- */

static void *wait_for_the_first(void *unused)
{
    od_scope own, first;

    od_queue_sync_begin(circle.queues[1], &own);
    od_queue_sync_begin(circle.queues[0], &first);
    od_queue_sync_end(&first);
    od_queue_sync_end(&own);
    return unused;
}

static void resume_late(void *queue)
{
    odi_clock_sleep(MILLISECONDS(200)); /* longer than a sync waits before it looks for a circle */
    od_queue_resume(queue);
}

static void wait_for_the_second(void *pool)
{
    od_scope second;

    od_queue_suspend(circle.queues[1]);
    od_pool_submit(pool, OD_BAND_DEFAULT, resume_late, circle.queues[1]);
    od_queue_sync_begin(circle.queues[1], &second);
    od_queue_sync_end(&second);
}

/* In the parent the second one's holder waits for what the caller holds. */
TEST(a_child_looks_for_no_circle_among_its_parents_threads)
{
    od_pool *pool = pool_of(1);
    pthread_t thread;
    od_scope scope;

    for (int i = 0; i < 2; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "held");
    od_queue_sync_begin(circle.queues[0], &scope);
    pthread_create(&thread, NULL, wait_for_the_first, NULL);
    assert_comes_true(waiting_in(circle.queues[0]) == 1);
    assert_child_succeeds(wait_for_the_second, pool);
    od_queue_sync_end(&scope);
    pthread_join(thread, NULL);
    end_pool(pool, circle.queues[0], circle.queues[1]);
}

enum { CLIMBERS = 4, CLIMBS = 3000, CLIMBS_SANITIZED = 500 };

static void *climb(void *raw)
{
    prng random = prng_for(21, (uint64_t)(uintptr_t)raw);

    for (int i = 0; i < UNLESS_SANITIZED(CLIMBS, CLIMBS_SANITIZED); i++) {
        od_scope scopes[MOST];
        int depth = 0;

        /* Always upwards, so that there is never a circle. */
        for (int step = 0; step < MOST; step++) {
            if (prng_one_in(&random, 2))
                od_queue_sync_begin(circle.queues[step], &scopes[depth++]);
        }
        while (depth > 0)
            od_queue_sync_end(&scopes[--depth]);
    }
    atomic_fetch_add(&circle.inside, 1);
    return NULL;
}

static void climb_job(void *raw) { climb(raw); }

TEST(who_only_waits_in_one_direction_goes_on)
{
    od_pool *pool = pool_of(2);
    pthread_t threads[CLIMBERS];

    for (int i = 0; i < MOST; i++)
        circle.queues[i] = od_queue_create(pool, OD_BAND_DEFAULT, 1, "up");
    atomic_store(&circle.inside, 0);
    for (intptr_t i = 0; i < CLIMBERS; i++) {
        pthread_create(&threads[i], NULL, climb, (void *)i);
        od_pool_submit(pool, OD_BAND_DEFAULT, climb_job, (void *)(i + CLIMBERS));
    }
    join_threads(threads, CLIMBERS);
    assert_comes_true(atomic_load(&circle.inside) == 2 * CLIMBERS);
    for (int i = 0; i < MOST; i++)
        od_queue_release(circle.queues[i]);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

GUARDED_PROGRAM
