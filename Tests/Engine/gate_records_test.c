/* gate/ and job/: the records behind a queue's jobs, from life to life. */
#include "Support/job_count.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "job/group.h"

/* ---- records that change hands ---- */

static struct {
    od_queue *queue;
    od_group *group;
    atomic_int thread;
    atomic_bool woken;
} sleeper;

static void *sleep_on_the_group(void *unused)
{
    atomic_store(&sleeper.thread, odi_thread_id());
    (void)od_group_wait(sleeper.group, INT64_MAX);
    atomic_store(&sleeper.woken, true);
    return unused;
}

static void *sleep_on_the_queue(void *unused)
{
    atomic_store(&sleeper.thread, odi_thread_id());
    (void)od_queue_wait(sleeper.queue, INT64_MAX);
    atomic_store(&sleeper.woken, true);
    return unused;
}

/* What was given back last serves first, and others may be given back after it: the queues that are taken
 * are kept until one has got this record. */
static od_queue *queue_that_gets(odi_record *record)
{
    enum { MANY = 100 };
    od_queue *taken[MANY];
    bool came = false;
    int count = 0;
    od_status status;

    while (!came && count < MANY) {
        taken[count] = queue_of(OD_UNLIMITED);
        came = odi_queue_admit(taken[count++], NULL, OD_BAND_DEFAULT, NULL, &status) == record;
    }
    assert_true(came);
    for (int i = 0; i < count - 1; i++)
        od_queue_release(taken[i]);
    return taken[count - 1];
}

/* The last job of a record has told the job count; before it wakes who waits for the group (the
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
    odi_record *record = odi_group_record(sleeper.group, sleeper.queue, OD_BAND_DEFAULT, odi_queue_make_record);
    assert_true(add_to_counts(record)); /* a job that runs … */
    pthread_create(&thread, NULL, sleep, NULL);
    assert_comes_true(odi_load_relaxed(&record->counts) & ODI_COUNTS_WATCHED);
    assert_comes_true(sleeps_at(waits_for_queue ? &sleeper.queue->watch : &sleeper.group->watch,
                                atomic_load(&sleeper.thread)));
    odi_watchers watchers = odi_record_watchers(record);
    assert_true(odi_record_subtract(record, 1)); /* … and ends: drained is owed */
    if (waits_for_queue)
        od_group_release(sleeper.group);
    else
        od_queue_release(sleeper.queue);
    second = queue_that_gets(record);
    run_in(second, count_job, &ran);
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

QUEUE_TEST(a_record_that_changed_hands_still_wakes_its_old_groups_waiter)
{
    assert_woken_although_the_record_changed_hands(sleep_on_the_group);
}

QUEUE_TEST(a_record_that_changed_hands_still_wakes_its_old_queues_waiter)
{
    assert_woken_although_the_record_changed_hands(sleep_on_the_queue);
}

/* The same late call must not end the watch of the record's next generation. */
QUEUE_TEST(a_late_wake_does_not_end_the_watch_of_a_records_next_life)
{
    od_queue *first = queue_of(OD_UNLIMITED);
    gate door = {0};
    pthread_t thread;

    odi_record *record = odi_queue_make_record(first, NULL, OD_BAND_DEFAULT);
    assert_true(add_to_counts(record));
    assert_false(odi_record_is_empty(record, true));
    odi_watchers watchers = odi_record_watchers(record);
    assert_true(odi_record_subtract(record, 1));
    od_queue_release(first);
    sleeper.queue = queue_that_gets(record);
    sleeper.group = NULL;
    atomic_store(&sleeper.woken, false);
    add(sleeper.queue, gate_job, &door);
    assert_ptr_equal(odi_load_relaxed(&record->queue), sleeper.queue);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    pthread_create(&thread, NULL, sleep_on_the_queue, NULL);
    assert_comes_true(odi_load_relaxed(&record->counts) & ODI_COUNTS_WATCHED);
    odi_record_drained(record, watchers);
    assert_true(odi_load_relaxed(&record->counts) & ODI_COUNTS_WATCHED);
    gate_open(&door);
    assert_comes_true(atomic_load(&sleeper.woken));
    pthread_join(thread, NULL);
    od_queue_release(sleeper.queue);
}

