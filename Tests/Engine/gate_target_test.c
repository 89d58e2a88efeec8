/* gate/target.c: queues on queues: whose order and width holds, what a suspension and a barrier of the target
 * hold back, and how long a turn is. */
#include "Support/crowd.h"
#include "Support/job_count.h"
#include "Support/queues.h"
#include "Support/watchdog.h"

#include <pthread.h>

/* ---- the target's order and width ---- */

static crowd visitors;

QUEUE_TEST(queues_on_a_serial_queue_run_one_at_a_time)
{
    od_queue *target = queue_of(1), *queues[4];

    crowd_begin(&visitors);
    for (int i = 0; i < 4; i++)
        queues[i] = queue_on(target, widths[i % WIDTHS], "on it");
    for (int job = 0; job < 2000; job++) {
        add(queues[job % 4], crowd_visit, &visitors);
        if (job % 10 == 0)
            add(target, crowd_visit, &visitors);
    }
    for (int i = 0; i < 4; i++)
        end_queue(queues[i]);
    end_queue(target);
    assert_int_equal(atomic_load(&visitors.visits), 2200);
    assert_int_equal(atomic_load(&visitors.most), 1);
}

QUEUE_TEST(a_targets_width_holds_for_all_that_is_on_it)
{
    od_queue *target = queue_of(2), *mid = queue_on(target, OD_UNLIMITED, "mid");
    od_queue *high = queue_on(mid, OD_UNLIMITED, "high");

    crowd_begin(&visitors);
    for (int job = 0; job < 3000; job++)
        add(job % 3 == 0 ? target : job % 3 == 1 ? mid : high, crowd_visit, &visitors);
    wait_for_queues(high, mid, target);
    assert_int_equal(atomic_load(&visitors.visits), 3000);
    assert_in_range(atomic_load(&visitors.most), 1, 2);
    release_queues(high, mid, target);
}

/* Two queues that never run empty, of which each job brings the next. */
static struct {
    atomic_int inside, most, visits;
    atomic_bool over;
} endless;

static void visit_for_ever(void *queue)
{
    int inside = atomic_fetch_add(&endless.inside, 1) + 1, most = atomic_load(&endless.most);

    while (inside > most && !atomic_compare_exchange_weak(&endless.most, &most, inside))
        ;
    odi_clock_sleep(20 * ODI_MICROSECOND);
    atomic_fetch_sub(&endless.inside, 1);
    atomic_fetch_add(&endless.visits, 1);
    if (!atomic_load(&endless.over))
        add(queue, visit_for_ever, queue);
}

QUEUE_TEST(queues_on_a_target_that_becomes_narrower_run_one_after_another)
{
    od_queue *target = queue_of(2), *queues[] = {queue_on(target, 1, "first"), queue_on(target, 1, "second")};

    memset(&endless, 0, sizeof endless);
    for (int i = 0; i < 8; i++)
        add(queues[i % 2], visit_for_ever, queues[i % 2]);
    assert_comes_true(atomic_load(&endless.most) == 2);
    od_queue_set_width(target, 1);
    assert_comes_true(running_in(target) == 1); /* what runs goes on */
    atomic_store(&endless.most, 0);
    int before = atomic_load(&endless.visits);
    assert_comes_true(atomic_load(&endless.visits) > before + 100);
    int most = atomic_load(&endless.most);
    atomic_store(&endless.over, true);
    wait_for_queues(queues[0], queues[1]);
    assert_int_equal(most, 1);
    release_queues(queues[0], queues[1], target);
}

static struct {
    int noted[16], count;
} order;

static void note(void *raw) { order.noted[order.count++] = (int)(intptr_t)raw; }

