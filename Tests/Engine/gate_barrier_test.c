/* gate/: barriers, which wait for all before and hold back all after. */
#include "Support/job_count.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

static const int32_t barrier_widths[] = {OD_UNLIMITED, 1, 2, 7};
enum { BARRIER_WIDTHS = sizeof barrier_widths / sizeof barrier_widths[0] };

/* ---- how long it is alone ---- */

static atomic_uint places_held;

static void hold_alone(void *queue) { atomic_store(&places_held, od_queue_hold(queue)); }

QUEUE_TEST(a_barrier_that_holds_its_places_is_alone_until_they_are_given_up)
{
    for (int i = 0; i < BARRIER_WIDTHS; i++) {
        od_queue *queue = queue_of(barrier_widths[i]);
        atomic_ullong later = 0;

        atomic_store(&places_held, 0);
        add_barrier(queue, hold_alone, queue);
        assert_comes_true(atomic_load(&places_held) != 0);
        add(queue, count_job, &later);
        add_barrier(queue, count_job, &later);
        let_all_run_that_can();
        assert_int_equal(atomic_load(&later), 0);
        od_queue_unhold(queue, atomic_load(&places_held));
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&later), 2);
        end_queue(queue);
    }
}

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
SCENE(a_barrier_waits_for_what_the_pool_was_given_before,
      "20 times: queue q; add q Door; add q 100 before; add q alone barrier; add q 100 later; before -> 100; alone = 0; "
      "later = 0; open Door; wait q; alone = 1; later = 100")

/* A group's record, which goes with its group, is the first of these; it serves another queue then. */
SCENE(a_barrier_waits_for_the_others_of_these_where_the_first_is_over,
      "queue q; group g; hold q Last; hold q First band 1; add q a in g; wait g; add q alone barrier; settle; release g; "
      "queue r; hold r Elsewhere; open First; q.running -> 1; settle; alone = 0; open Last; wait q; alone = 1")

/* A heavy fence interrupts every processor: a queue that guards a variable, and never has a job, need not pay it. */
SCENE(a_first_barrier_of_a_queue_without_jobs_looks_nowhere_else,
      "queue q; inside q; q.complete = 1; outside; inside q; q.complete = 1; outside; inside q; q.complete = 1; "
      "outside; inside q!; q.complete = 1; outside; queue r; inside r; add r a; r.diverted = 0; outside; wait r; "
      "inside r!; a = 1")

SCENE(a_barrier_waits_for_a_sync_caller_that_is_in_already,
      "W in nothing a_job a_barrier: queue q; W=a_job add q a; W=a_barrier add q a barrier; wait q; "
      "thread {inside q; In}; In -> 1; add q alone barrier; settle; alone = 0; open In; wait q; alone = 1")

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

SCENE(whether_a_job_is_alone_can_be_asked,
      "W in 0 1 2 7: queue q width W; queue r; q.alone = 0; "
      "add q {inside r; W=1 q.alone = 1; W!=1 q.alone = 0; r.alone = 0; a}; wait q; "
      "add q {inside r; q.alone = 1; r.alone = 0; a} barrier; wait q; inside q!; inside r; q.alone = 1; r.alone = 0; "
      "outside; outside; inside q; inside r; W=1 q.alone = 1; W!=1 q.alone = 0; r.alone = 0; a = 2")

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

SCENE(a_cancelled_barrier_holds_nothing_back,
      "W in 0 1 2 7: queue q width W; hold q Door; add q a barrier; add q 50 a; add q a barrier; cancel q 52; add q a; "
      "W!=1 a -> 1; add q a barrier; open Door; wait q; a = 2; q.pending = 0")

SCENE(a_cancelled_barrier_of_an_open_queue_lets_sync_callers_in,
      "queue q; add q a barrier; hold q Door; add q a barrier; thread {inside q; In}; q.waiting -> 2; cancel q 1; "
      "q.barriers = 0; In -> 1; inside q; outside; open In; join; open Door")

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

/* The barrier waits for the job, and the job's sync does not wait for the barrier. */
SCENE(a_job_may_sync_onto_its_own_queue_while_a_barrier_waits,
      "W in open lined: queue q; W=lined add q a barrier; add q {Inside; inside q; nested}; Inside -> 1; "
      "add q a barrier; open Inside; wait q; nested = 1")

SCENE_TRAPS(a_sync_barrier_from_ones_own_job_traps_by_name,
            "pool 1; queue test; add test {inside test!}; wait test",
            "TaskQueue.sync(flags: .barrier): a closure of the queue would wait for itself (\"test\")")

SCENE(an_enforced_band_may_be_lower_than_the_queues,
      "queue q; add q {pool.band = 4; a} band 4 enforced; add q {pool.band = 2; a} band 4; "
      "add q {pool.band = 2; a} enforced; add q {pool.band = 2; a} band 5 enforced; wait q; a = 4")

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
