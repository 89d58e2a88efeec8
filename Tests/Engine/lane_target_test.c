/* lane/target.c: queues on queues. */
#include "Support/lanes.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "job/group.h"

static od_queue *inactive(const char *label)
{
    od_queue_options options = {
        .band = OD_BAND_DEFAULT, .width = 1, .label = label, .inactive = true};
    od_queue *queue = od_queue_create_with(pool, &options);

    if (queue == NULL)
        abort();
    return queue;
}

static const int32_t widths[] = {OD_UNLIMITED, 1, 2};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

/* ---- the target's order and width ---- */

static struct {
    atomic_int inside, most;
    atomic_ullong ran;
} crowd;

static void visit(void *unused)
{
    int inside = atomic_fetch_add(&crowd.inside, 1) + 1, most = atomic_load(&crowd.most);

    (void)unused;
    while (inside > most && !atomic_compare_exchange_weak(&crowd.most, &most, inside)) {
    }
    atomic_fetch_add(&crowd.ran, 1);
    atomic_fetch_sub(&crowd.inside, 1);
}

static void begin_crowd(void)
{
    atomic_store(&crowd.inside, 0);
    atomic_store(&crowd.most, 0);
    atomic_store(&crowd.ran, 0);
}

static void queues_on_a_serial_queue_run_one_at_a_time(void **state)
{
    od_queue *target = queue_of(1), *queues[4];

    (void)state;
    begin_crowd();
    for (int i = 0; i < 4; i++)
        queues[i] = queue_on(target, widths[i % WIDTHS], "on it");
    for (int job = 0; job < 2000; job++) {
        add(queues[job % 4], visit, NULL);
        if (job % 10 == 0)
            add(target, visit, NULL);
    }
    for (int i = 0; i < 4; i++) {
        assert_true(od_queue_wait(queues[i], HANG_NS));
        od_queue_release(queues[i]);
    }
    assert_true(od_queue_wait(target, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 2200);
    assert_int_equal(atomic_load(&crowd.most), 1);
    od_queue_release(target);
}

static void a_targets_width_holds_for_all_that_is_on_it(void **state)
{
    od_queue *target = queue_of(2), *mid = queue_on(target, OD_UNLIMITED, "mid");
    od_queue *high = queue_on(mid, OD_UNLIMITED, "high");

    (void)state;
    begin_crowd();
    for (int job = 0; job < 3000; job++)
        add(job % 3 == 0 ? target : job % 3 == 1 ? mid : high, visit, NULL);
    assert_true(od_queue_wait(high, HANG_NS));
    assert_true(od_queue_wait(mid, HANG_NS));
    assert_true(od_queue_wait(target, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 3000);
    assert_in_range(atomic_load(&crowd.most), 1, 2);
    od_queue_release(high);
    od_queue_release(mid);
    od_queue_release(target);
}

static struct {
    int noted[16], count;
} order;

static void note(void *raw)
{
    order.noted[order.count++] = (int)(intptr_t)raw;
}

static void what_a_serial_target_is_given_by_several_queues_comes_in_order(void **state)
{
    od_queue *target = queue_of(1);
    od_queue *first = queue_on(target, 1, "first"), *second = queue_on(target, 1, "second");
    gate door = {0};

    (void)state;
    order.count = 0;
    add(target, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    add(first, note, (void *)1);
    add(target, note, (void *)2);
    add(second, note, (void *)3);
    add(target, note, (void *)4);
    gate_open(&door);
    assert_true(od_queue_wait(first, HANG_NS));
    assert_true(od_queue_wait(second, HANG_NS));
    assert_true(od_queue_wait(target, HANG_NS));
    assert_int_equal(order.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(order.noted[i], i + 1);
    od_queue_release(first);
    od_queue_release(second);
    od_queue_release(target);
}

/* What was urgent is cancelled, and the pass that was sent for its sake comes up for what is not. */
static void a_raise_that_is_over_leaves_a_queue_its_place_in_its_targets_order(void **state)
{
    od_queue *target = queue_of(1), *queue = queue_on(target, 1, "on it");

    (void)state;
    order.count = 0;
    od_queue_suspend(target);
    add(queue, note, (void *)0);
    od_queue_async(queue, NULL, OD_BAND_USER_INITIATED, note, (void *)0);
    assert_int_equal(od_queue_cancel_all(queue), 2);
    add(queue, note, (void *)1);
    add(queue, note, (void *)2);
    add(target, note, (void *)3);
    od_queue_resume(target);
    /* Who waits for the queue would lend it a band. */
    assert_comes_true(od_queue_pending(queue) == 0 && od_queue_pending(target) == 0);
    assert_int_equal(order.count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(order.noted[i], i + 1);
    od_queue_release(queue);
    od_queue_release(target);
}

static void a_queue_keeps_its_own_order_on_a_concurrent_target(void **state)
{
    od_queue *target = queue_of(OD_UNLIMITED), *serial = queue_on(target, 1, "serial");

    (void)state;
    order.count = 0;
    for (intptr_t i = 0; i < 16; i++)
        add(serial, note, (void *)i);
    assert_true(od_queue_wait(serial, HANG_NS));
    for (int i = 0; i < 16; i++)
        assert_int_equal(order.noted[i], i);
    od_queue_release(serial);
    od_queue_release(target);
}

/* ---- suspension, barriers, cancelling ---- */

static void a_suspended_target_holds_what_is_on_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *target = queue_of(widths[i]), *mid = queue_on(target, 2, "mid");
        od_queue *high = queue_on(mid, 1, "high");

        begin_crowd();
        od_queue_suspend(target);
        for (int job = 0; job < 100; job++)
            add(job % 2 ? mid : high, visit, NULL);
        odi_clock_sleep(MILLISECONDS(2));
        assert_int_equal(atomic_load(&crowd.ran), 0);
        od_queue_suspend(mid);
        od_queue_resume(target);
        odi_clock_sleep(MILLISECONDS(2));
        assert_int_equal(atomic_load(&crowd.ran), 0);
        od_queue_resume(mid);
        assert_true(od_queue_wait(high, HANG_NS));
        assert_true(od_queue_wait(mid, HANG_NS));
        assert_int_equal(atomic_load(&crowd.ran), 100);
        od_queue_release(high);
        od_queue_release(mid);
        od_queue_release(target);
    }
}

static struct {
    od_queue *target;
    gate inside;
} held;

static void suspend_the_target(void *unused)
{
    (void)unused;
    od_queue_suspend(held.target);
    atomic_store(&held.inside.waiting, 1);
}

/* The drainer is in the middle of the queue's jobs: it starts no further one. */
static void a_target_suspended_from_a_job_on_it_holds_the_next(void **state)
{
    od_queue *queue;

    (void)state;
    for (int round = 0; round < 20; round++) {
        held.target = queue_of(widths[(size_t)round % WIDTHS]);
        atomic_store(&held.inside.waiting, 0);
        queue = queue_on(held.target, 1, "on it");
        begin_crowd();
        od_queue_suspend(queue);
        add(queue, suspend_the_target, NULL);
        for (int job = 0; job < 50; job++)
            add(queue, visit, NULL);
        od_queue_resume(queue);
        assert_comes_true(atomic_load(&held.inside.waiting) == 1);
        odi_clock_sleep(200 * ODI_MICROSECOND);
        assert_int_equal(atomic_load(&crowd.ran), 0);
        od_queue_resume(held.target);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&crowd.ran), 50);
        od_queue_release(queue);
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
        odi_spin_pause();
    }
    return unused;
}

static void what_is_submitted_after_a_targets_suspension_waits(void **state)
{
    od_queue *target, *mid;
    pthread_t submitter;

    (void)state;
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
        assert_true(od_queue_wait(flow.queue, HANG_NS));
        assert_int_equal(atomic_load(&flow.late), 0);
        od_queue_release(flow.queue);
        od_queue_release(mid);
        od_queue_release(target);
    }
}