QUEUE_TEST(what_a_serial_target_is_given_by_several_queues_comes_in_order)
{
    od_queue *target = queue_of(1);
    od_queue *first = queue_on(target, 1, "first"), *second = queue_on(target, 1, "second");
    gate door = {0};

    order.count = 0;
    hold_a_job(target, &door);
    add(first, note, (void *)1);
    add(target, note, (void *)2);
    add(second, note, (void *)3);
    add(target, note, (void *)4);
    gate_open(&door);
    wait_for_queues(first, second, target);
    assert_int_equal(order.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(order.noted[i], i + 1);
    release_queues(first, second, target);
}

/* What was urgent is cancelled, and the pass that was sent for its sake comes up for what is not. */
QUEUE_TEST(a_raise_that_is_over_leaves_a_queue_its_place_in_its_targets_order)
{
    od_queue *target = queue_of(1), *queue = queue_on(target, 1, "on it");

    order.count = 0;
    od_queue_suspend(target);
    od_queue_async(queue, NULL, OD_BAND_USER_INITIATED, note, (void *)0);
    assert_int_equal(od_queue_cancel_all(queue), 1);
    add(queue, note, (void *)1);
    add(target, note, (void *)2);
    od_queue_resume(target);
    /* Who waits for the queue would override its band. */
    assert_comes_true(od_queue_pending(queue) == 0 && od_queue_pending(target) == 0);
    assert_int_equal(order.count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(order.noted[i], i + 1);
    release_queues(queue, target);
}

QUEUE_TEST(a_queue_keeps_its_own_order_on_a_concurrent_target)
{
    od_queue *target = queue_of(OD_UNLIMITED), *serial = queue_on(target, 1, "serial");

    order.count = 0;
    for (intptr_t i = 0; i < 16; i++)
        add(serial, note, (void *)i);
    assert_true(od_queue_wait(serial, HANG_NS));
    for (int i = 0; i < 16; i++)
        assert_int_equal(order.noted[i], i);
    release_queues(serial, target);
}

/* ---- suspension, barriers, cancelling ---- */

QUEUE_TEST(a_suspended_target_holds_what_is_on_it)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *target = queue_of(widths[i]), *mid = queue_on(target, 2, "mid");
        od_queue *high = queue_on(mid, 1, "high");

        crowd_begin(&visitors);
        od_queue_suspend(target);
        for (int job = 0; job < 100; job++)
            add(job % 2 ? mid : high, crowd_visit, &visitors);
        let_all_run_that_can();
        assert_int_equal(atomic_load(&visitors.visits), 0);
        od_queue_suspend(mid);
        od_queue_resume(target);
        let_all_run_that_can();
        assert_int_equal(atomic_load(&visitors.visits), 0);
        od_queue_resume(mid);
        end_queue(high);
        assert_true(od_queue_wait(mid, HANG_NS));
        assert_int_equal(atomic_load(&visitors.visits), 100);
        release_queues(mid, target);
    }
}

static struct {
    od_queue *target;
    gate inside;
} held;

static void suspend_the_target(void *unused)
{
    od_queue_suspend(held.target);
    atomic_store(&held.inside.waiting, 1);
}

/* The drainer is in the middle of the queue's jobs: it starts no further one. */
QUEUE_TEST(a_target_suspended_from_a_job_on_it_holds_the_next)
{
    od_queue *queue;

    for (int round = 0; round < 20; round++) {
        held.target = queue_of(widths[(size_t)round % WIDTHS]);
        atomic_store(&held.inside.waiting, 0);
        queue = queue_on(held.target, 1, "on it");
        crowd_begin(&visitors);
        od_queue_suspend(queue);
        add(queue, suspend_the_target, NULL);
        add_many(queue, 50, crowd_visit, &visitors);
        od_queue_resume(queue);
        assert_comes_true(atomic_load(&held.inside.waiting) == 1);
        let_all_run_that_can();
        assert_int_equal(atomic_load(&visitors.visits), 0);
        od_queue_resume(held.target);
        end_queue(queue);
        assert_int_equal(atomic_load(&visitors.visits), 50);
        od_queue_release(held.target);
    }
}

static struct {
    atomic_bool ends;
    atomic_size_t suspended; /* the round that it is suspended in, or 0 */
    atomic_ullong ran, late;
    od_queue *queue;
} flow;

