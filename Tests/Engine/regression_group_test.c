/* Groups and queues that went wrong once when they were used again at once, by many queues, or a great
 * many times: waits that missed the moment at which their set was empty, notifications that came one use
 * late, and a search that took a step for each queue. */
#include "Support/queues.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include "job/group.h"

enum { WAITERS = 8 };

static struct {
    od_group *group;
    od_queue *queue;
    atomic_int released;
} waited;

static void *wait_for_the_group(void *unused)
{
    (void)od_group_wait(waited.group, INT64_MAX);
    atomic_fetch_add(&waited.released, 1);
    return unused;
}

static void *wait_for_the_queue(void *unused)
{
    (void)od_queue_wait(waited.queue, INT64_MAX);
    atomic_fetch_add(&waited.released, 1);
    return unused;
}

static void start_waiters(pthread_t *threads, void *(*wait)(void *), odi_watch *watch)
{
    atomic_store(&waited.released, 0);
    start_threads(threads, WAITERS, wait);
    assert_comes_true(waiters_of(watch) == WAITERS);
}

static void assert_all_released(const pthread_t *threads)
{
    assert_comes_true(atomic_load(&waited.released) == WAITERS);
    join_threads(threads, WAITERS);
}

SCENE(a_group_that_is_entered_again_at_once_releases_all_who_waited,
      "pool 1; group g; enter g; "
      "repeat 20 {thread 8 {await g; released}; g.waiters -> 8; leave g; enter g; join}; leave g; released = 160")

/* The same by jobs: the last one's end, and the next one's beginning, of two queues in turn. */
QUEUE_TEST(a_group_whose_jobs_begin_again_at_once_releases_all_who_waited)
{
    od_queue *queues[] = {queue_of(OD_UNLIMITED), queue_of(1)};
    odi_record *records[2];
    pthread_t threads[WAITERS];

    waited.group = od_group_create();
    for (int i = 0; i < 2; i++)
        records[i] = odi_group_record(waited.group, queues[i], OD_BAND_DEFAULT, odi_queue_make_record);
    assert_true(odi_record_count(records[0], queues[0], waited.group, 1));
    for (int round = 0; round < 20; round++) {
        int ends = round % 2, begins = 1 - ends;

        start_waiters(threads, wait_for_the_group, &waited.group->watch);
        odi_record_complete(records[ends], 1);
        assert_true(odi_record_count(records[begins], queues[begins], waited.group, 1));
        assert_all_released(threads);
    }
    odi_record_complete(records[0], 1);
    od_group_release(waited.group);
    for (int i = 0; i < 2; i++)
        od_queue_release(queues[i]);
}

QUEUE_TEST(a_queue_whose_jobs_begin_again_at_once_releases_all_who_waited)
{
    pthread_t threads[WAITERS];

    waited.queue = queue_of(OD_UNLIMITED);
    od_status status;
    odi_record *record = odi_queue_admit(waited.queue, NULL, OD_BAND_DEFAULT, NULL, &status);
    assert_true(odi_record_count(record, waited.queue, NULL, 1));
    for (int round = 0; round < 20; round++) {
        start_waiters(threads, wait_for_the_queue, &waited.queue->watch);
        odi_record_complete(record, 1);
        assert_true(odi_record_count(record, waited.queue, NULL, 1));
        assert_all_released(threads);
    }
    odi_record_complete(record, 1);
    od_queue_release(waited.queue);
}

static struct {
    int generation, told, late;
    odi_watch_waiter waiters[WAITERS];
} rounds;

static void notified(void *generation)
{
    rounds.told++;
    rounds.late += rounds.generation != (int)(intptr_t)generation;
    for (int i = 0; i < WAITERS; i++) /* these go on behind it */
        rounds.late += odi_load_relaxed(&rounds.waiters[i].released) != 0;
}

QUEUE_TEST(each_of_a_hundred_thousand_generations_releases_its_waiters_and_tells_its_notification)
{
    enum { GENERATIONS = 100 * 1000 };
    od_group *group = od_group_create();
    odi_set set = odi_group_set(group);
    int released = 0;

    od_group_enter(group);
    for (rounds.generation = 1; rounds.generation <= GENERATIONS; rounds.generation++) {
        for (int i = 0; i < WAITERS; i++)
            assert_false(odi_watch_begin(&set, &rounds.waiters[i]));
        od_group_notify(group, notified, (void *)(intptr_t)rounds.generation);
        od_group_leave(group);
        od_group_enter(group);
        for (int i = 0; i < WAITERS; i++)
            released += odi_watch_sleep(&rounds.waiters[i], 0);
    }
    assert_int_equal(rounds.told, GENERATIONS);
    assert_int_equal(rounds.late, 0);
    assert_int_equal(released, GENERATIONS * WAITERS);
    od_group_leave(group);
    od_group_release(group);
}

/* A wait that comes to its deadline is none of those that the next moment releases. */
static struct {
    int64_t deadline_ns, began, until;
    bool released;
} outlasted;

static void outlast_the_wait(void *unused)
{
    while (odi_clock_now() < outlasted.until)
        odi_clock_sleep(ODI_MILLISECOND);
}

static void *wait_with_a_deadline(void *unused)
{
    outlasted.began = odi_clock_now();
    outlasted.released = od_group_wait(waited.group, outlasted.deadline_ns);
    return unused;
}

