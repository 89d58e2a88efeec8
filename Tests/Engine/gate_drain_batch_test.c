/* gate/: what a queue's drainers have in hand, and what the inbox has in advance. */
#include "Support/prng.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"
#include "include/od_loop.h"

#include <time.h>

/* Found by reading: up to 15 jobs waited for the blocked one, whatever the new width. */
SCENE(a_width_raised_behind_a_blocked_job_holds_for_what_its_drainer_took,
      "W in 2 0: queue q width 1; suspend q; add q Door; add q 30 a; resume q; Door -> 1; a = 0; width q W; a -> 30; "
      "q.pending -> 1")

SCENE(what_was_taken_back_keeps_its_order,
      "20 times: queue q width 1; suspend q; add q Door; add q 30 a; resume q; Door -> 1; a = 0; suspend q; open Door; "
      "q.pending >= 30; add q a; resume q; inside q; a = 31; outside")

/* Here the drainer's own thread takes back what it has in hand. */
SCENE(a_job_that_suspends_or_holds_its_queue_holds_back_what_its_drainer_took,
      "10 times W in suspends holds: queue q width 1; suspend q; W=suspends add q {suspend q}; "
      "W=holds add q {keep q 1}; add q 30 a; resume q; q.pending -> 30; q.offered = 0; a = 0; W=suspends resume q; "
      "W=holds give q 1; wait q; a = 30")

SCENE(a_cancel_counts_what_a_blocked_drainer_took,
      "queue q width 1; suspend q; add q Door; add q 30 a; resume q; Door -> 1; a = 0; cancel q 30; q.pending = 1; "
      "add q a; open Door; wait q; a = 1")

/* ---- drainers of wide lines ---- */