static void notice(void *round)
{
    if (round != NULL && atomic_load(&flow.suspended) == (size_t)(uintptr_t)round)
        atomic_fetch_add(&flow.late, 1);
    atomic_fetch_add(&flow.ran, 1);
}

static void *keep_submitting(void *unused)
{
    while (!atomic_load(&flow.ends)) {
        add(flow.queue, notice, NULL);
        if (od_queue_pending(flow.queue) > 2000)
            sched_yield(); /* the workers come too */
        odi_spin_pause();
    }
    return unused;
}

QUEUE_TEST(what_is_submitted_after_a_targets_suspension_waits)
{
    od_queue *target, *mid;
    pthread_t submitter;

    for (int depth = 1; depth <= 2; depth++) {
        target = queue_of(1);
        mid = queue_on(target, 1, "between");
        flow.queue = queue_on(depth == 1 ? target : mid, 1, "on it");
        atomic_store(&flow.ends, false);
        atomic_store(&flow.late, 0);
        assert_int_equal(pthread_create(&submitter, NULL, keep_submitting, NULL), 0);
        for (size_t round = 1; round <= UNLESS_SANITIZED(2000, 400); round++) {
            od_queue_suspend(target);
            atomic_store(&flow.suspended, round);
            add(flow.queue, notice, (void *)(uintptr_t)round);
            for (int look = 0; look < 200; look++)
                odi_spin_pause();
            atomic_store(&flow.suspended, 0);
            od_queue_resume(target);
        }
        atomic_store(&flow.ends, true);
        pthread_join(submitter, NULL);
        end_queue(flow.queue);
        assert_int_equal(atomic_load(&flow.late), 0);
        release_queues(mid, target);
    }
}

/* ---- the same, with the drainer held where it has looked and not yet taken ---- */

static atomic_bool is_suspended;
static atomic_int suspends; /* the thread */

static void *suspend_and_say_so(void *target)
{
    atomic_store(&suspends, odi_thread_id());
    od_queue_suspend(target);
    atomic_store(&is_suspended, true);
    return NULL;
}

/* The calling thread holds the inbox's lock. */
static void submit_within(od_queue *queue, void (*function)(void *), void *context)
{
    odi_record *record = odi_queue_find_record(queue, NULL, OD_BAND_DEFAULT, NULL);
    odi_entry labelled;

    assert_true(add_to_counts(record));
    assert_true(odi_record_label(record, odi_job_plain(function, context, 0), &labelled));
    assert_true(odi_inbox_push(&queue->inbox, labelled, NULL));
}

/* It sleeps for the inbox's lock: whoever suspends the target waits until it has taken. */
QUEUE_TEST(a_drainer_looks_at_its_target_and_takes_in_one)
{
    od_queue *target = queue_of(1), *queue = queue_on(target, 1, "on it");
    odi_atomic(uint16_t) *mark = &queue->inbox.lock.mark;
    atomic_ullong ran = 0;
    gate door = {0};
    pthread_t suspender;

    hold_a_job(queue, &door);
    odi_lock_acquire(&queue->inbox.lock);
    odi_store_relaxed(&queue->inbox.waiting, 1); /* relaxed: a hint, which makes it look */
    gate_open(&door);
    assert_comes_true(odi_load_relaxed(mark) != 0); /* relaxed: nothing follows from it */
    pthread_create(&suspender, NULL, suspend_and_say_so, target);
    /* It is through, or sleeps for the target's lock: for good, and not for one that a busy machine holds up. */
    for (int asleep = 0; asleep < 50 && !atomic_load(&is_suspended); odi_clock_sleep(ODI_MILLISECOND)) {
        int id = atomic_load(&suspends);

        asleep = id != 0 && odi_thread_sleeps(id) == 1 ? asleep + 1 : 0;
    }
    bool suspended_before = atomic_load(&is_suspended);
    submit_within(queue, count_job, &ran);
    odi_lock_release(&queue->inbox.lock);
    pthread_join(suspender, NULL);
    if (suspended_before) {
        let_all_run_that_can();
        assert_int_equal(atomic_load(&ran), 0);
    }
    od_queue_resume(target);
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 1);
    od_queue_release(target);
}

