/* gate/: barriers, which wait for all before and hold back all after. */
#include "Support/job_count.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

static const int32_t barrier_widths[] = {OD_UNLIMITED, 1, 2, 7};
enum { BARRIER_WIDTHS = sizeof barrier_widths / sizeof barrier_widths[0] };

/* ---- what it waits for ---- */

/* Who looks may have seen the queue that was in this one's place before. */
QUEUE_TEST(a_late_look_at_an_open_queue_finds_it_as_open)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    gate door = {0};

    hold_a_job(queue, &door);
    odi_queue_before_drained(queue);
    assert_false(LOOK(queue, queue->gate.complete));
    gate_open(&door);
    end_queue(queue);
}

/* The first barrier of an open queue: what is before it is with the pool already. */
QUEUE_TEST(a_barrier_waits_for_what_the_pool_was_given_before)
{
    for (int round = 0; round < 20; round++) {
        od_queue *queue = queue_of(OD_UNLIMITED);
        gate door = {0};
        atomic_ullong before = 0, alone = 0, after = 0;

        add(queue, gate_job, &door);
        add_many(queue, 100, count_job, &before);
        add_barrier(queue, count_job, &alone);
        add_many(queue, 100, count_job, &after);
        assert_comes_true(atomic_load(&before) == 100);
        assert_int_equal(atomic_load(&alone), 0);
        assert_int_equal(atomic_load(&after), 0);
        gate_open(&door);
        end_queue(queue);
        assert_int_equal(atomic_load(&alone), 1);
        assert_int_equal(atomic_load(&after), 100);
    }
}

/* A group's record, which goes with its group, is the first of these. */
QUEUE_TEST(a_barrier_waits_for_the_others_of_these_where_the_first_is_over)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    od_group *group = od_group_create();
    gate first = {0}, last = {0};
    atomic_ullong alone = 0;

    hold_a_job(queue, &last);
    od_queue_async(queue, NULL, OD_BAND_USER_INITIATED, gate_job, &first);
    assert_comes_true(atomic_load(&first.waiting) == 1);
    od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    assert_true(od_group_wait(group, HANG_NS));
    add_barrier(queue, count_job, &alone);
    od_group_release(group);
    gate_open(&first);
    assert_comes_true(od_queue_running(queue) == 1);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&alone), 0);
    gate_open(&last);
    end_queue(queue);
    assert_int_equal(atomic_load(&alone), 1);
}

/* A heavy fence interrupts every processor: a queue that guards a variable, and never has a job, need not pay it. */
QUEUE_TEST(a_first_barrier_of_a_queue_without_jobs_looks_nowhere_else)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    atomic_ullong count = 0;
    od_scope scope;

    for (int calls = 0; calls < 3; calls++) {
        od_queue_sync_begin(queue, &scope);
        assert_true(queue->gate.complete); /* odi_queue_keep_line asks this */
        od_queue_sync_end(&scope);
    }
    od_queue_sync_barrier_begin(queue, &scope);
    assert_true(queue->gate.complete);
    od_queue_sync_end(&scope);
    od_queue_release(queue);

    queue = queue_of(OD_UNLIMITED);
    od_queue_sync_begin(queue, &scope);
    add(queue, count_job, &count); /* the first job opens it, with a caller inside */
    assert_false(odi_load_relaxed(&queue->inbox.diverted)); /* relaxed: nobody else writes it */
    od_queue_sync_end(&scope);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_queue_sync_barrier_begin(queue, &scope);
    assert_int_equal(atomic_load(&count), 1);
    od_queue_sync_end(&scope);
    od_queue_release(queue);
}

static struct {
    od_queue *queue;
    gate inside;
} visitor;

static void *visit(void *unused)
{
    run_synced(visitor.queue, gate_job, &visitor.inside);
    return unused;
}