/* ---- the same, with the drainer held where it has looked and not yet taken ---- */

static atomic_bool is_suspended;

static void *suspend_and_say_so(void *target)
{
    od_queue_suspend(target);
    atomic_store(&is_suspended, true);
    return NULL;
}

/* The calling thread holds the inbox's lock. */
static void submit_within(od_queue *queue, void (*function)(void *), void *context)
{
    odi_record *record = odi_queue_find_record(queue, NULL, OD_BAND_DEFAULT);
    odi_entry labelled;

    assert_true(odi_record_add(record));
    assert_true(odi_record_label(record, odi_job_plain(function, context, 0), &labelled));
    assert_true(odi_inbox_push(&queue->inbox, labelled));
}

/* It sleeps for the inbox's lock: whoever suspends the target waits until it has taken. */
static void a_drainer_looks_at_its_target_and_takes_in_one(void **state)
{
    od_queue *target = queue_of(1), *queue = queue_on(target, 1, "on it");
    odi_atomic(uint32_t) *word = &queue->inbox.lock.word;
    atomic_ullong ran = 0;
    gate door = {0};
    pthread_t suspender;

    (void)state;
    atomic_store(&is_suspended, false);
    add(queue, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    odi_lock_acquire(&queue->inbox.lock);
    odi_store_relaxed(&queue->inbox.waiting, 1); /* relaxed: a hint, which makes it look */
    gate_open(&door);
    assert_comes_true(odi_load_relaxed(word) == ODI_LOCK_AWAITED); /* relaxed: nothing follows from it */
    pthread_create(&suspender, NULL, suspend_and_say_so, target);
    for (int look = 0; look < 100 && !atomic_load(&is_suspended); look++)
        odi_clock_sleep(ODI_MILLISECOND);
    bool suspended_before = atomic_load(&is_suspended);
    submit_within(queue, count_job, &ran);
    odi_lock_release(&queue->inbox.lock);
    pthread_join(suspender, NULL);
    if (suspended_before) {
        odi_clock_sleep(20 * ODI_MILLISECOND);
        assert_int_equal(atomic_load(&ran), 0);
    }
    od_queue_resume(target);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&ran), 1);
    od_queue_release(queue);
    od_queue_release(target);
}

