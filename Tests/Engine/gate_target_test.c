/* gate/target.c: queues on queues: whose order and width holds, what a suspension and a barrier of the target
 * hold back, and how long a turn is. */
#include "Support/crowd.h"
#include "Support/job_count.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

#include <pthread.h>

/* ---- the target's order and width ---- */

SCENE(who_is_on_everybodys_queue_passes_by_its_order_and_its_width,
      "queue t width 1 shared; queue q on t; hold t 1 Door; add q a; wait q; a = 1; open Door; wait t")

SCENE(queues_on_a_serial_queue_run_one_at_a_time,
      "queue t width 1; queue p on t; queue q width 1 on t; queue r width 2 on t; queue s on t; "
      "thread {add p 500 {come; a; go}}; thread {add q 500 {come; a; go}}; thread {add r 500 {come; a; go}}; "
      "thread {add s 500 {come; a; go}}; add t 200 {come; a; go}; join; wait p; wait q; wait r; wait s; wait t; "
      "a = 2200; pool.most = 1")

SCENE(a_targets_width_holds_for_all_that_is_on_it,
      "queue t width 2; queue q on t; queue r on q; thread {add t 1000 {come; a; go}}; "
      "thread {add q 1000 {come; a; go}}; add r 1000 {come; a; go}; join; wait r; wait q; wait t; a = 3000; "
      "pool.most <= 2")

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

SCENE(what_a_serial_target_is_given_by_several_queues_comes_in_order,
      "queue t width 1; queue q width 1 on t; queue r width 1 on t; hold t Door; add q a; add t b; add r c; add t d; "
      "open Door; wait q; wait r; wait t; order abcd")

/* What was urgent is cancelled, and the pass that was sent for its sake comes up for what is not. */
SCENE(a_raise_that_is_over_leaves_a_queue_its_place_in_its_targets_order,
      "queue t width 1; queue q width 1 on t; suspend t; add q x band 1; cancel q 1; add q a; add t b; resume t; "
      "q.pending -> 0; t.pending -> 0; order ab")

SCENE(a_queue_keeps_its_own_order_on_a_concurrent_target,
      "queue t; queue q width 1 on t; add q a; add q b; add q c; add q d; add q e; add q f; add q g; add q h; add q i; "
      "add q j; add q k; add q l; add q m; add q n; add q o; add q p; wait q; order abcdefghijklmnop")

/* ---- suspension, barriers, cancelling ---- */

SCENE(a_suspended_target_holds_what_is_on_it,
      "W in 0 1 2: queue t width W; queue q width 2 on t; queue r width 1 on q; suspend t; add q 50 a; add r 50 a; "
      "settle; a = 0; suspend q; resume t; settle; a = 0; resume q; wait r; wait q; a = 100")

/* The drainer is in the middle of the queue's jobs: it starts no further one. */
SCENE(a_target_suspended_from_a_job_on_it_holds_the_next,
      "7 times W in 0 1 2: queue t width W; queue q width 1 on t; suspend q; add q {suspend t; done}; add q 50 a; "
      "resume q; done -> 1; settle; a = 0; resume t; wait q; a = 50")

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

SCENE(a_job_of_the_target_comes_before_what_was_submitted_after_it,
      "10 times W in t u: queue t width 1; queue u width 1 on t; queue q width 1 on W; hold q Door; add t a; add q b; "
      "open Door; wait q; wait t; order ab")

SCENE(a_held_place_is_held_of_the_target_too,
      "W in 0 1 2: queue t width 1; queue r width 1 on t; queue q width W on t; W=0 add q {keep q 2; kept}; "
      "W!=0 add q {keep q 3; kept}; kept -> 1; add r a; settle; a = 0; W=0 give q 2; W!=0 give q 3; a -> 1")

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

SCENE(a_cancel_of_the_target_leaves_what_is_on_it,
      "queue t width 1; queue q width 1 on t; suspend t; add t 5 a; add q 5 a; add t 5 a; add q 5 a; t.pending = 10; "
      "cancel t 10; q.pending = 10; resume t; wait q; a = 10; suspend t; add q 10 a; cancel q 10; resume t; add q a; "
      "wait q; a = 11")

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