QUEUE_TEST(a_barrier_waits_for_a_sync_caller_that_is_in_already)
{
    enum { NOTHING, A_JOB, A_BARRIER, CASES }; /* it has had no job; it is open; it keeps its line */
    for (int before = NOTHING; before < CASES; before++) {
        pthread_t thread;
        atomic_ullong alone = 0;

        memset(&visitor, 0, sizeof visitor);
        visitor.queue = queue_of(OD_UNLIMITED);
        if (before == A_JOB)
            add(visitor.queue, no_job, NULL);
        if (before == A_BARRIER)
            add_barrier(visitor.queue, no_job, NULL);
        assert_true(od_queue_wait(visitor.queue, HANG_NS));
        pthread_create(&thread, NULL, visit, NULL);
        assert_comes_true(atomic_load(&visitor.inside.waiting) == 1);
        add_barrier(visitor.queue, count_job, &alone);
        let_all_run_that_can();
        assert_int_equal(atomic_load(&alone), 0);
        gate_open(&visitor.inside);
        assert_true(od_queue_wait(visitor.queue, HANG_NS));
        assert_int_equal(atomic_load(&alone), 1);
        pthread_join(thread, NULL);
        od_queue_release(visitor.queue);
    }
}

/* A submitter found its record, and was late: a barrier has closed it meanwhile, and waits for
 * what is counted on it. */
QUEUE_TEST(a_late_submission_goes_before_the_barrier_that_waits_for_it)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    atomic_ullong ran = 0, alone = 0;
    odi_entry labelled;

    run_in(queue, no_job, NULL);
    odi_record *record = (odi_record *)odi_load_relaxed(&queue->current[OD_BAND_DEFAULT]);
    assert_true(add_to_counts(record)); /* as queue.c's submit does … */
    add_barrier(queue, count_job, &alone);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&alone), 0);
    assert_true(odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED);
    assert_true(odi_record_label(record, odi_job_plain(count_job, &ran, 0), &labelled));
    assert_true(odi_queue_push(queue, labelled, NULL)); /* … and now knows */
    assert_comes_true(atomic_load(&alone) == 1);
    assert_int_equal(atomic_load(&ran), 1);
    assert_int_equal(barriers_in(queue), 0);
    end_queue(queue);
}

/* A cancelled record that is over serves again, unless a barrier waits for it. */
QUEUE_TEST(a_barrier_after_a_cancel_does_not_wait_for_what_comes_behind_it)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    gate door = {0};
    atomic_ullong before = 0, alone = 0, after = 0;

    od_queue_async(queue, NULL, OD_BAND_USER_INITIATED, gate_job, &door); /* on another record */
    assert_comes_true(atomic_load(&door.waiting) == 1);
    add(queue, count_job, &before);
    odi_record *record = (odi_record *)odi_load_relaxed(&queue->current[OD_BAND_DEFAULT]);
    assert_comes_true(atomic_load(&before) == 1 && odi_record_is_empty(record, false));
    assert_int_equal(od_queue_cancel_all(queue), 0);
    add_barrier(queue, count_job, &alone);
    add(queue, count_job, &after);
    gate_open(&door);
    assert_comes_true(atomic_load(&after) == 1);
    assert_int_equal(atomic_load(&alone), 1);
    end_queue(queue);
}

/* ---- asking ---- */

static struct {
    od_queue *queue, *other;
    atomic_int alone, asked;
} asking;

static void ask(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(asking.other, &scope);
    atomic_fetch_add(&asking.alone, od_queue_is_alone(asking.queue));
    atomic_fetch_add(&asking.alone, od_queue_is_alone(asking.other) ? 100 : 0);
    od_queue_sync_end(&scope);
    atomic_fetch_add(&asking.asked, 1);
}

QUEUE_TEST(whether_a_job_is_alone_can_be_asked)
{
    for (int i = 0; i < BARRIER_WIDTHS; i++) {
        od_scope scope;

        memset(&asking, 0, sizeof asking);
        asking.queue = queue_of(barrier_widths[i]);
        asking.other = queue_of(OD_UNLIMITED);
        assert_false(od_queue_is_alone(asking.queue));
        run_in(asking.queue, ask, NULL);
        assert_int_equal(atomic_load(&asking.alone), barrier_widths[i] == 1);
        add_barrier(asking.queue, ask, NULL);
        assert_true(od_queue_wait(asking.queue, HANG_NS));
        assert_int_equal(atomic_load(&asking.alone), 1 + (barrier_widths[i] == 1));
        od_queue_sync_barrier_begin(asking.queue, &scope);
        run_synced(asking.other, ask, NULL); /* the barrier is further out */
        od_queue_sync_end(&scope);
        run_synced(asking.queue, ask, NULL);
        assert_int_equal(atomic_load(&asking.alone), barrier_widths[i] == 1 ? 4 : 2);
        assert_int_equal(atomic_load(&asking.asked), 4);
        release_queues(asking.queue, asking.other);
    }
}