static struct {
    atomic_bool begun, may_end;
    atomic_int next;
    int of_target, of_queue;
} between;

static void wait_for_the_others(void *unused)
{
    (void)unused;
    atomic_store(&between.begun, true);
    while (!atomic_load(&between.may_end))
        odi_clock_sleep(50 * ODI_MICROSECOND);
}

static void take_number(void *number)
{
    *(int *)number = atomic_fetch_add(&between.next, 1);
}

static void a_job_of_the_target_comes_before_what_was_submitted_after_it(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        od_queue *target = queue_of(1), *queue = queue_on(target, 1, "on it");

        atomic_store(&between.begun, false);
        atomic_store(&between.may_end, false);
        atomic_store(&between.next, 0);
        add(queue, wait_for_the_others, NULL);
        assert_comes_true(atomic_load(&between.begun));
        add(target, take_number, &between.of_target);
        add(queue, take_number, &between.of_queue);
        atomic_store(&between.may_end, true);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_true(od_queue_wait(target, HANG_NS));
        assert_int_equal(between.of_target, 0);
        assert_int_equal(between.of_queue, 1);
        od_queue_release(queue);
        od_queue_release(target);
    }
}

static struct {
    od_queue *queue;
    uint32_t places;
    atomic_bool is_held, went_on;
} held_place;

static void hold_places(void *unused)
{
    (void)unused;
    held_place.places = od_queue_hold(held_place.queue);
    atomic_store(&held_place.is_held, true);
}

static void go_on(void *unused)
{
    (void)unused;
    atomic_store(&held_place.went_on, true);
}

static void a_held_place_is_held_of_the_target_too(void **state)
{
    (void)state;
    for (int round = 0; round < WIDTHS; round++) {
        od_queue *target = queue_of(1), *other = queue_on(target, 1, "other");

        held_place.queue = queue_on(target, widths[round], "holder");
        atomic_store(&held_place.is_held, false);
        atomic_store(&held_place.went_on, false);
        add(held_place.queue, hold_places, NULL);
        assert_comes_true(atomic_load(&held_place.is_held));
        assert_int_equal(held_place.places, widths[round] == OD_UNLIMITED ? 2 : 3);
        add(other, go_on, NULL);
        odi_clock_sleep(2 * ODI_MILLISECOND);
        assert_false(atomic_load(&held_place.went_on));
        od_queue_unhold(held_place.queue, held_place.places);
        assert_comes_true(atomic_load(&held_place.went_on));
        assert_true(od_queue_wait(other, HANG_NS));
        assert_true(od_queue_wait(held_place.queue, HANG_NS));
        od_queue_release(held_place.queue);
        od_queue_release(other);
        od_queue_release(target);
    }
}

static struct {
    atomic_int readers, alone;
    atomic_ullong overlaps, reads, writes;
} rw;

static void read_beside_others(void *unused)
{
    (void)unused;
    atomic_fetch_add(&rw.readers, 1);
    atomic_fetch_add(&rw.overlaps, atomic_load(&rw.alone) != 0);
    atomic_fetch_add(&rw.reads, 1);
    atomic_fetch_sub(&rw.readers, 1);
}