/* Suspended, and as if its jobs had all been short: the next drainer takes as many as it may. */
static od_queue *wide_queue(int32_t width)
{
    od_queue *queue = queue_of(width);

    add_barrier(queue, no_job, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_queue_suspend(queue);
    (void)LOOK(queue, queue->reach = ODI_DRAIN_BATCH_MOST - 1);
    return queue;
}

static void end_wide_queue(od_queue *queue)
{
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(LOOK(queue, queue->back), 0); /* the last drainer may be on its way out */
    od_queue_release(queue);
}

static const int32_t wide[] = {OD_UNLIMITED, 3, 7};
enum { WIDE = sizeof wide / sizeof wide[0] };

SCENE(a_job_that_blocks_holds_up_none_that_its_drainer_took,
      "20 times W in 0 3 7: queue q width W; add q x barrier; wait q; suspend q; reach q; add q Door; add q 40 a; "
      "resume q; a -> 40; open Door; wait q; q.back = 0")

/* The second drainer takes the last of the line, and blocks too. */
SCENE(somebody_comes_for_what_a_blocked_drainer_took,
      "20 times W in 0 3 7: queue q width W; add q x barrier; wait q; suspend q; reach q; add q First; add q a; "
      "add q Second; resume q; First -> 1; Second -> 1; a -> 1; open First Second; wait q; q.back = 0")

/* A barrier in front is no reason to leave what others have in hand to them. */
SCENE(what_is_in_hand_before_a_barrier_does_not_wait_for_it,
      "20 times W in 0 3 7: queue q width W; add q x barrier; wait q; suspend q; reach q; add q x barrier; add q Door; "
      "add q 4 a; add q alone barrier; add q 10 later; resume q; a -> 4; alone = 0; later = 0; open Door; wait q; "
      "q.back = 0; alone = 1; later = 10")

SCENE(a_changed_width_holds_for_what_drainers_took,
      "20 times: queue q width 3; add q x barrier; wait q; suspend q; reach q; add q A; add q 15 a; add q B; "
      "add q 15 a; add q C; add q 15 a; add q 100 a; resume q; A -> 1; B -> 1; C -> 1; width q 1; q.offered = 0; "
      "open A B C; wait q; q.back = 0; a = 145")

static struct {
    od_queue *queue;
    atomic_bool over;
} endless;

/* A line of these is never empty. */
static void again(void *unused)
{
    if (!atomic_load(&endless.over))
        add(endless.queue, again, unused);
}

QUEUE_TEST(newer_jobs_do_not_pass_over_what_is_in_hand_for_ever)
{
    for (int i = 0; i < 3 * WIDE; i++) {
        gate door = {0};
        atomic_ullong ran = 0;

        atomic_store(&endless.over, false);
        endless.queue = wide_queue(wide[i % WIDE]);
        add(endless.queue, gate_job, &door);
        add_many(endless.queue, ODI_DRAIN_BATCH_MOST, count_job, &ran);
        add_many(endless.queue, 20 * ODI_DRAIN_BATCH_MOST, again, NULL);
        od_queue_resume(endless.queue);
        assert_comes_true(atomic_load(&ran) == ODI_DRAIN_BATCH_MOST);
        atomic_store(&endless.over, true);
        gate_open(&door);
        end_wide_queue(endless.queue);
    }
}

/* A wide line with forty jobs whose two drainers wait at a gate each. */
typedef struct {
    od_queue *queue;
    gate doors[2];
    atomic_ullong ran;
} standstill;

/* Returns how many of the jobs have not run. */
static unsigned long long stand_still(standstill *it)
{
    *it = (standstill){.queue = wide_queue(2)};
    for (int each = 0; each < 2; each++) {
        add(it->queue, gate_job, &it->doors[each]);
        add_many(it->queue, 20, count_job, &it->ran);
    }
    od_queue_resume(it->queue);
    assert_comes_true(atomic_load(&it->doors[0].waiting) == 1);
    assert_comes_true(atomic_load(&it->doors[1].waiting) == 1);
    return 40 - atomic_load(&it->ran);
}

static void go_on(standstill *it)
{
    gate_open(&it->doors[0]);
    gate_open(&it->doors[1]);
    end_wide_queue(it->queue);
}

QUEUE_TEST(a_cancel_counts_what_blocked_drainers_of_a_wide_line_took)
{
    for (int i = 0; i < 20; i++) {
        standstill it;
        unsigned long long left = stand_still(&it);

        size_t cancelled = od_queue_cancel_all(it.queue);
        go_on(&it);
        assert_int_equal(cancelled, left);
        assert_int_equal(atomic_load(&it.ran), 40 - left);
    }
}

/* Found by reading: a waiter overrode the band of what lay in the line, and not to the older jobs that
 * blocked drainers had in hand. (What a drainer has in hand when it blocks is its own affair: mostly
 * some, now and then nothing.) */
QUEUE_TEST(what_blocked_drainers_took_is_lent_to_with_the_rest)
{
    for (int i = 0; i < 20; i++) {
        standstill it;
        unsigned long long left = stand_still(&it);

        odi_queue_raise_all(it.queue, OD_BAND_USER_INTERACTIVE);
        uint32_t overridden = LOOK(it.queue, it.queue->overridden[OD_BAND_USER_INTERACTIVE]);
        int32_t offered = LOOK(it.queue, odi_queue_offered(it.queue));
        go_on(&it);
        assert_int_equal(overridden, left);
        assert_int_equal(offered, 0);
    }
}

/* One has jobs in hand, which are taken back; another one comes then, and its hands are empty. */
QUEUE_TEST(what_another_drainer_had_in_hand_comes_before_what_is_newer)
{
    od_queue *queue = wide_queue(2);
    odi_taken first = {0}, second = {0};
    od_scope drainers[2] = {{0}};
    atomic_ullong ran = 0;
    odi_entry next;

    add_many(queue, 40, count_job, &ran);
    odi_lock_acquire(&queue->watch.lock);
    bool waits = odi_queue_peek(queue, &next); /* all of it comes into the line */
    odi_queue_fill_batch(queue, &first, &drainers[0]);
    odi_queue_take_back(queue);
    int back = queue->back;
    odi_queue_fill_batch(queue, &second, &drainers[1]);
    bool takes_newer = second.batch != NULL;
    odi_queue_put_down(queue, &first);
    odi_queue_put_down(queue, &second);
    odi_lock_release(&queue->watch.lock);
    od_queue_resume(queue);
    end_wide_queue(queue);
    assert_true(waits && back > 0);
    assert_false(takes_newer);
    assert_int_equal(atomic_load(&ran), 40);
}

/* ---- sync callers beside a blocked drainer ---- */

enum { CALLERS = 40 };

static struct {
    od_queue *queue;
    atomic_ullong ran;
    atomic_int order;
    unsigned long long seen_by_the_last;
} calling;

static void *call_once(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(calling.queue, &scope);
    if (atomic_fetch_add(&calling.order, 1) == CALLERS - 1)
        calling.seen_by_the_last = atomic_load(&calling.ran);
    od_queue_sync_end(&scope);
    return unused;
}

/* Found by reading: one passed the line's other place on to the next, over older jobs. */
QUEUE_TEST(sync_callers_do_not_pass_over_what_is_in_hand_for_ever)
{
    gate door = {0};
    pthread_t callers[CALLERS];

    calling.queue = wide_queue(2);
    atomic_store(&calling.ran, 0);
    atomic_store(&calling.order, 0);
    add(calling.queue, gate_job, &door);
    add(calling.queue, count_job, &calling.ran);
    add(calling.queue, count_job, &calling.ran);
    start_threads(callers, CALLERS, call_once);
    assert_comes_true(waiting_in(calling.queue) == CALLERS + 3);
    od_queue_resume(calling.queue);
    join_threads(callers, CALLERS);
    gate_open(&door);
    end_wide_queue(calling.queue);
    assert_int_equal(calling.seen_by_the_last, 2);
}

/* ---- exactly once, whatever is changed meanwhile ---- */

enum { SUBMITTERS = 2, MOST_EACH = 20000 };

static struct {
    od_queue *queue;
    od_group *group;
    uint32_t each;
    bool barriers;
    atomic_int submitting, inside, overlaps;
    atomic_uchar times[SUBMITTERS * MOST_EACH];
} racing;

static void racing_job(void *raw)
{
    atomic_fetch_add(&racing.inside, 1);
    atomic_fetch_add(&racing.times[(uintptr_t)raw], 1);
    if ((uintptr_t)raw % 13 == 0) {
        od_queue_suspend(racing.queue);
        od_queue_resume(racing.queue);
    }
    if ((uintptr_t)raw % 17 == 0)
        od_queue_unhold(racing.queue, od_queue_hold(racing.queue));
    atomic_fetch_sub(&racing.inside, 1);
}

static void racing_barrier(void *raw)
{
    atomic_fetch_add(&racing.overlaps, atomic_fetch_add(&racing.inside, 1) != 0);
    atomic_fetch_add(&racing.times[(uintptr_t)raw], 1);
    atomic_fetch_add(&racing.overlaps, atomic_fetch_sub(&racing.inside, 1) != 1);
}

static void *submit_racing(void *raw)
{
    uintptr_t first = (uintptr_t)raw * MOST_EACH;

    for (uintptr_t i = 0; i < racing.each; i++) {
        if (racing.barriers && i % 19 == 0) {
            add_barrier(racing.queue, racing_barrier, (void *)(first + i));
            continue;
        }
        od_queue_async(racing.queue, i % 7 == 0 ? racing.group : NULL,
                       i % 11 == 0 ? OD_BAND_USER_INITIATED : OD_QUEUE_BAND, racing_job,
                       (void *)(first + i));
    }
    atomic_fetch_sub(&racing.submitting, 1);
    return NULL;
}

static void *change_racing(void *unused)
{
    prng random = prng_for(7, 1);

    while (atomic_load(&racing.submitting) > 0) {
        switch (prng_below(&random, 5)) {
        case 0:
            od_queue_set_width(racing.queue, (int32_t)prng_below(&random, 4)); /* 0: unlimited */
            break;
        case 1:
            od_queue_suspend(racing.queue);
            sched_yield();
            od_queue_resume(racing.queue);
            break;
        case 2:
            run_synced(racing.queue, no_job, NULL);
            break;
        case 3:
            (void)od_queue_pending(racing.queue);
            break;
        default:
            od_queue_set_width(racing.queue, 1);
        }
    }
    return unused;
}

QUEUE_TEST(every_job_runs_once_while_width_and_suspension_change)
{
    for (int round = 0; round < UNLESS_SANITIZED(8, 2); round++) {
        pthread_t submitters[SUBMITTERS], changer;

        memset(&racing, 0, sizeof racing);
        racing.queue = queue_of(1);
        racing.group = od_group_create();
        racing.barriers = round % 2 == 1;
        racing.each = UNLESS_SANITIZED(MOST_EACH, 2000);
        atomic_store(&racing.submitting, SUBMITTERS);
        start_threads(submitters, SUBMITTERS, submit_racing);
        pthread_create(&changer, NULL, change_racing, NULL);
        join_threads(submitters, SUBMITTERS);
        pthread_join(changer, NULL);
        assert_true(od_queue_wait(racing.queue, HANG_NS));
        assert_true(od_group_wait(racing.group, HANG_NS));
        assert_int_equal(od_queue_pending(racing.queue), 0);
        assert_int_equal(atomic_load(&racing.overlaps), 0);
        for (uint32_t s = 0; s < SUBMITTERS; s++) {
            for (uint32_t i = 0; i < racing.each; i++)
                assert_int_equal(atomic_load(&racing.times[s * MOST_EACH + i]), 1);
        }
        od_queue_release(racing.queue);
        od_group_release(racing.group);
    }
}

/* ---- a line that its drainer leaves, again and again ---- */

static struct {
    od_queue *queue;
    atomic_uint ran[2];
    atomic_bool in_order;
} meeting;

static void meeting_job(void *raw)
{
    uintptr_t word = (uintptr_t)raw;

    if (atomic_fetch_add(&meeting.ran[word & 1], 1) != word >> 1)
        atomic_store(&meeting.in_order, false);
}

/* A few jobs, and more as soon as they have run, which is when the drainer is about to leave. */
static void *submit_meeting(void *raw)
{
    uintptr_t submitter = (uintptr_t)raw;
    time_t until = time(NULL) + 5;
    unsigned submitted = 0;

    for (unsigned round = 0; round < UNLESS_SANITIZED(6000, 600); round++) {
        for (unsigned burst = 0; burst <= round % 3; burst++)
            od_queue_async(meeting.queue, NULL, OD_QUEUE_BAND, meeting_job,
                           (void *)((uintptr_t)submitted++ << 1 | submitter));
        for (unsigned looks = 0; atomic_load(&meeting.ran[submitter]) < submitted; looks++) {
            if (looks % 1000 == 999)
                sched_yield();
            if (looks % 100000 == 99999 && time(NULL) > until)
                return &meeting; /* forgotten */
        }
        until = time(NULL) + 5;
    }
    return NULL;
}

QUEUE_TEST(whoever_pushes_as_the_drainer_leaves_is_served_and_in_order)
{
    pthread_t submitters[2];
    void *forgotten[2];

    meeting.queue = queue_of(1);
    atomic_store(&meeting.in_order, true);
    start_threads(submitters, 2, submit_meeting);
    for (int each = 0; each < 2; each++)
        pthread_join(submitters[each], &forgotten[each]);
    assert_null(forgotten[0]);
    assert_null(forgotten[1]);
    assert_true(atomic_load(&meeting.in_order));
    end_queue(meeting.queue);
}

/* The same at the very moment: its drainer has seen that nothing waits, and not looked at the inbox yet. */
QUEUE_TEST(what_comes_while_a_drainer_settles_is_served)
{
    od_queue *queue = queue_of(1);
    odi_inbox *inbox = &queue->inbox;
    gate door = {0};
    atomic_ullong ran = 0;
    odi_entry late;

    hold_a_job(queue, &door);
    add(queue, count_job, &ran);
    odi_lock_acquire(&inbox->lock);
    assert_int_equal(inbox->fifo.count, 1);
    assert_true(odi_fifo_pop(&inbox->fifo, &late));
    odi_store_relaxed(&inbox->waiting, 0); /* relaxed: locked */
    gate_open(&door);
    bool awaited = COMES_TRUE(odi_load_relaxed(&inbox->lock.mark) != 0); /* relaxed: nothing follows from it */
    bool pushed = odi_inbox_push(inbox, late, NULL);
    odi_lock_release(&inbox->lock);
    assert_true(awaited && pushed);
    assert_comes_true(atomic_load(&ran) == 1);
    end_queue(queue);
}

/* ---- an empty line ---- */

/* However it became empty, the next job finds a drainer. */
SCENE(what_comes_to_an_empty_line_is_served,
      "queue q width 1; group g; "
      "repeat 40 {add q a; wait q; add q a; inside q; outside; wait q; add q a; add q a in g; wait g; wait q; "
      "add q a; inside q; outside; add q a in g; add q a band 0; wait g; wait q}; a = 280")

/* A queue is light while nothing waits in it. */
static bool holds_hands(od_queue *queue) { return LOOK(queue, queue->batches != NULL); }

QUEUE_TEST(a_queue_takes_hands_for_as_long_as_jobs_wait_in_it)
{
    enum { BEFORE = ODI_DRAIN_BATCHES * (ODI_DRAIN_BATCH_MOST + 1), BEHIND = 20 }; /* once more than there are drain batches */
    od_queue *queue = queue_of(1);
    atomic_ullong ran = 0;
    gate door = {0};

    assert_false(holds_hands(queue));
    for (int round = 1; round <= 3; round++) {
        od_queue_suspend(queue);
        add_many(queue, BEFORE, count_job, &ran);
        add(queue, gate_job, &door);
        add_many(queue, BEHIND, count_job, &ran);
        od_queue_resume(queue);
        assert_comes_true(atomic_load(&door.waiting) == 1);
        assert_true(holds_hands(queue) && LOOK(queue, odi_queue_offered(queue)) > 0);
        gate_open(&door);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_comes_true(!holds_hands(queue));
        assert_int_equal(atomic_load(&ran), round * (BEFORE + BEHIND));
        door = (gate){0};
    }
    od_queue_release(queue);
}

/* ---- how far a drain batch of a wide line reaches ---- */

static int32_t reach_after(od_queue *queue, uint64_t ticks)
{
    return LOOK(queue, (odi_queue_measure(queue, ticks), queue->reach));
}

/* Those that drainers run, as they measure them. */
QUEUE_TEST(a_wide_line_of_short_jobs_is_taken_by_ever_more)
{
    od_queue *queue = queue_of(2);
    int64_t give_up = odi_clock_now() + HANG_NS;

    while (LOOK(queue, queue->reach) == 0 && odi_clock_now() < give_up) {
        od_queue_suspend(queue);
        add_many(queue, 100, no_job, NULL);
        od_queue_resume(queue);
        odi_clock_sleep(ODI_MILLISECOND);
    }
    assert_int_not_equal(LOOK(queue, queue->reach), 0);
    end_queue(queue);
}

QUEUE_TEST(short_jobs_are_taken_by_ever_more_and_a_long_one_ends_that)
{
    od_queue *queue = queue_of(2);
    int32_t expected = 0;

    assert_int_equal(LOOK(queue, queue->reach), 0);
    for (int taken = 0; taken < 2 * ODI_DRAIN_BATCH_MOST; taken++) {
        expected = 2 * expected + 1 < ODI_DRAIN_BATCH_MOST ? 2 * expected + 1 : ODI_DRAIN_BATCH_MOST - 1;
        assert_int_equal(reach_after(queue, 0), expected);
    }
    assert_int_equal(reach_after(queue, od_loop_unit()), ODI_DRAIN_BATCH_MOST - 1); /* neither: it stays */
    assert_int_equal(reach_after(queue, UINT64_MAX - 1), 0);
    assert_int_equal(reach_after(queue, od_loop_unit()), 0);
    od_queue_release(queue);
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