/* ---- exactly: one submitter knows what is before and after ---- */

static struct {
    od_queue *queue;
    atomic_int started, finished, inside, wrong;
} exact;

static void reader(void *raw)
{
    int barriers_end = (int)(uintptr_t)raw; /* jobs up to the last barrier before this one */

    atomic_fetch_add(&exact.started, 1);
    atomic_fetch_add(&exact.inside, 1);
    atomic_fetch_add(&exact.wrong, atomic_load(&exact.finished) < barriers_end);
    for (int i = 0; i < 20; i++)
        odi_spin_pause();
    atomic_fetch_sub(&exact.inside, 1);
    atomic_fetch_add(&exact.finished, 1);
}

static void writer(void *raw)
{
    int before = (int)(uintptr_t)raw; /* jobs before this one */

    atomic_fetch_add(&exact.wrong, atomic_load(&exact.finished) != before);
    atomic_fetch_add(&exact.wrong, atomic_load(&exact.started) != before);
    atomic_fetch_add(&exact.wrong, atomic_fetch_add(&exact.inside, 1) != 0);
    for (int i = 0; i < 20; i++)
        odi_spin_pause();
    atomic_fetch_add(&exact.wrong, atomic_load(&exact.started) != before);
    atomic_fetch_add(&exact.started, 1);
    atomic_fetch_sub(&exact.inside, 1);
    atomic_fetch_add(&exact.finished, 1);
}

static void submit_exactly(void *raw)
{
    prng random = prng_for((uint64_t)(uintptr_t)raw, 5);
    int barriers_end = 0, jobs = UNLESS_SANITIZED(5000, 500);

    for (int i = 0; i < jobs; i++) {
        if (prng_one_in(&random, 20)) {
            add_barrier(exact.queue, writer, (void *)(uintptr_t)i);
            barriers_end = i + 1;
        } else
            add(exact.queue, reader, (void *)(uintptr_t)barriers_end);
        if (prng_one_in(&random, 500)) {
            od_queue_suspend(exact.queue);
            od_queue_resume(exact.queue);
        }
    }
}

QUEUE_TEST(barriers_have_all_before_them_and_none_after)
{
    for (int round = 0; round < 2 * BARRIER_WIDTHS; round++) {
        bool from_inside = round >= BARRIER_WIDTHS;

        memset(&exact, 0, sizeof exact);
        exact.queue = queue_of(barrier_widths[round % BARRIER_WIDTHS]);
        if (from_inside)
            od_pool_submit(pool, OD_BAND_DEFAULT, submit_exactly, (void *)(uintptr_t)round);
        else
            submit_exactly((void *)(uintptr_t)round);
        assert_comes_true(atomic_load(&exact.finished) == UNLESS_SANITIZED(5000, 500));
        end_queue(exact.queue);
        assert_int_equal(atomic_load(&exact.wrong), 0);
    }
}

/* ---- everybody at once ---- */

enum { VALUES = 8 };

static struct {
    od_queue *queue;
    od_group *group;
    long values[VALUES]; /* guarded by the queue's barriers alone */
    atomic_int overlaps, inside, writing;
    atomic_ullong reads, writes, rounds;
    atomic_int submitting;
    int64_t until; /* a busy machine does fewer rounds */
} shared;

static void read_job(void *unused)
{
    atomic_fetch_add(&shared.inside, 1);
    if (atomic_load(&shared.writing) != 0)
        atomic_fetch_add(&shared.overlaps, 1);
    for (int i = 1; i < VALUES; i++) {
        if (shared.values[i] != shared.values[0])
            atomic_fetch_add(&shared.overlaps, 1);
    }
    atomic_fetch_sub(&shared.inside, 1);
    atomic_fetch_add(&shared.reads, 1);
}

