/* gate/limit.c: queues that hold their producers back. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include <malloc.h>

static od_queue *limited(int32_t width, uint32_t limit, od_overflow overflow)
{
    return queue_with((od_queue_options){
        .width = width, .label = "limited", .pending_limit = limit, .overflow = overflow});
}

/* What the limit is about: beyond it there is but the one job that each producer waits with. */
static uint64_t waiting(od_queue *queue)
{
    return LOOK(queue, queue->line.count + odi_load_relaxed(&queue->inbox.waiting) - queue->more->submitting);
}

/* ---- waiting ---- */

static struct {
    od_queue *queue;
    int jobs;
    atomic_int submitted, producer;
    atomic_ullong ran, overlaps;
    atomic_int inside;
    int last[4], disorder;
} flow;

static void in_flow(void *raw)
{
    int submitter = (int)((uintptr_t)raw >> 32), index = (int)(uintptr_t)raw;

    atomic_fetch_add(&flow.overlaps, atomic_fetch_add(&flow.inside, 1) != 0);
    flow.disorder += index != flow.last[submitter] + 1; /* serial: no more is needed */
    flow.last[submitter] = index;
    atomic_fetch_add(&flow.ran, 1);
    atomic_fetch_sub(&flow.inside, 1);
}

static void *produce(void *raw)
{
    atomic_store(&flow.producer, odi_thread_id());
    for (int job = 1; job <= flow.jobs; job++) {
        add(flow.queue, in_flow, (void *)((uintptr_t)raw << 32 | (uintptr_t)job));
        atomic_fetch_add(&flow.submitted, 1);
    }
    return NULL;
}

static void begin_flow(int32_t width, uint32_t limit, od_overflow overflow, int jobs)
{
    flow.queue = limited(width, limit, overflow);
    flow.jobs = jobs;
    atomic_store(&flow.submitted, 0);
    atomic_store(&flow.ran, 0);
    atomic_store(&flow.overlaps, 0);
    flow.disorder = 0;
    memset(flow.last, 0, sizeof flow.last);
}

/* In a child nobody waits before the caller. */
static void find_room(void *queue)
{
    child_expects(od_queue_try_async(queue, NULL, OD_QUEUE_BAND, 0, no_job, NULL));
}

QUEUE_TEST(a_producer_waits_while_the_limit_is_reached)
{
    pthread_t producer;

    begin_flow(1, 10, OD_OVERFLOW_WAITS, 100);
    od_queue_suspend(flow.queue);
    pthread_create(&producer, NULL, produce, NULL);
    assert_comes_true(od_queue_pending(flow.queue) == 11); /* with the one that its producer waits with */
    assert_comes_true(LOOK(flow.queue, flow.queue->more->submitters.first != NULL));
    assert_comes_true(odi_thread_sleeps(atomic_load(&flow.producer)) != 0);
    assert_int_equal(atomic_load(&flow.submitted), 10);
    assert_int_equal(waiting(flow.queue), 10);
    assert_child_succeeds(find_room, flow.queue);
    od_queue_resume(flow.queue);
    pthread_join(producer, NULL);
    end_queue(flow.queue);
    assert_int_equal(atomic_load(&flow.ran), 100);
    assert_int_equal(flow.disorder, 0);
}

QUEUE_TEST(who_waits_for_room_comes_in_where_half_of_the_line_is_empty_and_nobody_before)
{
    gate doors[8] = {0};
    pthread_t producer;

    begin_flow(1, 8, OD_OVERFLOW_WAITS, 1);
    od_queue_suspend(flow.queue);
    for (int each = 0; each < 8; each++)
        add(flow.queue, gate_job, &doors[each]);
    pthread_create(&producer, NULL, produce, NULL);
    assert_comes_true(LOOK(flow.queue, flow.queue->more->submitting) == 1);
    od_queue_resume(flow.queue);
    for (int each = 0; each < 3; each++) { /* seven of eight wait, six, five: nobody is woken for so few places */
        assert_comes_true(atomic_load(&doors[each].waiting) == 1);
        assert_int_equal(LOOK(flow.queue, flow.queue->more->submitting), 1);
        assert_false(od_queue_try_async(flow.queue, NULL, OD_QUEUE_BAND, 0, no_job, NULL));
        gate_open(&doors[each]);
    }
    assert_comes_true(atomic_load(&doors[3].waiting) == 1);
    assert_int_equal(LOOK(flow.queue, flow.queue->more->submitting), 0);
    open_gates(doors, 8);
    pthread_join(producer, NULL);
    end_queue(flow.queue);
}