static void write_alone(void *unused)
{
    (void)unused;
    atomic_fetch_add(&rw.overlaps, atomic_fetch_add(&rw.alone, 1) != 0);
    atomic_fetch_add(&rw.overlaps, atomic_load(&rw.readers) != 0);
    atomic_fetch_add(&rw.writes, 1);
    atomic_fetch_sub(&rw.alone, 1);
}

static void a_barrier_on_the_target_excludes_what_is_on_it(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        od_queue *target = queue_of(OD_UNLIMITED);
        od_stay stay;
        int jobs = UNLESS_SANITIZED(5000, 1000);

        if (early) /* some of it is with the pool already when the first queue comes */
            for (int job = 0; job < 100; job++)
                add(target, read_beside_others, NULL);
        od_queue *on_it = queue_on(target, OD_UNLIMITED, "on it"), *serial = queue_on(target, 1, "s");
        atomic_store(&rw.overlaps, 0);
        atomic_store(&rw.reads, 0);
        atomic_store(&rw.writes, 0);
        for (int job = 0; job < jobs; job++) {
            if (job % 20 == 0)
                od_queue_async_with(target, NULL, OD_QUEUE_BAND, OD_BARRIER, write_alone, NULL);
            else
                add(job % 3 == 0 ? serial : on_it, read_beside_others, NULL);
            if (job % 500 == 0) {
                od_queue_sync_barrier_begin(target, &stay);
                write_alone(NULL);
                od_queue_sync_end(&stay);
            }
        }
        assert_true(od_queue_wait(on_it, HANG_NS));
        assert_true(od_queue_wait(serial, HANG_NS));
        assert_true(od_queue_wait(target, HANG_NS));
        assert_int_equal(atomic_load(&rw.overlaps), 0);
        assert_int_equal(atomic_load(&rw.writes), jobs / 20 + jobs / 500);
        od_queue_release(on_it);
        od_queue_release(serial);
        od_queue_release(target);
    }
}