static void *release_the_queue(void *queue)
{
    od_queue_release(queue);
    return NULL;
}

/* A submitter is late: the record is its queue's no more, and its group's still, which waits for that count. The first
 * group's lock keeps the end of the queue from going on meanwhile. Nobody else gets the record before it is taken back. */
QUEUE_TEST(who_waits_for_a_count_that_came_too_late_is_woken_when_it_is_taken_back)
{
    enum { MANY = 100 };
    od_queue *others[MANY];
    od_status status;
    od_queue *queue = queue_of(OD_UNLIMITED);
    od_group *first = od_group_create();
    pthread_t releaser, waiter;

    sleeper.group = od_group_create();
    atomic_store(&sleeper.woken, false);
    od_queue_async(queue, first, OD_QUEUE_BAND, no_job, NULL);
    od_queue_async(queue, sleeper.group, OD_QUEUE_BAND, no_job, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    odi_record *record = queue->records;
    assert_ptr_equal(odi_load_relaxed(&record->group), sleeper.group);
    odi_lock_acquire(&first->watch.lock);
    pthread_create(&releaser, NULL, release_the_queue, queue);
    assert_comes_true(odi_load_relaxed(&record->queue) == NULL);
    (void)add_to_counts(record);
    pthread_create(&waiter, NULL, sleep_on_the_group, NULL);
    assert_comes_true(sleeps_at(&sleeper.group->watch, atomic_load(&sleeper.thread)));
    odi_lock_release(&first->watch.lock);
    pthread_join(releaser, NULL);
    for (int i = 0; i < MANY; i++) {
        others[i] = queue_of(OD_UNLIMITED);
        assert_ptr_not_equal(odi_queue_admit(others[i], NULL, OD_BAND_DEFAULT, NULL, &status), record);
    }
    odi_record_complete(record, 1);
    assert_comes_true(atomic_load(&sleeper.woken));
    pthread_join(waiter, NULL);
    od_queue_release(queue_that_gets(record));
    for (int i = 0; i < MANY; i++)
        od_queue_release(others[i]);
    od_group_release(sleeper.group);
    od_group_release(first);
}

/* ---- records that serve again ---- */

/* A late count of a submitter that found the record before a cancel is never another queue's. */
QUEUE_TEST(a_cancelled_record_serves_its_own_queue_and_group_again)
{
    for (int grouped = 0; grouped < 2; grouped++) {
        od_queue *queue = queue_of(OD_UNLIMITED), *other = queue_of(OD_UNLIMITED);
        od_group *group = grouped ? od_group_create() : NULL;
        atomic_ullong ran = 0;

        od_queue_suspend(queue);
        od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        odi_record *record = queue->records;
        assert_int_equal(od_queue_cancel_all(queue), 1);
        run_in(other, count_job, &ran);
        assert_ptr_not_equal(other->records, record);

        assert_false(add_to_counts(record)); /* late, and not yet taken back */
        od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        assert_ptr_not_equal(queue->records, record);
        odi_record_complete(record, 1);
        assert_int_equal(od_queue_cancel_all(queue), 1);
        od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran);
        assert_ptr_equal(queue->records->next_of_queue, record); /* no third one */
        assert_null(record->next_of_queue);
        od_queue_resume(queue);
        end_queue(queue);
        assert_int_equal(atomic_load(&ran), 2);
        od_queue_release(other);
        if (group != NULL)
            od_group_release(group);
    }
}

/* A submitter looked its record up, and was late: the record serves another queue by now. Its
 * count, which it is about to take back, is none of that queue's jobs. */