static atomic_bool watching;

static void *watch_the_limit(void *raw)
{
    uintptr_t most = 0;

    for (int look = 0; atomic_load(&watching); look++) {
        uint64_t waits = waiting(raw);
        most = waits > most ? waits : most;
        yield_now_and_then(look);
    }
    return (void *)most;
}

QUEUE_TEST(several_producers_keep_the_limit_and_their_order)
{
    static const uint32_t limits[] = {1, 2, 7, 100};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        pthread_t producers[3], watcher;
        void *most;

        begin_flow(1, limits[i], OD_OVERFLOW_WAITS, UNLESS_SANITIZED(1000, 150));
        od_queue_suspend(flow.queue);
        atomic_store(&watching, true);
        pthread_create(&watcher, NULL, watch_the_limit, flow.queue);
        start_threads(producers, 3, produce);
        assert_comes_true(waiting(flow.queue) == limits[i]);
        od_queue_resume(flow.queue);
        join_threads(producers, 3);
        assert_true(od_queue_wait(flow.queue, HANG_NS));
        atomic_store(&watching, false);
        pthread_join(watcher, &most);
        assert_int_equal(atomic_load(&flow.ran), 3 * (unsigned)flow.jobs);
        assert_int_equal(flow.disorder, 0);
        assert_int_equal(atomic_load(&flow.overlaps), 0);
        assert_true((uintptr_t)most <= limits[i]);
        od_queue_release(flow.queue);
    }
}

static struct {
    od_queue *queue;
    atomic_ullong ran;
    atomic_uint in_order;
    gate door;
} nest;

/* More than may be one within the other. One of them may find room. */
static void submit_forty(void *unused)
{
    uint64_t before = atomic_load(&nest.ran);

    add_many(nest.queue, 40, count_job, &nest.ran);
    nest.in_order += atomic_load(&nest.ran) - before >= 39;
}

/* Its own queue is full, and nobody but this job's thread could ever make room. */
QUEUE_TEST(a_job_that_asks_for_it_runs_what_it_submits_to_its_own_full_queue)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        nest.queue = limited(widths[i], 1, OD_OVERFLOW_RUNS);
        atomic_store(&nest.ran, 0);
        nest.in_order = 0;
        add_many(nest.queue, 5, submit_forty, NULL);
        end_queue(nest.queue);
        assert_int_equal(atomic_load(&nest.ran), 200);
        assert_true(widths[i] != 1 || nest.in_order == 5);
    }
}

static pthread_mutex_t held_by_the_job = PTHREAD_MUTEX_INITIALIZER;

static void need_the_mutex(void *number)
{
    pthread_mutex_lock(&held_by_the_job);
    nest.in_order += atomic_fetch_add(&nest.ran, 1) == (uintptr_t)number;
    pthread_mutex_unlock(&held_by_the_job);
}

static void submit_and_hold(void *unused)
{
    pthread_mutex_lock(&held_by_the_job);
    for (uintptr_t number = 0; number < 10; number++)
        add(nest.queue, need_the_mutex, (void *)number);
    pthread_mutex_unlock(&held_by_the_job);
}

/* It would wait for itself, and a call would need what the job holds: it is let in. */
QUEUE_TEST(what_a_job_submits_to_its_own_full_queue_is_no_call)
{
    for (size_t i = 0; i < WIDTHS; i++) {
        nest.queue = limited(widths[i], 1, OD_OVERFLOW_WAITS);
        atomic_store(&nest.ran, 0);
        nest.in_order = 0;
        add(nest.queue, submit_and_hold, NULL);
        end_queue(nest.queue);
        assert_int_equal(atomic_load(&nest.ran), 10);
        assert_true(widths[i] != 1 || nest.in_order == 10);
    }
}

SCENE(a_barrier_that_a_job_submits_to_its_own_full_queue_runs_after_that_job,
      "queue q width 1 limit 1 runs; add q {add q x; add q a barrier; a = 0; done}; wait q; a = 1; done = 1")