/* The wait's moment has come in time; that it is told of late, behind a notification, is no timeout. */
QUEUE_TEST(a_wait_is_not_over_time_for_a_notification_of_its_moment)
{
    bool in_time = false;

    for (int64_t deadline_ns = MILLISECONDS(50); !in_time; deadline_ns *= 2) { /* until the machine is quick enough */
        pthread_t thread;

        outlasted.deadline_ns = deadline_ns;
        waited.group = od_group_create();
        od_group_enter(waited.group);
        od_group_notify(waited.group, outlast_the_wait, NULL);
        pthread_create(&thread, NULL, wait_with_a_deadline, NULL);
        in_time = COMES_TRUE(waiters_of(&waited.group->watch) == 1);
        int64_t now = odi_clock_now();
        outlasted.until = now + deadline_ns;
        od_group_leave(waited.group);
        pthread_join(thread, NULL);
        in_time &= now + deadline_ns / 2 < outlasted.began + deadline_ns;
        assert_true(!in_time || outlasted.released);
        od_group_release(waited.group);
    }
}

SCENE(a_wait_that_gives_up_is_gone,
      "pool 1; group g; enter g; busy g; g.waiters = 0; leave g; wait g")

/* Of a queue's records all but one are unknown to it when it has been found empty: whoever submits to one
 * of them makes it known before. */
SCENE(what_is_submitted_to_an_unknown_record_is_waited_for,
      "queue q width 1; repeat 2 {add q a band 0; add q a band 2; wait q; suspend q; add q a band 0; busy q; resume q; wait q; "
      "add q a band 0; add q a band 2; wait q; suspend q; add q a band 2; busy q; resume q; wait q}; a = 12")

static uint32_t longest_bucket(const od_group *group)
{
    uint32_t longest = 0;

    for (uint64_t i = 0; i < UINT64_C(1) << group->bucket_bits; i++) {
        uint32_t length = 0;

        for (odi_record *record = group->buckets[i]; record != NULL; record = record->next_of_bucket)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

QUEUE_TEST(a_group_over_many_queues_finds_each_in_a_few_steps)
{
    enum { QUEUES = 4096, A_FEW = 24 };
    static od_queue *queues[QUEUES];
    atomic_ullong ran = 0;

    od_group *group = od_group_create();
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = queue_of(1);
        od_queue_async(queues[i], group, OD_QUEUE_BAND, count_job, &ran);
    }
    assert_true(od_group_wait(group, HANG_NS));
    assert_int_equal(atomic_load(&ran), QUEUES);
    assert_int_equal(group->newest, QUEUES);
    assert_in_range(longest_bucket(group), 1, A_FEW);
    for (int i = 0; i < QUEUES; i++) {
        odi_record *record = odi_group_record(group, queues[i], OD_BAND_DEFAULT, odi_queue_make_record);

        assert_ptr_equal(odi_load_relaxed(&record->queue), queues[i]); /* found, not made */
    }
    assert_int_equal(group->newest, QUEUES);
    for (int i = 0; i < QUEUES; i++)
        od_queue_release(queues[i]);
    assert_comes_true(group->newest == 0);
    od_group_release(group);
}

static void no_drained(void *queue, odi_record *record) { (void)queue, (void)record; }

/* The 262,143rd record was the last, and the async of a queue that got none ran on its caller, even
 * where the queue was suspended. */
QUEUE_TEST(a_queue_behind_300_000_live_ones_runs_nothing_on_its_caller)
{
    enum { LIVE = 300 * 1000 };
    static const odi_record_owner nobody = {.drained = no_drained};
    odi_record **records = malloc(LIVE * sizeof *records);
    int their_queue; /* an address */
    od_queue *queue = queue_of(1);
    atomic_ullong ran = 0;

    for (int i = 0; i < LIVE; i++)
        records[i] = odi_record_new(&pool->team, &their_queue, NULL, 0, 0, &nobody, NULL);
    od_queue_suspend(queue);
    add(queue, count_job, &ran);
    assert_int_equal(atomic_load(&ran), 0);
    assert_int_equal(od_queue_pending(queue), 1);
    assert_true(queue->records->tag > LIVE);
    od_queue_resume(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&ran), 1);
    od_queue_suspend(queue);
    add_many(queue, 10, count_job, &ran);
    assert_int_equal(od_queue_cancel_all(queue), 10);
    od_queue_release(queue);
    for (int i = 0; i < LIVE; i++)
        odi_record_free(records[i]);
    free(records);
}

QUEUE_TEST(a_thousand_million_enters_are_a_thousand_million)
{
    const uint64_t many = UINT64_C(1) << 30;
    od_group *group = od_group_create();

    od_group_enter(group);
    odi_add_relaxed(&group->own.counts, many - 1); /* relaxed: one thread */
    assert_false(od_group_wait(group, 0));
    assert_int_equal(od_group_pending(group), many);
    od_group_leave(group);
    assert_int_equal(od_group_pending(group), many - 1);
    odi_record_complete(&group->own, many - 1);
    assert_true(od_group_wait(group, 0));
    od_group_release(group);
}

static void enter_too_often(void *unused)
{
    od_group *group = od_group_create();

    od_group_enter(group);
    odi_add_relaxed(&group->own.counts, ODI_COUNTS_OUTSTANDING >> 1); /* relaxed: one thread */
    od_group_enter(group);
}

QUEUE_TEST(a_count_that_would_overflow_traps_by_name)
{
    assert_child_traps(enter_too_often, NULL, "WaitGroup.enter()");
}

/* By seed 0xa0005030: the waiter gave what was cancelled while the queue was closed to the line, which is there no
 * more, that to the pool, and took it from its own deque again, for ever. */
SCENE(a_job_that_waits_for_what_was_cancelled_in_a_closed_queue_goes_on,
      "lone; queue q; group g; add pool {add q x in g; suspend q; cancel q 1; resume q; await g; released}; "
      "released -> 1")

GUARDED_PROGRAM