static void write_job(void *unused)
{
    if (atomic_fetch_add(&shared.writing, 1) != 0 || atomic_load(&shared.inside) != 0)
        atomic_fetch_add(&shared.overlaps, 1);
    for (int i = 0; i < VALUES; i++)
        shared.values[i]++;
    atomic_fetch_sub(&shared.writing, 1);
    atomic_fetch_add(&shared.writes, 1);
}

static void *read_and_write(void *raw)
{
    prng random = prng_for((uint64_t)(uintptr_t)raw, 9);
    int rounds = UNLESS_SANITIZED(20000, 1500);
    od_scope scope;

    for (int i = 0; i < rounds && odi_clock_now() < shared.until; i++) {
        bool writes = prng_one_in(&random, 20);
        od_group *group = prng_one_in(&random, 3) ? shared.group : NULL;

        if (prng_one_in(&random, 2))
            od_queue_async_with(shared.queue, group, (int)prng_below(&random, 4) - 1,
                                writes ? OD_BARRIER : 0, writes ? write_job : read_job, NULL);
        else if (writes) {
            od_queue_sync_barrier_begin(shared.queue, &scope);
            write_job(NULL);
            od_queue_sync_end(&scope);
        } else {
            run_synced(shared.queue, read_job, NULL);
        }
        atomic_fetch_add(&shared.rounds, 1);
    }
    atomic_fetch_sub(&shared.submitting, 1);
    return NULL;
}

static void *resize_and_suspend(void *unused)
{
    prng random = prng_for(77, 9);

    while (atomic_load(&shared.submitting) > 0) {
        if (prng_one_in(&random, 2))
            od_queue_set_width(shared.queue, (int32_t)prng_below(&random, 4));
        od_queue_suspend(shared.queue);
        sched_yield();
        od_queue_resume(shared.queue);
        odi_clock_sleep((int64_t)prng_below(&random, 300) * 1000);
    }
    return unused;
}

QUEUE_TEST(readers_and_writers_never_overlap)
{
    for (int round = 0; round < BARRIER_WIDTHS; round++) {
        pthread_t threads[3], changer;

        memset(&shared, 0, sizeof shared);
        shared.queue = queue_of(barrier_widths[round]);
        shared.group = od_group_create();
        atomic_store(&shared.submitting, 3);
        shared.until = odi_clock_after(SECONDS(15));
        for (uintptr_t i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, read_and_write, (void *)(i + 1));
        pthread_create(&changer, NULL, resize_and_suspend, NULL);
        join_threads(threads, 3);
        pthread_join(changer, NULL);
        assert_true(od_group_wait(shared.group, HANG_NS));
        end_queue(shared.queue);
        assert_int_equal(atomic_load(&shared.reads) + atomic_load(&shared.writes), atomic_load(&shared.rounds));
        assert_int_equal(shared.values[0], atomic_load(&shared.writes));
        assert_int_equal(atomic_load(&shared.overlaps), 0);
        od_group_release(shared.group);
    }
}

/* ---- suspended, cancelled, released, misused ---- */

QUEUE_TEST(a_cancelled_barrier_holds_nothing_back)
{
    for (int round = 0; round < BARRIER_WIDTHS; round++) {
        od_queue *queue = queue_of(barrier_widths[round]);
        gate door = {0};
        atomic_ullong ran = 0;

        hold_a_job(queue, &door);
        add_barrier(queue, count_job, &ran);
        add_many(queue, 50, count_job, &ran);
        add_barrier(queue, count_job, &ran);
        assert_int_equal(od_queue_cancel_all(queue), 52);
        add(queue, count_job, &ran);
        if (barrier_widths[round] != 1)
            assert_comes_true(atomic_load(&ran) == 1); /* beside the one that runs */
        add_barrier(queue, count_job, &ran);
        gate_open(&door);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&ran), 2);
        assert_int_equal(od_queue_pending(queue), 0);
        od_queue_release(queue);
    }
}