/* The suspension comes when the two before it have taken its pass. */
QUEUE_TEST(a_drainer_that_comes_up_looks_at_all_its_targets)
{
    od_queue *target = queue_of(1), *mid = queue_on(target, 1, "between"), *queue = queue_on(mid, 1, "on it");
    atomic_ullong ran = 0;

    od_queue_suspend(target);
    add(queue, count_job, &ran);
    odi_lock_acquire(&queue->watch.lock);
    od_queue_resume(target);
    assert_comes_true(odi_load_relaxed(&queue->watch.lock.mark) != 0); /* relaxed: nothing follows from it */
    od_queue_suspend(target);
    odi_lock_release(&queue->watch.lock);
    let_all_run_that_can();
    assert_int_equal(atomic_load(&ran), 0);
    od_queue_resume(target);
    end_queue(queue);
    release_queues(mid, target);
}

static struct {
    atomic_bool begun, may_end;
    atomic_int next;
    int of_target, of_queue;
} between;

static void wait_for_the_others(void *unused)
{
    atomic_store(&between.begun, true);
    while (!atomic_load(&between.may_end))
        odi_clock_sleep(50 * ODI_MICROSECOND);
}

static void take_number(void *number) { *(int *)number = atomic_fetch_add(&between.next, 1); }

QUEUE_TEST(a_job_of_the_target_comes_before_what_was_submitted_after_it)
{
    for (int round = 0; round < 20; round++) {
        od_queue *target = queue_of(1), *mid = queue_on(target, 1, "between");
        od_queue *queue = queue_on(round % 2 ? mid : target, 1, "on it");

        atomic_store(&between.begun, false);
        atomic_store(&between.may_end, false);
        atomic_store(&between.next, 0);
        add(queue, wait_for_the_others, NULL);
        assert_comes_true(atomic_load(&between.begun));
        add(target, take_number, &between.of_target);
        add(queue, take_number, &between.of_queue);
        atomic_store(&between.may_end, true);
        end_queue(queue);
        end_queue(target);
        od_queue_release(mid);
        assert_int_equal(between.of_target, 0);
        assert_int_equal(between.of_queue, 1);
    }
}

static struct {
    od_queue *queue;
    uint32_t places;
    atomic_bool is_held, went_on;
} held_place;

static void hold_places(void *unused)
{
    held_place.places = od_queue_hold(held_place.queue);
    atomic_store(&held_place.is_held, true);
}

static void go_on(void *unused) { atomic_store(&held_place.went_on, true); }

QUEUE_TEST(a_held_place_is_held_of_the_target_too)
{
    for (int round = 0; round < WIDTHS; round++) {
        od_queue *target = queue_of(1), *other = queue_on(target, 1, "other");

        held_place.queue = queue_on(target, widths[round], "holder");
        atomic_store(&held_place.is_held, false);
        atomic_store(&held_place.went_on, false);
        add(held_place.queue, hold_places, NULL);
        assert_comes_true(atomic_load(&held_place.is_held));
        assert_int_equal(held_place.places, widths[round] == OD_UNLIMITED ? 2 : 3);
        add(other, go_on, NULL);
        let_all_run_that_can();
        assert_false(atomic_load(&held_place.went_on));
        od_queue_unhold(held_place.queue, held_place.places);
        assert_comes_true(atomic_load(&held_place.went_on));
        assert_true(od_queue_wait(other, HANG_NS));
        end_queue(held_place.queue);
        release_queues(other, target);
    }
}

static struct {
    atomic_int readers, alone;
    atomic_ullong overlaps, reads, writes;
} rw;

static void read_beside_others(void *unused)
{
    atomic_fetch_add(&rw.readers, 1);
    atomic_fetch_add(&rw.overlaps, atomic_load(&rw.alone) != 0);
    atomic_fetch_add(&rw.reads, 1);
    atomic_fetch_sub(&rw.readers, 1);
}