QUEUE_TEST(a_late_submitter_is_not_counted_by_another_queues_cancel)
{
    od_queue *first = queue_of(OD_UNLIMITED), *second = queue_of(OD_UNLIMITED);

    run_in(first, no_job, NULL);
    odi_record *record = (odi_record *)odi_load_relaxed(&first->current[OD_BAND_DEFAULT]);
    (void)od_queue_cancel_all(first);
    od_queue_suspend(second);
    add_many(second, 10, no_job, NULL);
    bool open = add_to_counts(record); /* as queue.c's submit does … */
    uint64_t cancelled = od_queue_cancel_all(second);
    if (!open || !odi_record_is(record, first, NULL))
        odi_record_complete(record, 1); /* … and takes back */
    assert_int_equal(cancelled, 10);
    release_queues(first, second);
}

static int set_up_one_worker(void **state)
{
    pool = lone_worker();
    return 0;
}

static uint32_t chain_length(od_queue *queue)
{
    uint32_t length = 0;

    odi_lock_acquire(&queue->watch.lock);
    for (odi_record *record = queue->records; record != NULL; record = record->next_of_queue)
        length++;
    odi_lock_release(&queue->watch.lock);
    return length;
}

#define LONE_TEST(name) TEST_WITH(name, set_up_one_worker, tear_down)

/* Jobs that a cancel has closed wait in the pool to be discarded, and their records with them:
 * the next lives take those that are over, whichever came first. */
LONE_TEST(cancelled_records_serve_again_when_thousands_wait)
{
    enum { ROUNDS = 1000 };

    for (int grouped = 0; grouped < 2; grouped++) {
        od_queue *queue = queue_of(OD_UNLIMITED), *other = queue_of(OD_UNLIMITED);
        od_group *group = grouped ? od_group_create() : NULL;
        uint32_t longest = 0;

        for (int pass = 0; pass < 3; pass++) {
            gate door = {0};

            hold_a_job(other, &door);
            for (int i = 0; i < ROUNDS; i++) {
                od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
                assert_int_equal(od_queue_cancel_all(queue), 1);
            }
            if (pass == 0)
                longest = chain_length(queue);
            assert_int_equal(chain_length(queue), longest);
            gate_open(&door);
            wait_for_queues(queue, other);
        }
        assert_in_range(longest, ROUNDS, ROUNDS + 1);
        release_queues(queue, other);
        if (group != NULL)
            od_group_release(group);
    }
}

/* What was outside when it closed is over, and no barrier waits for it. */
LONE_TEST(a_cancelled_record_of_a_queue_that_was_open_serves_again)
{
    od_queue *queue = queue_of(OD_UNLIMITED);

    run_in(queue, no_job, NULL);
    od_queue_suspend(queue);
    add(queue, no_job, NULL);
    uint32_t length = chain_length(queue);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(od_queue_cancel_all(queue), 1);
        add(queue, no_job, NULL);
    }
    assert_int_equal(chain_length(queue), length);
    od_queue_resume(queue);
    end_queue(queue);
}

/* A group's last generation in a queue ends with the group: its records leave the queue's chain one by
 * one, wherever they stand. */
LONE_TEST(records_of_groups_that_are_over_leave_their_queue)
{
    enum { GROUPS = 1000 };
    static od_group *groups[GROUPS];
    od_queue *queue = queue_of(OD_UNLIMITED), *other = queue_of(OD_UNLIMITED);
    gate door = {0};

    hold_a_job(other, &door);
    for (int i = 0; i < GROUPS; i++) {
        groups[i] = od_group_create();
        od_queue_async(queue, groups[i], OD_QUEUE_BAND, no_job, NULL);
        od_group_release(groups[i]);
    }
    assert_int_equal(chain_length(queue), GROUPS);
    gate_open(&door);
    assert_comes_true(chain_length(queue) == 0);
    release_queues(queue, other);
}

GUARDED_PROGRAM