static void submit_the_next(void *left)
{
    atomic_fetch_add(&nest.ran, 1);
    if (left != NULL)
        add(nest.queue, submit_the_next, (void *)((uintptr_t)left - 1));
}

QUEUE_TEST(jobs_that_submit_the_next_one_need_no_endless_stack)
{
    unsigned length = UNLESS_SANITIZED(200000, 5000);

    nest.queue = limited(1, 1, OD_OVERFLOW_RUNS);
    atomic_store(&nest.ran, 0);
    for (int chain = 0; chain < 3; chain++)
        add(nest.queue, submit_the_next, (void *)(uintptr_t)length);
    end_queue(nest.queue);
    assert_int_equal(atomic_load(&nest.ran), 3 * (length + 1));
}

/* The only worker waits for room: it hands its place over. */
SCENE(workers_that_wait_for_room_do_not_keep_the_queue_from_running,
      "pool 1; queue q width 1 limit 1; queue r; add r 10 {add q a}; wait r; wait q; a = 10")

SCENE(a_cancel_lets_waiting_producers_go_on,
      "queue q width 1 limit 2; suspend q; add q 2 a; thread 3 {add q 1 a}; q.pending -> 5; cancel q 5; join; resume q; "
      "wait q; a = 0")

SCENE(a_cancel_lets_more_producers_go_on_than_there_is_room_for,
      "queue q width 1 limit 1; suspend q; thread 8 {add q 1 a}; q.pending -> 8; cancel q 8; join; resume q")

SCENE(a_stop_lets_more_producers_go_on_than_there_is_room_for,
      "pool 2; queue q width 1 limit 1; suspend q; thread 8 {add q 20 a}; q.pending -> 9; stop in 20000; join; a = 0")

SCENE(barriers_wait_for_room_too,
      "queue q limit 3; thread 2 {add q 50 a barrier}; add q 100 a; join; wait q; a = 200")

/* ---- run by the caller ---- */

QUEUE_TEST(a_serial_queue_stays_serial_when_its_callers_run)
{
    begin_flow(1, 2, OD_OVERFLOW_RUNS, UNLESS_SANITIZED(1000, 150));
    run_on_threads(3, produce);
    end_queue(flow.queue);
    assert_int_equal(atomic_load(&flow.ran), 3 * (unsigned)flow.jobs);
    assert_int_equal(atomic_load(&flow.overlaps), 0);
    assert_int_equal(flow.disorder, 0);
}

typedef struct {
    pthread_t thread;
    int band;
} place;

SCENE(the_caller_runs_what_does_not_fit,
      "queue q limit 1 runs; queue high width 1 band 0; hold q Door; hold q Door; hold q Door; add q a; inside high; "
      "add q {pool.main = 1; high.band = 2; b}; b = 1; outside; open Door; wait q; pool.executed = 5")

/* ---- refused ---- */

SCENE(what_is_refused_is_counted_and_never_runs,
      "queue q width 2 limit 5 refuses; group g; suspend q; add q 8 a in g; q.refused = 3; q.pending = 5; "
      "refuse q a in g; refuse q a barrier; q.refused = 3; resume q; wait g; a = 5; try q a in g; wait g; a = 6")

/* A drainer that takes several at once would have them, and as many more would be let in. */
SCENE(what_waits_behind_a_job_that_runs_counts,
      "queue q width 1 limit 8 refuses; suspend q; add q Door; add q 7 a; resume q; Door -> 1; add q 3 a; open Door; "
      "q.refused = 2")

static atomic_ullong let_in;

static void *try_to_come_in(void *queue)
{
    atomic_fetch_add(&let_in, od_queue_try_async(queue, NULL, OD_QUEUE_BAND, 0, count_job, &flow.ran));
    return NULL;
}