static void write_alone(void *unused)
{
    atomic_fetch_add(&rw.overlaps, atomic_fetch_add(&rw.alone, 1) != 0);
    atomic_fetch_add(&rw.overlaps, atomic_load(&rw.readers) != 0);
    atomic_fetch_add(&rw.writes, 1);
    atomic_fetch_sub(&rw.alone, 1);
}

QUEUE_TEST(a_barrier_on_the_target_excludes_what_is_on_it)
{
    for (int early = 0; early < 2; early++) {
        od_queue *target = queue_of(OD_UNLIMITED);
        od_scope scope;
        int jobs = UNLESS_SANITIZED(5000, 1000);

        if (early) /* some of it is with the pool already when the first queue comes */
            add_many(target, 100, read_beside_others, NULL);
        od_queue *on_it = queue_on(target, OD_UNLIMITED, "on it"), *serial = queue_on(target, 1, "s");
        atomic_store(&rw.overlaps, 0);
        atomic_store(&rw.reads, 0);
        atomic_store(&rw.writes, 0);
        for (int job = 0; job < jobs; job++) {
            if (job % 20 == 0)
                add_barrier(target, write_alone, NULL);
            else
                add(job % 3 == 0 ? serial : on_it, read_beside_others, NULL);
            if (job % 500 == 0) {
                od_queue_sync_barrier_begin(target, &scope);
                write_alone(NULL);
                od_queue_sync_end(&scope);
            }
        }
        end_queue(on_it);
        wait_for_queues(serial, target);
        assert_int_equal(atomic_load(&rw.overlaps), 0);
        assert_int_equal(atomic_load(&rw.writes), jobs / 20 + jobs / 500);
        release_queues(serial, target);
    }
}

QUEUE_TEST(a_cancel_of_the_target_leaves_what_is_on_it)
{
    od_queue *target = queue_of(1), *on_it = queue_on(target, 1, "on it");

    crowd_begin(&visitors);
    od_queue_suspend(target);
    for (int job = 0; job < 10; job++) {
        add(target, crowd_visit, &visitors);
        add(on_it, crowd_visit, &visitors);
    }
    assert_int_equal(od_queue_pending(target), 10);
    assert_int_equal(od_queue_cancel_all(target), 10);
    assert_int_equal(od_queue_pending(on_it), 10);
    od_queue_resume(target);
    assert_true(od_queue_wait(on_it, HANG_NS));
    assert_int_equal(atomic_load(&visitors.visits), 10);
    od_queue_suspend(target);
    add_many(on_it, 10, crowd_visit, &visitors);
    assert_int_equal(od_queue_cancel_all(on_it), 10);
    od_queue_resume(target);
    add(on_it, crowd_visit, &visitors);
    end_queue(on_it);
    assert_int_equal(atomic_load(&visitors.visits), 11);
    od_queue_release(target);
}

/* ---- turns of a worker ---- */

static struct {
    atomic_ullong ran, before_the_other;
} rounds;

static void another_job(void *unused)
{
    atomic_store(&rounds.before_the_other, atomic_load(&rounds.ran));
}

enum { CHAINED = 20000, SOME_TURNS = 64 * 64 };

/* Found by reading: each queue of the chain multiplied it by 64. A worker looks for what comes
 * from outside once in 61 turns. */
QUEUE_TEST(a_turn_of_a_chain_is_no_longer_than_its_queues)
{
    od_pool *others = pool;

    pool = lone_worker();
    od_queue *target = queue_of(1), *mid = queue_on(target, 1, "mid"), *high = queue_on(mid, 1, "high");
    gate door = {0};

    add(high, gate_job, &door);
    add_many(high, CHAINED, count_job, &rounds.ran);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    od_pool_submit(pool, OD_BAND_DEFAULT, another_job, NULL);
    gate_open(&door);
    assert_comes_true(atomic_load(&rounds.ran) == CHAINED); /* a wait would override bands */
    end_queue(high);
    end_pool(pool, mid, target);
    pool = others;
    assert_in_range(atomic_load(&rounds.before_the_other), 1, SOME_TURNS);
}

GUARDED_PROGRAM