static void a_cancel_of_the_target_leaves_what_is_on_it(void **state)
{
    od_queue *target = queue_of(1), *on_it = queue_on(target, 1, "on it");

    (void)state;
    begin_crowd();
    od_queue_suspend(target);
    for (int job = 0; job < 10; job++) {
        add(target, visit, NULL);
        add(on_it, visit, NULL);
    }
    assert_int_equal(od_queue_pending(target), 10);
    assert_int_equal(od_queue_cancel_all(target), 10);
    assert_int_equal(od_queue_pending(on_it), 10);
    od_queue_resume(target);
    assert_true(od_queue_wait(on_it, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 10);
    od_queue_suspend(target);
    for (int job = 0; job < 10; job++)
        add(on_it, visit, NULL);
    assert_int_equal(od_queue_cancel_all(on_it), 10);
    od_queue_resume(target);
    add(on_it, visit, NULL);
    assert_true(od_queue_wait(on_it, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 11);
    od_queue_release(on_it);
    od_queue_release(target);
}

/* ---- sync, and where one is ---- */

static struct {
    od_queue *target, *mid, *high;
    int wrong;
} chain;

static void look_around(void *unused)
{
    (void)unused;
    chain.wrong += od_queue_of_thread(0) != chain.high;
    chain.wrong += !od_queue_is_current(chain.high) || !od_queue_is_current(chain.mid) ||
                   !od_queue_is_current(chain.target);
}

static void look_around_mid(void *unused)
{
    (void)unused;
    chain.wrong += od_queue_is_current(chain.high) || !od_queue_is_current(chain.mid) ||
                   !od_queue_is_current(chain.target);
}

static void a_job_is_on_all_targets_of_its_queue(void **state)
{
    od_stay stay;

    (void)state;
    for (size_t i = 0; i < WIDTHS; i++) {
        chain.target = queue_of(widths[i]);
        chain.mid = queue_on(chain.target, widths[(i + 1) % WIDTHS], "mid");
        chain.high = queue_on(chain.mid, widths[(i + 2) % WIDTHS], "high");
        chain.wrong = 0;
        add(chain.high, look_around, NULL);
        assert_true(od_queue_wait(chain.high, HANG_NS));
        add(chain.mid, look_around_mid, NULL);
        assert_true(od_queue_wait(chain.mid, HANG_NS));
        od_queue_sync_begin(chain.high, &stay);
        look_around(NULL);
        od_queue_sync_end(&stay);
        od_queue_sync_barrier_begin(chain.mid, &stay);
        look_around_mid(NULL);
        od_queue_sync_end(&stay);
        assert_false(od_queue_is_current(chain.target));
        assert_int_equal(chain.wrong, 0);
        od_queue_release(chain.high);
        od_queue_release(chain.mid);
        od_queue_release(chain.target);
    }
}

static void *sync_again_and_again(void *queue)
{
    od_stay stay;

    for (int round = 0; round < UNLESS_SANITIZED(500, 60); round++) {
        od_queue_sync_begin(queue, &stay);
        visit(NULL);
        od_queue_sync_end(&stay);
        add(queue, visit, NULL);
    }
    return NULL;
}

static void sync_callers_take_turns_through_the_chain(void **state)
{
    od_queue *target = queue_of(1), *mid = queue_on(target, OD_UNLIMITED, "mid");
    od_queue *queues[3] = {target, mid, queue_on(mid, 1, "high")};
    pthread_t threads[6];

    (void)state;
    begin_crowd();
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, sync_again_and_again, queues[i % 3]);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    for (int i = 2; i >= 0; i--) {
        assert_true(od_queue_wait(queues[i], HANG_NS));
        od_queue_release(queues[i]);
    }
    assert_int_equal(atomic_load(&crowd.ran), 6 * 2 * UNLESS_SANITIZED(500, 60));
    assert_int_equal(atomic_load(&crowd.most), 1);
}

static struct {
    od_queue *queue;
    atomic_int inside;
} caller;

static void *sync_and_say_so(void *unused)
{
    od_stay stay;

    od_queue_sync_begin(caller.queue, &stay);
    atomic_store(&caller.inside, 1);
    od_queue_sync_end(&stay);
    return unused;
}

static uint32_t waiting_in(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    uint32_t waiting = odi_lane_waiting(queue);
    odi_lock_release(&queue->watch.lock);
    return waiting;
}

/* The chain's upper queues are free: it is the target's turn that is waited for. */
static void a_sync_caller_waits_for_what_runs_on_the_target(void **state)
{
    od_queue *target = queue_of(1), *mid = queue_on(target, OD_UNLIMITED, "mid");
    gate door = {0};
    pthread_t thread;

    (void)state;
    caller.queue = queue_on(mid, 1, "high");
    atomic_store(&caller.inside, 0);
    add(target, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    pthread_create(&thread, NULL, sync_and_say_so, NULL);
    assert_comes_true(waiting_in(target) == 1 || atomic_load(&caller.inside) == 1);
    int inside = atomic_load(&caller.inside);
    gate_open(&door);
    pthread_join(thread, NULL);
    assert_int_equal(inside, 0);
    assert_int_equal(atomic_load(&caller.inside), 1);
    od_queue_release(caller.queue);
    od_queue_release(mid);
    od_queue_release(target);
}

static void sync_onto_a_queue_on_this_one(void *unused)
{
    od_stay stay;

    (void)unused;
    od_queue_sync_begin(chain.high, &stay);
}

static void sync_from_the_target(void *unused)
{
    od_queue *target = queue_of(1);

    (void)unused;
    chain.high = queue_on(queue_on(target, OD_UNLIMITED, "mid"), 1, "high");
    add(target, sync_onto_a_queue_on_this_one, NULL);
    odi_clock_sleep(HANG_NS);
}

static void sync_from_a_sibling(void *unused)
{
    od_queue *target = queue_of(1);
    od_stay first, second;

    (void)unused;
    chain.high = queue_on(target, 1, "high");
    od_queue_sync_begin(queue_on(target, 1, "sibling"), &first);
    od_queue_sync_barrier_begin(chain.high, &second);
}

static void sync_onto_the_own_target(void *unused)
{
    od_stay first, second;
    od_queue *target = queue_of(1);

    (void)unused;
    od_queue_sync_begin(queue_on(target, 1, "high"), &first);
    od_queue_sync_begin(target, &second);
}

static void sync_from_the_targets_barrier(void *unused)
{
    od_stay first, second;
    od_queue *target = queue_of(OD_UNLIMITED);

    (void)unused;
    od_queue_sync_barrier_begin(target, &first);
    od_queue_sync_begin(queue_on(target, 1, "high"), &second);
}

static void a_sync_that_would_wait_for_itself_traps_by_name(void **state)
{
    (void)state;
    assert_child_traps(sync_from_the_targets_barrier, NULL,
                       "TaskQueue.sync on \"high\" from a barrier of \"test\", the queue");
    assert_child_traps(sync_from_the_target, NULL,
                       "TaskQueue.sync on \"high\" from a closure of \"test\", the queue");
    assert_child_traps(sync_from_a_sibling, NULL,
                       "TaskQueue.sync on \"high\" from a closure of \"test\", the queue");
    assert_child_traps(sync_onto_the_own_target, NULL,
                       "TaskQueue.sync on the serial queue \"test\" from one of its own closures");
}

static void sync_within(void *unused)
{
    od_stay stay;

    (void)unused;
    od_queue_sync_begin(chain.high, &stay);
    atomic_fetch_add(&crowd.ran, 1);
    od_queue_sync_end(&stay);
}

static void a_closure_of_a_concurrent_target_may_sync_onto_a_queue_on_it(void **state)
{
    chain.target = queue_of(OD_UNLIMITED);
    chain.high = queue_on(chain.target, 1, "high");

    (void)state;
    begin_crowd();
    for (int job = 0; job < 20; job++) { /* fewer than there are spare workers: each may wait */
        add(chain.target, sync_within, NULL);
        add(chain.high, visit, NULL);
    }
    assert_true(od_queue_wait(chain.target, HANG_NS));
    assert_true(od_queue_wait(chain.high, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 40);
    od_queue_release(chain.high);
    od_queue_release(chain.target);
}

static void fill_beyond_the_limit(void *unused)
{
    (void)unused;
    for (int job = 0; job < 20; job++)
        add(chain.high, visit, NULL);
}

/* Each of the target's places may be held by one who would wait for room. */
static void a_full_queue_lets_in_who_is_on_its_target(void **state)
{
    (void)state;
    for (int32_t width = 1; width <= 2; width++) {
        chain.target = queue_of(width);
        od_queue_options options = {.band = OD_BAND_DEFAULT, .width = 1, .label = "limited",
                                    .pending_limit = 2, .target = chain.target};
        chain.high = od_queue_create_with(pool, &options);
        assert_non_null(chain.high);
        begin_crowd();
        for (int job = 0; job < 4; job++)
            add(chain.target, fill_beyond_the_limit, NULL);
        assert_true(od_queue_wait(chain.target, HANG_NS));
        assert_true(od_queue_wait(chain.high, HANG_NS));
        assert_int_equal(atomic_load(&crowd.ran), 80);
        assert_int_equal(atomic_load(&crowd.most), 1);
        od_queue_release(chain.high);
        od_queue_release(chain.target);
    }
}

/* ---- setting a target ---- */

static void an_inactive_queue_changes_its_target(void **state)
{
    od_queue *first = queue_of(1), *second = queue_of(1), *queue = inactive("moving");

    (void)state;
    begin_crowd();
    od_queue_set_target(queue, first);
    add(queue, visit, NULL);
    od_queue_set_target(queue, second);
    od_queue_suspend(first); /* has nothing to do with it any more */
    od_queue_activate(queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&crowd.ran), 1);
    od_queue_release(first);
    od_queue_release(queue);
    od_queue_release(second);

    queue = inactive("free");
    first = queue_of(1);
    od_queue_set_target(queue, first);
    od_queue_set_target(queue, NULL);
    od_queue_suspend(first);
    od_queue_activate(queue);
    add(queue, visit, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_queue_release(queue);
    od_queue_release(first);
}

static void set_a_target_late(void *unused)
{
    (void)unused;
    od_queue_set_target(queue_of(1), queue_of(1));
}

static void close_a_circle(void *unused)
{
    od_queue *a = inactive("a"), *b = inactive("b"), *c = inactive("c");

    (void)unused;
    od_queue_set_target(a, b);
    od_queue_set_target(b, c);
    od_queue_set_target(c, a);
}

static void be_ones_own_target(void *unused)
{
    od_queue *a = inactive("a");

    (void)unused;
    od_queue_set_target(a, a);
}

static void circles_and_late_targets_trap_by_name(void **state)
{
    (void)state;
    assert_child_traps(set_a_target_late, NULL, "TaskQueue.setTarget of \"test\", which is active");
    assert_child_traps(close_a_circle, NULL,
                       "TaskQueue.setTarget of \"c\" would put it on itself: \"c\" -> \"a\" -> \"b\" -> \"c\"");
    assert_child_traps(be_ones_own_target, NULL,
                       "TaskQueue.setTarget of \"a\" would put it on itself: \"a\" -> \"a\"");
}

static void a_shared_target_gives_no_order_but_is_around(void **state)
{
    od_queue_options options = {.band = OD_BAND_DEFAULT, .label = "everybody's", .shared = true};

    (void)state;
    chain.target = od_queue_create_with(pool, &options);
    chain.mid = queue_on(chain.target, 2, "mid");
    chain.high = queue_on(chain.mid, 1, "high");
    chain.wrong = 0;
    add(chain.high, look_around, NULL);
    assert_true(od_queue_wait(chain.high, HANG_NS));
    assert_int_equal(chain.wrong, 0);
    od_queue_release(chain.high);
    od_queue_release(chain.mid);
    od_queue_release(chain.target);
}

/* ---- lives, memory, ends ---- */

static void a_target_lives_as_long_as_what_is_on_it(void **state)
{
    (void)state;
    for (int round = 0; round < UNLESS_SANITIZED(300, 50); round++) {
        od_queue *target = queue_of(widths[(size_t)round % WIDTHS]);
        od_queue *mid = queue_on(target, 1, "mid"), *high = queue_on(mid, OD_UNLIMITED, "high");

        begin_crowd();
        for (int job = 0; job < 20; job++)
            add(high, visit, NULL);
        od_queue_release(target);
        od_queue_release(mid);
        add(high, visit, NULL);
        od_queue_release(high);
        assert_comes_true(atomic_load(&crowd.ran) == 21);
    }
}

/* Whether its memory serves another queue. */
static bool is_over(od_queue *queue)
{
    od_queue *next = queue_of(2);

    od_queue_release(next);
    return next == queue;
}

/* A lane that nobody has entered ends no drainer that could end the queue's life. */
static void a_target_is_over_with_queues_that_never_ran_anything(void **state)
{
    (void)state;
    for (size_t i = 0; i < WIDTHS; i++) {
        od_queue *target = queue_of(widths[i]), *unused = queue_on(target, widths[i], "unused");
        od_queue *idle = inactive("never active"), *moved = inactive("moved");

        od_queue_set_target(idle, target);
        od_queue_set_target(moved, target);
        od_queue_set_target(moved, NULL);
        od_queue_release(target);
        assert_false(is_over(target));
        od_queue_release(unused);
        assert_false(is_over(target));
        od_queue_release(idle);
        assert_true(is_over(target));
        od_queue_release(moved);
    }
}

static void a_stop_cancels_what_a_suspended_target_holds(void **state)
{
    od_pool *mine = pool, *other = pool_of(2);
    od_stop_report report;

    (void)state;
    pool = other;
    od_queue *target = queue_of(1), *high = queue_on(queue_on(target, 1, "mid"), 1, "high");
    pool = mine;
    begin_crowd();
    od_queue_suspend(target);
    for (int job = 0; job < 5; job++)
        add(high, visit, NULL);
    assert_int_equal(od_pool_stop(other, HANG_NS, &report), OD_OK);
    assert_report(&report, 0, 5, 0);
    od_queue_resume(target);
    od_queue_release(high);
    od_queue_release(target);
    assert_int_equal(od_pool_free(other), OD_OK);
}

static atomic_bool toggling;

static void *toggle(void *raw)
{
    prng random = prng_for(5, 5);

    while (atomic_load(&toggling)) {
        od_queue *queue = ((od_queue **)raw)[prng_below(&random, 4)];

        od_queue_suspend(queue);
        if (prng_one_in(&random, 2))
            sched_yield();
        od_queue_resume(queue);
    }
    return NULL;
}

static atomic_ullong submitted;

static void *submit_everywhere(void *raw)
{
    prng random = prng_for(6, (uint64_t)(uintptr_t)pthread_self());
    od_stay stay;

    for (int i = 0; i < UNLESS_SANITIZED(4000, 400); i++) {
        od_queue *queue = ((od_queue **)raw)[prng_below(&random, 4)];

        if (prng_one_in(&random, 20)) {
            od_queue_sync_begin(queue, &stay);
            visit(NULL);
            od_queue_sync_end(&stay);
        } else if (prng_one_in(&random, 20))
            od_queue_async_with(queue, NULL, OD_QUEUE_BAND, OD_BARRIER, visit, NULL);
        else
            add(queue, visit, NULL);
        atomic_fetch_add(&submitted, 1);
    }
    return NULL;
}

/* The ledger of a tree: what is submitted anywhere in it runs once, one at a time, or is counted
 * by a cancel. */
static void everything_at_once_on_a_tree_of_queues(void **state)
{
    od_queue *queues[4];
    pthread_t threads[3], toggler;
    uint64_t cancelled = 0;

    (void)state;
    begin_crowd();
    queues[0] = queue_of(1);
    queues[1] = queue_on(queues[0], OD_UNLIMITED, "a");
    queues[2] = queue_on(queues[1], 1, "aa");
    queues[3] = queue_on(queues[1], 2, "ab");
    atomic_store(&submitted, 0);
    atomic_store(&toggling, true);
    pthread_create(&toggler, NULL, toggle, queues);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, submit_everywhere, queues);
    for (int i = 0; i < 40; i++) {
        cancelled += od_queue_cancel_all(queues[i % 4]);
        sched_yield();
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&toggling, false);
    pthread_join(toggler, NULL);
    for (int i = 3; i >= 0; i--) {
        assert_true(od_queue_wait(queues[i], HANG_NS));
        od_queue_release(queues[i]);
    }
    assert_int_equal(atomic_load(&crowd.ran) + cancelled, atomic_load(&submitted));
    assert_int_equal(atomic_load(&crowd.most), 1);
}

/* ---- turns of a worker ---- */

static struct {
    atomic_ullong ran, before_the_other;
} turns;

static void another_job(void *unused)
{
    (void)unused;
    atomic_store(&turns.before_the_other, atomic_load(&turns.ran));
}

enum { CHAINED = 20000, SOME_TURNS = 64 * 64 };

/* Found by reading: each queue of the chain multiplied it by 64. A worker looks for what comes
 * from outside once in 61 turns. */
static void a_turn_of_a_chain_is_no_longer_than_its_queues(void **state)
{
    od_pool *others = pool;

    (void)state;
    pool = lone_worker();
    od_queue *target = queue_of(1), *mid = queue_on(target, 1, "mid"), *high = queue_on(mid, 1, "high");
    gate door = {0};

    atomic_store(&turns.ran, 0);
    add(high, gate_job, &door);
    for (int job = 0; job < CHAINED; job++)
        add(high, count_job, &turns.ran);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    od_pool_submit(pool, OD_BAND_DEFAULT, another_job, NULL);
    gate_open(&door);
    assert_comes_true(atomic_load(&turns.ran) == CHAINED); /* a wait would lend its band */
    assert_true(od_queue_wait(high, HANG_NS));
    od_queue_release(high);
    od_queue_release(mid);
    od_queue_release(target);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pool = others;
    assert_in_range(atomic_load(&turns.before_the_other), 1, SOME_TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LANE_TEST(queues_on_a_serial_queue_run_one_at_a_time),
        LANE_TEST(a_targets_width_holds_for_all_that_is_on_it),
        LANE_TEST(what_a_serial_target_is_given_by_several_queues_comes_in_order),
        LANE_TEST(a_raise_that_is_over_leaves_a_queue_its_place_in_its_targets_order),
        LANE_TEST(a_queue_keeps_its_own_order_on_a_concurrent_target),
        LANE_TEST(a_suspended_target_holds_what_is_on_it),
        LANE_TEST(a_target_suspended_from_a_job_on_it_holds_the_next),
        LANE_TEST(what_is_submitted_after_a_targets_suspension_waits),
        LANE_TEST(a_drainer_looks_at_its_target_and_takes_in_one),
        LANE_TEST(a_job_of_the_target_comes_before_what_was_submitted_after_it),
        LANE_TEST(a_held_place_is_held_of_the_target_too),
        LANE_TEST(a_barrier_on_the_target_excludes_what_is_on_it),
        LANE_TEST(a_cancel_of_the_target_leaves_what_is_on_it),
        LANE_TEST(a_job_is_on_all_targets_of_its_queue),
        LANE_TEST(sync_callers_take_turns_through_the_chain),
        LANE_TEST(a_sync_caller_waits_for_what_runs_on_the_target),
        LANE_TEST(a_sync_that_would_wait_for_itself_traps_by_name),
        LANE_TEST(a_closure_of_a_concurrent_target_may_sync_onto_a_queue_on_it),
        LANE_TEST(a_full_queue_lets_in_who_is_on_its_target),
        LANE_TEST(an_inactive_queue_changes_its_target),
        LANE_TEST(circles_and_late_targets_trap_by_name),
        LANE_TEST(a_shared_target_gives_no_order_but_is_around),
        LANE_TEST(a_target_lives_as_long_as_what_is_on_it),
        LANE_TEST(a_target_is_over_with_queues_that_never_ran_anything),
        LANE_TEST(a_stop_cancels_what_a_suspended_target_holds),
        LANE_TEST(a_turn_of_a_chain_is_no_longer_than_its_queues),
        LANE_TEST(everything_at_once_on_a_tree_of_queues),
    };
    return run_guarded(tests);
}

CHILDREN_MAY_START_THREADS