/* It is counted, and has not come to the line: whether that is full then or not, the cancel has it. */
QUEUE_TEST(what_is_cancelled_on_its_way_into_the_line_is_not_refused_and_never_runs)
{
    for (uint32_t round = 0; round < 40; round++) {
        od_queue *queue = limited(1, 1 + round % 2, OD_OVERFLOW_REFUSED);
        uint64_t cancelled = metrics_of(pool).cancelled;
        pthread_t submitter;

        atomic_store(&flow.ran, 0);
        atomic_store(&let_in, 0);
        od_queue_suspend(queue);
        add(queue, count_job, &flow.ran);
        odi_record *record = odi_queue_find_record(queue, NULL, queue->band, NULL);
        odi_lock_acquire(&queue->watch.lock);
        assert_int_equal(pthread_create(&submitter, NULL, try_to_come_in, queue), 0);
        assert_comes_true(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 2);
        assert_int_equal(odi_queue_cancel(queue), 2);
        pthread_join(submitter, NULL);
        assert_int_equal(atomic_load(&let_in), 1);
        assert_int_equal(waiting_in(queue) + od_queue_pending(queue) + od_queue_refused(queue), 0);
        assert_int_equal(metrics_of(pool).cancelled, cancelled + 2);
        od_queue_resume(queue);
        end_queue(queue);
        assert_int_equal(atomic_load(&flow.ran), 0);
    }
}

static void *add_a_barrier(void *queue)
{
    add_barrier(queue, count_job, &flow.ran);
    return NULL;
}

QUEUE_TEST(a_barrier_that_its_submitter_runs_is_none_of_the_lines)
{
    od_queue *queue = limited(OD_UNLIMITED, 1, OD_OVERFLOW_RUNS);
    pthread_t submitter;
    gate door = {0};

    atomic_store(&flow.ran, 0);
    od_queue_suspend(queue);
    add(queue, gate_job, &door);
    assert_int_equal(pthread_create(&submitter, NULL, add_a_barrier, queue), 0);
    assert_comes_true(barriers_in(queue) > 0); /* it waits as who comes in sync does */
    od_queue_resume(queue);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    assert_int_equal(atomic_load(&flow.ran), 0);
    gate_open(&door);
    pthread_join(submitter, NULL);
    assert_int_equal(atomic_load(&flow.ran), 1);
    assert_int_equal(barriers_in(queue), 0);
    end_queue(queue);
}

/* Where there are more records than tags, jobs with a context of more bits than a pointer travel wrapped, in memory that
 * a refusal gives back. Under AddressSanitizer it is the leak checker's. */
QUEUE_TEST(what_is_refused_leaves_no_memory_behind)
{
    enum { TRIES = 100000 }; /* the pool's threads, which begin meanwhile, take memory too */
    od_queue *queue = limited(1, 1, OD_OVERFLOW_REFUSED);
    void *wide = (void *)(uintptr_t)(1ull << 60);

    od_queue_suspend(queue);
    add(queue, no_job, NULL);
    odi_record *record = odi_queue_find_record(queue, NULL, odi_queue_key(queue, OD_QUEUE_BAND, 0), NULL);
    uint32_t tag = record->tag;
    record->tag = ODI_JOB_NEAR_TAGS;
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < TRIES; i++)
        assert_false(od_queue_try_async(queue, NULL, OD_QUEUE_BAND, 0, no_job, wide));
    assert_true(mallinfo2().uordblks < before + TRIES); /* a byte for each would be too much */
    record->tag = tag;
    od_queue_resume(queue);
    end_queue(queue);
}

/* Found by reading: each of them counted as a job of the target's. */
SCENE(queues_on_it_leave_a_limit_to_its_own_jobs,
      "queue t width 1 limit 2 refuses; hold t Door; queue p width 1 on t; queue q width 1 on t; queue r width 1 on t; "
      "add p a; add q a; add r a; try t 2 a; refuse t a; add t a; "
      "child {t.refused = 1; suspend t; try t 2 b; refuse t b}; open Door; wait t; wait p; wait q; wait r; a = 5; "
      "t.child_passes = 0")

/* The layer above. */
static atomic_int run_above;
void od_task_run(void *task) { atomic_fetch_add(&run_above, 1); }
void od_task_discard(void *task) {}
void od_executor_run(void *job) { atomic_fetch_add(&run_above, 1); }
void od_executor_discard(void *job) {}