QUEUE_TEST(a_cancelled_barrier_of_an_open_queue_lets_sync_callers_in)
{
    od_queue *queue = queue_of(OD_UNLIMITED);
    gate door = {0};
    pthread_t thread;

    memset(&visitor, 0, sizeof visitor);
    visitor.queue = queue;
    add_barrier(queue, no_job, NULL);
    hold_a_job(queue, &door);
    add_barrier(queue, no_job, NULL);
    pthread_create(&thread, NULL, visit, NULL);
    assert_comes_true(waiting_in(queue) == 2); /* the barrier, and who came after it */
    assert_int_equal(od_queue_cancel_all(queue), 1);
    assert_int_equal(barriers_in(queue), 0);
    assert_comes_true(atomic_load(&visitor.inside.waiting) == 1); /* beside the job that waits */
    run_synced(queue, no_job, NULL);
    gate_open(&visitor.inside);
    pthread_join(thread, NULL);
    gate_open(&door);
    end_queue(queue);
}

QUEUE_TEST(a_barrier_of_a_suspended_queue_keeps_its_place)
{
    for (int round = 0; round < BARRIER_WIDTHS; round++) {
        memset(&exact, 0, sizeof exact);
        exact.queue = queue_of(barrier_widths[round]);
        od_queue_suspend(exact.queue);
        add_many(exact.queue, 100, reader, NULL);
        add_barrier(exact.queue, writer, (void *)(uintptr_t)100);
        add_barrier(exact.queue, writer, (void *)(uintptr_t)101);
        for (int i = 0; i < 100; i++)
            add(exact.queue, reader, (void *)(uintptr_t)102);
        assert_int_equal(od_queue_pending(exact.queue), 202);
        od_queue_resume(exact.queue);
        od_queue_release(exact.queue); /* what it was given still runs */
        assert_comes_true(atomic_load(&exact.finished) == 202);
        assert_int_equal(atomic_load(&exact.wrong), 0);
    }
}

static struct {
    od_queue *queue;
    gate inside;
    atomic_ullong nested;
} nest;

static void nested_sync(void *unused)
{
    od_scope scope;

    gate_job(&nest.inside);
    od_queue_sync_begin(nest.queue, &scope);
    atomic_fetch_add(&nest.nested, 1);
    od_queue_sync_end(&scope);
}

/* The barrier waits for the job, and the job's sync does not wait for the barrier. */
QUEUE_TEST(a_job_may_sync_onto_its_own_queue_while_a_barrier_waits)
{
    for (int before = 0; before < 2; before++) {
        memset(&nest, 0, sizeof nest);
        nest.queue = queue_of(OD_UNLIMITED);
        if (before)
            add_barrier(nest.queue, no_job, NULL);
        add(nest.queue, nested_sync, NULL);
        assert_comes_true(atomic_load(&nest.inside.waiting) == 1);
        add_barrier(nest.queue, no_job, NULL);
        gate_open(&nest.inside);
        end_queue(nest.queue);
        assert_int_equal(atomic_load(&nest.nested), 1);
    }
}

static void sync_barrier_from_inside(void *queue)
{
    od_scope scope;

    od_queue_sync_barrier_begin(queue, &scope);
}

static void misuse(void *unused)
{
    od_queue *queue;

    pool = pool_of(1);
    queue = queue_of(OD_UNLIMITED);
    add(queue, sync_barrier_from_inside, queue);
    (void)od_queue_wait(queue, HANG_NS);
}

QUEUE_TEST(a_sync_barrier_from_ones_own_job_traps_by_name)
{
    assert_child_traps(misuse, NULL, "TaskQueue.sync(flags: .barrier) on \"test\" from one of its own");
}

static void below_the_queues_band(void *raw) { *(int *)raw = od_pool_current_band(); }

QUEUE_TEST(an_enforced_band_may_be_lower_than_the_queues)
{
    int seen = -1;

    od_queue *queue = queue_of(OD_UNLIMITED);
    od_queue_async_with(queue, NULL, OD_BAND_BACKGROUND, OD_ENFORCE_BAND, below_the_queues_band, &seen);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(seen, OD_BAND_BACKGROUND);
    od_queue_async_with(queue, NULL, OD_BAND_BACKGROUND, 0, below_the_queues_band, &seen);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(seen, OD_BAND_DEFAULT);
    od_queue_async_with(queue, NULL, OD_QUEUE_BAND, OD_ENFORCE_BAND, below_the_queues_band, &seen);
    end_queue(queue);
    assert_int_equal(seen, OD_BAND_DEFAULT); /* that is no band of its own */
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