QUEUE_TEST(what_was_announced_before_passes_the_limit)
{
    od_queue *queue = limited(1, 1, OD_OVERFLOW_REFUSED);

    od_queue_suspend(queue);
    for (int i = 0; i < 2; i++) {
        od_queue_async_due_task(queue, OD_QUEUE_BAND, queue);
        od_queue_async_executor_job(queue, OD_QUEUE_BAND, queue);
    }
    od_queue_async_task(queue, OD_QUEUE_BAND, queue);
    assert_false(od_queue_try_async_executor_job(queue, OD_QUEUE_BAND, queue));
    assert_int_equal(od_queue_pending(queue), 4);
    assert_int_equal(od_queue_refused(queue), 1);
    od_queue_resume(queue);
    end_queue(queue);
    assert_int_equal(atomic_load(&run_above), 4);
}

SCENE(try_works_whatever_the_overflow,
      "W in waits runs refuses: queue q width 1 limit 1 W; queue open; suspend q; try q a; refuse q a; try open a; "
      "resume q; q.limit = 1; open.limit = 0; W=waits q.overflow = 0; W=runs q.overflow = 1; W=refuses q.overflow = 2")

/* ---- at an end ---- */

SCENE(a_stop_ends_the_wait_for_room,
      "pool 2; queue q width 1 limit 1; suspend q; thread {add q 20 a}; q.pending -> 2; stop in 20000; join; try q a; "
      "a = 0; pool.done = 21")

SCENE(a_stop_waits_for_no_caller_that_runs,
      "lone; queue q limit 1 runs; hold pool Worker; add q a; thread {add q 1 Caller}; Caller -> 1; open Worker; "
      "stop ran 2 cancelled 0 stuck 0; open Caller; join; pool.done = 3")

/* A job that gives its queue back may be the last one, and be over before its submitter has gone on. */
QUEUE_TEST(who_comes_to_a_queue_that_is_over_finds_no_submitters)
{
    od_queue *over = limited(1, 1, OD_OVERFLOW_WAITS);
    add(over, no_job, NULL);
    end_queue(over);
    assert_comes_true(LOOK(over, over->more == NULL));
    odi_queue_raise_all(over, OD_BAND_USER_INITIATED);
    odi_queue_purge(over);
    odi_queue_reap(over); /* once is enough: its memory serves one queue */
    od_queue *next = limited(1, 1, OD_OVERFLOW_WAITS), *another = limited(1, 1, OD_OVERFLOW_WAITS);
    assert_ptr_not_equal(next, another);
    release_queues(next, another);
}

static struct {
    od_queue *queue;
    int depth, deepest, left;
} deep;

static void submit_itself(void *unused)
{
    deep.deepest = ++deep.depth > deep.deepest ? deep.depth : deep.deepest;
    if (deep.left-- > 0)
        add(deep.queue, submit_itself, unused);
    deep.depth--;
}

static void fill_up_and_submit(void *unused)
{
    add(deep.queue, no_job, unused);
    submit_itself(unused);
}

QUEUE_TEST(jobs_run_within_each_other_32_deep_and_no_deeper)
{
    deep.queue = limited(1, 1, OD_OVERFLOW_RUNS);
    deep.depth = deep.deepest = 0;
    deep.left = 100;
    add(deep.queue, fill_up_and_submit, NULL);
    end_queue(deep.queue);
    assert_int_equal(deep.deepest, 1 + 32);
    assert_int_equal(deep.left, -1);
}

static od_status freed_in_job;
static _Atomic(pthread_t) freed_on;

static void free_its_pool(void *pool)
{
    atomic_store(&freed_on, pthread_self());
    freed_in_job = od_pool_free(pool);
}

/* By its submitter the job ran on a thread that is no worker. */
TEST(a_job_that_its_submitter_runs_cannot_free_its_pool)
{
    od_queue_options options = {.width = 1, .pending_limit = 1, .band = OD_BAND_DEFAULT,
                                .overflow = OD_OVERFLOW_RUNS};
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create_with(pool, &options);
    od_scope scope;

    od_queue_sync_begin(queue, &scope);
    assert_int_equal(od_pool_free(pool), OD_INSIDE);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, no_job, NULL);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, free_its_pool, pool); /* full, and this thread is inside: at once */
    od_queue_sync_end(&scope);
    assert_true(pthread_equal(atomic_load(&freed_on), pthread_self()));
    assert_int_equal(freed_in_job, OD_INSIDE);
    end_pool(pool, queue);
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
