/* What once became of a line's jobs when memory was short: two at a time in a serial queue, a worker
 * that waited for itself, and an end that nobody was told of. */
#include "Support/looks.h"
#include "Support/memory_failure.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include <malloc.h>

#include "include/od_timer.h"

/* ---- one at a time ---- */

static struct {
    od_queue *target, *serial;
    uint32_t flags;
    atomic_int inside, beside, statuses[3];
    atomic_bool submitted;
    atomic_ullong ran;
} lines;

static void note_who_is_inside(void *unused)
{
    atomic_fetch_add(&lines.beside, atomic_load(&lines.inside));
    atomic_fetch_add(&lines.ran, 1);
}

/* A line's first block, or the next one: whichever is the first that memory is too short for. */
static void submit_without_memory(void *unused)
{
    od_status status = OD_OK;

    atomic_store(&grants, 0);
    for (int each = 0; each < 100 && status == OD_OK; each++) {
        status = od_queue_async_with(lines.serial, NULL, OD_QUEUE_BAND, lines.flags, note_who_is_inside, NULL);
        atomic_fetch_add(&lines.statuses[status], 1);
    }
    atomic_store(&grants, -1);
    atomic_store(&lines.submitted, true);
}

static od_pool *open_lines(uint32_t flags, uint32_t limit)
{
    od_pool *pool = pool_of(2);

    memset(&lines, 0, sizeof lines);
    lines.flags = flags;
    lines.target = od_queue_create(pool, OD_BAND_DEFAULT, 2, "target");
    lines.serial = od_queue_create_with(
        pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .pending_limit = limit, .target = lines.target});
    atomic_ullong ran = 0;
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran); /* its first threads are there */
    assert_comes_true(atomic_load(&ran) == 1 && odi_idle_sleepers(&pool->team.sites[0].idle) > 0);
    return pool;
}

static void close_lines(od_pool *pool)
{
    end_queue(lines.serial);
    assert_true(od_queue_wait(lines.target, HANG_NS));
    end_pool(pool, lines.target);
}

/* It used to run there what it submitted to the serial queue, whoever was in that: on its thread, which held
 * one of the target's places, or at once on a suspended queue. */
MEMORY_TEST(what_memory_is_too_short_for_is_refused_and_runs_nowhere)
{
    static const uint32_t flags[] = {0, OD_BARRIER};

    for (int each = 0; each < 8; each++) {
        od_pool *pool = open_lines(flags[each % 2], each < 4 ? 0 : 1000);
        od_scope scope;

        od_queue_sync_begin(lines.serial, &scope);
        atomic_store(&lines.inside, 1);
        if (each / 2 % 2 == 1)
            od_queue_suspend(lines.serial);
        od_queue_async(lines.target, NULL, OD_QUEUE_BAND, submit_without_memory, NULL);
        assert_comes_true(atomic_load(&lines.submitted));
        assert_int_equal(atomic_load(&lines.ran), 0);
        assert_int_equal(od_queue_pending(lines.serial), atomic_load(&lines.statuses[OD_OK]));
        atomic_store(&lines.inside, 0);
        od_queue_sync_end(&scope);
        if (each / 2 % 2 == 1)
            od_queue_resume(lines.serial);
        assert_true(od_queue_wait(lines.serial, HANG_NS));
        assert_int_equal(atomic_load(&lines.statuses[OD_NO_MEMORY]), 1);
        assert_int_equal(atomic_load(&lines.ran), atomic_load(&lines.statuses[OD_OK]));
        assert_int_equal(atomic_load(&lines.beside), 0);
        close_lines(pool);
    }
}

/* What needs no memory: a sync caller's place in the line, and cancelling what is in it. */
static void *enter(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(lines.serial, &scope);
    atomic_fetch_add(&lines.ran, 1);
    od_queue_sync_end(&scope);
    return unused;
}

MEMORY_TEST(a_sync_caller_keeps_its_place_in_the_line_and_what_waits_is_cancelled_without_memory)
{
    enum { CALLERS = 3 };
    pthread_t threads[CALLERS];
    atomic_ullong discarded = 0;
    od_scope scope;

    od_pool *pool = open_lines(0, 0);
    od_queue_sync_begin(lines.serial, &scope);
    for (uint64_t caller = 0; caller < CALLERS; caller++) {
        assert_int_equal(od_queue_async(lines.serial, NULL, OD_QUEUE_BAND, count_job, &discarded), OD_OK);
        submit_without_memory(NULL); /* the block is full: the caller has a node */
        assert_int_equal(pthread_create(&threads[caller], NULL, enter, NULL), 0);
        atomic_store(&grants, 0);
        uint64_t drainers_waiting = (uint64_t)atomic_load(&lines.statuses[OD_OK]) + 2 * (caller + 1);
        assert_comes_true(LOOK(lines.serial, odi_queue_waiting(lines.serial) == drainers_waiting));
        atomic_store(&grants, -1);
    }
    assert_true(atomic_load(&lines.statuses[OD_OK]) > 0);
    atomic_store(&grants, 0);
    uint64_t cancelled = od_queue_cancel_all(lines.serial);
    assert_int_equal(cancelled, atomic_load(&lines.statuses[OD_OK]) + CALLERS);
    assert_int_equal(LOOK(lines.serial, odi_queue_waiting(lines.serial)), CALLERS);
    od_queue_sync_end(&scope);
    assert_comes_true(atomic_load(&lines.ran) == CALLERS);
    atomic_store(&grants, -1);
    join_threads(threads, CALLERS);
    close_lines(pool);
}

/* ---- timers ---- */

static void count_call(void *counter, uint64_t missed) { count_job(counter); }

/* A lone worker without a ring for the band of the queues. */
static od_pool *fresh_worker(atomic_ullong *ran)
{
    od_pool *pool = lone_worker();

    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, count_job, ran);
    assert_comes_true(atomic_load(ran) == 1);
    return pool;
}

/* The worker that fires a timer used to wait there for the queue's turn. */
MEMORY_TEST(a_worker_that_fires_a_timer_without_memory_does_not_wait_for_the_queue)
{
    atomic_ullong ran = 0, calls = 0;
    od_scope scope;

    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_queue_sync_begin(queue, &scope);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, no_job, NULL); /* it has the queue's own node */
    od_timer *timer = od_timer_create(
        queue, &(od_timer_options){.delay_ns = ODI_MILLISECOND, .call = count_call, .context = &calls});
    atomic_store(&grants, 0);
    od_timer_start(timer);
    assert_comes_true(waiting_in(queue) == 2);
    atomic_store(&grants, -1);
    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 2); /* before the queue is free */
    assert_int_equal(atomic_load(&calls), 0);
    od_queue_sync_end(&scope);
    assert_comes_true(atomic_load(&calls) == 1);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_timer_release(timer);
    end_pool(pool, queue);
}

/* ---- ends that somebody waits for ---- */

/* The call runs while the worker looks for work, and its end was told by nobody. */
MEMORY_TEST(the_end_of_a_timers_call_without_memory_is_told_to_its_queue)
{
    atomic_ullong ran = 0, calls = 0;

    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_timer *timer = od_timer_create(
        queue, &(od_timer_options){.delay_ns = ODI_MILLISECOND, .call = count_call, .context = &calls});
    atomic_store(&grants, 0);
    od_timer_start(timer);
    assert_comes_true(atomic_load(&calls) == 1);
    bool empty = od_queue_wait(queue, HANG_NS);
    atomic_store(&grants, -1);
    assert_true(empty);
    od_timer_release(timer);
    end_pool(pool, queue);
}

/* It was called by who asked for it, who waited for the moment. */
MEMORY_TEST(a_notification_without_memory_is_refused)
{
    atomic_ullong ran = 0, told = 0;

    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    od_group *group = od_group_create();

    od_queue_suspend(queue);
    assert_int_equal(od_queue_async(queue, group, OD_QUEUE_BAND, count_job, &ran), OD_OK);
    atomic_store(&grants, 0);
    od_status of_queue = od_queue_notify(queue, count_job, &told);
    od_status of_group = od_group_notify(group, count_job, &told);
    atomic_store(&grants, -1);
    assert_int_equal(of_queue, OD_NO_MEMORY);
    assert_int_equal(of_group, OD_NO_MEMORY);
    od_queue_resume(queue);
    assert_true(od_group_wait(group, INT64_MAX));
    assert_int_equal(atomic_load(&told), 0);
    od_group_release(group);
    end_pool(pool, queue);
}

typedef struct {
    od_queue *next;
    gate door;
    atomic_ullong *ran;
} leader;

static void leave_a_job_and_wait(void *raw)
{
    leader *it = raw;

    od_queue_async(it->next, NULL, OD_QUEUE_BAND, count_job, it->ran); /* into the worker's deque */
    gate_pass(&it->door);
}

/* The worker begins another queue's run and tells the end of its own, which lets a barrier go. Where
 * there is no memory for the drainer's pass it runs right there, and its run was overwritten. */
MEMORY_TEST(the_end_of_a_barrier_that_begins_without_memory_is_told_to_its_queue)
{
    atomic_ullong ran = 0;

    od_pool *pool = fresh_worker(&ran);
    od_queue *queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "open");
    leader first = {od_queue_create(pool, OD_BAND_USER_INITIATED, OD_UNLIMITED, "next"), {0}, &ran};
    od_queue_async(queue, NULL, OD_BAND_DEFAULT, leave_a_job_and_wait, &first);
    assert_comes_true(atomic_load(&first.door.waiting) == 1);
    od_queue_async_with(queue, NULL, OD_QUEUE_BAND, OD_BARRIER, count_job, &ran);
    atomic_store(&grants, 0);
    gate_open(&first.door);
    assert_comes_true(atomic_load(&ran) == 3);
    bool empty = od_queue_wait(queue, HANG_NS) && od_queue_wait(first.next, HANG_NS);
    atomic_store(&grants, -1);
    assert_true(empty);
    end_pool(pool, first.next, queue);
}

/* ---- nodes ---- */

typedef struct {
    odi_owned owned;
    odi_entry_node node;
    atomic_bool done;
} call;

static void count_alone(odi_owned *unused)
{
    atomic_fetch_add(&lines.beside, atomic_fetch_add(&lines.inside, 1));
    odi_spin_pause();
    atomic_fetch_sub(&lines.inside, 1);
}

static void note_done(odi_owned *owned)
{
    atomic_store(&((call *)owned)->done, true);
    atomic_fetch_add(&lines.ran, 1);
}

static const odi_owned_kind call_kind = {count_alone, note_done};

static void submit_calls(void *raw)
{
    call *calls = raw;
    bool none = false; /* the queue has its record */

    for (int each = 0; each < 20; each++) {
        calls[each].owned.kind = &call_kind;
        atomic_store(&calls[each].done, false);
        odi_queue_submit_node(lines.serial, OD_BAND_DEFAULT, odi_job_owned(&calls[each].owned), &calls[each].node,
                              &none);
    }
}

/* Each node serves call after call: in the line of a serial queue, and in the pool for an open one. */
MEMORY_TEST(what_has_a_node_of_its_own_is_never_refused_and_runs_once_and_alone)
{
    static call calls[20];

    for (int open = 0; open < 2; open++) {
        od_pool *pool = open_lines(0, 0);

        if (open)
            od_queue_set_width(lines.serial, OD_UNLIMITED);
        for (uint64_t round = 1; round <= 50; round++) {
            atomic_store(&grants, (int)round % 4);
            while (od_queue_async(lines.target, NULL, OD_QUEUE_BAND, submit_calls, calls) != OD_OK)
                sched_yield(); /* a drainer that has not left yet leaves the line's node to nobody */
            bool all = COMES_TRUE(atomic_load(&lines.ran) == 20 * round);
            atomic_store(&grants, -1);
            assert_true(all);
        }
        assert_true(open || atomic_load(&lines.beside) == 0);
        close_lines(pool);
    }
}

/* More of them than the pool has room for before its worker comes. */
MEMORY_TEST(what_has_a_node_waits_in_the_pool_where_nothing_else_can_keep_it)
{
    enum { CALLS = 5000 };
    static call calls[CALLS];
    gate door = {0};
    bool none = false; /* the queue has its record */

    od_pool *pool = lone_worker();
    od_queue *open = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open");

    memset(&lines, 0, sizeof lines);
    hold_a_job(open, &door);
    atomic_store(&grants, 0);
    for (int each = 0; each < CALLS; each++) {
        calls[each].owned.kind = &call_kind;
        odi_queue_submit_node(open, OD_BAND_DEFAULT, odi_job_owned(&calls[each].owned), &calls[each].node, &none);
    }
    gate_open(&door);
    bool all = COMES_TRUE(atomic_load(&lines.ran) == CALLS);
    atomic_store(&grants, -1);
    assert_true(all);
    end_queue(open);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static gate held;

static void stay(odi_owned *owned) { gate_pass(&held); }

static const odi_owned_kind stay_kind = {stay, note_done};

static void submit_staying(od_queue *queue, call *it, bool *reserve)
{
    it->owned.kind = &stay_kind;
    atomic_store(&it->done, false);
    odi_queue_submit_node(queue, OD_BAND_DEFAULT, odi_job_owned(&it->owned), &it->node, reserve);
}

/* A timer whose queue was cancelled twice, with calls that ran on, took the record that was kept for another one, which
 * then waited awake for one, on the worker that was to end those calls. */
MEMORY_TEST(what_is_reserved_for_one_is_taken_by_no_other)
{
    static call first, second, others;
    od_pool *pool = pool_of(3);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "cancelled");
    od_queue *other = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "another's");
    gate begin = {0};
    int rest = 0;

    held = (gate){0};
    for (int each = 0; each < 3; each++) /* all workers are there */
        od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &begin);
    assert_comes_true(atomic_load(&begin.waiting) == 3);
    gate_open(&begin);
    hold_a_job(queue, &held);
    bool mine = odi_records_reserve(), its = odi_records_reserve();
    assert_true(mine && its);
    while (odi_records_reserve())
        rest++;
    size_t before = mallinfo2().uordblks;
    for (int each = 0; each < 100; each++)
        assert_null(od_timer_create(other, &(od_timer_options){.call = count_call}));
    assert_true(mallinfo2().uordblks < before + 1000); /* what it had is given back */
    odi_records_unreserve();
    od_timer *timer = od_timer_create(other, &(od_timer_options){.call = count_call});
    assert_false(timer == NULL || odi_records_reserve());
    (void)od_timer_cancel(timer);
    od_timer_start(timer);
    od_timer_release(timer);
    assert_true(odi_records_reserve()); /* a timer that is over leaves it to others */
    atomic_store(&grants, 0);
    (void)od_queue_cancel_all(queue);
    submit_staying(queue, &first, &mine);
    assert_false(mine);
    assert_comes_true(atomic_load(&held.waiting) == 2);
    (void)od_queue_cancel_all(queue);
    submit_staying(queue, &second, &mine);
    assert_true(atomic_load(&second.done)); /* discarded */
    assert_true(its);
    submit_staying(other, &others, &its);
    assert_comes_true(atomic_load(&held.waiting) == 3);
    assert_false(its);
    odi_records_unreserve();
    assert_true(odi_records_reserve()); /* what has become a record is reserved no more */
    atomic_store(&grants, -1);
    while (rest-- > 0)
        odi_records_unreserve();
    gate_open(&held);
    assert_true(od_queue_wait(queue, HANG_NS) && od_queue_wait(other, HANG_NS));
    assert_comes_true(all_done(pool) == 7);
    assert_int_equal(metrics_of(pool).cancelled, 1);
    end_pool(pool, queue, other);
}

static void pass_in_a_call(void *door, uint64_t missed) { gate_pass(door); }

/* Its queue's record was closed, and it had to use the one that was kept for it. */
MEMORY_TEST(a_timer_that_goes_on_has_another_record_reserved)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "cancelled");
    gate stays = {0}, called = {0};
    int rest = 0;

    hold_a_job(queue, &stays);
    od_timer *timer = od_timer_create(
        queue, &(od_timer_options){.interval_ns = SECONDS(3600), .call = pass_in_a_call, .context = &called});
    while (odi_records_reserve())
        rest++;
    (void)od_queue_cancel_all(queue);
    od_timer_start(timer);
    assert_comes_true(atomic_load(&called.waiting) == 1);
    odi_records_unreserve();
    gate_open(&called);
    assert_comes_true(od_pool_timers_armed(pool) == 1);
    assert_false(odi_records_reserve());
    while (--rest > 0)
        odi_records_unreserve();
    assert_int_equal(od_timer_cancel(timer), OD_TIMER_PREVENTED);
    od_timer_release(timer);
    gate_open(&stays);
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- what was taken for a shortage ---- */

static struct {
    od_pool *pool;
    od_queue *queue;
    pthread_barrier_t begin;
    int pauses;
    atomic_ullong ran, on_submitters;
} first_two;

static _Thread_local bool submits;

static void note_thread(void *unused)
{
    atomic_fetch_add(&first_two.on_submitters, submits);
    atomic_fetch_add(&first_two.ran, 1);
}

/* The second one comes while the first begins the pool. */
static void *submit_one(void *second)
{
    submits = true;
    pthread_barrier_wait(&first_two.begin);
    while (second != NULL && odi_load_relaxed(&first_two.pool->team.starts) == 0)
        odi_spin_pause();
    for (int i = 0; second != NULL && i < first_two.pauses; i++)
        odi_spin_pause();
    assert_int_equal(od_queue_async(first_two.queue, NULL, OD_QUEUE_BAND, note_thread, NULL), OD_OK);
    return NULL;
}

/* Who found the pool closed, and then open, took that for a record without memory: he ran the job himself, on
 * a suspended queue, and a limit did not judge it. */
TEST(who_submits_while_another_thread_begins_the_pool_is_not_short_of_memory)
{
    for (int round = 0; round < UNLESS_SANITIZED(500, 100); round++) {
        bool limited = round % 2 == 1;

        first_two.pool = pool_of(1);
        first_two.pauses = round / 2 % 8;
        first_two.queue = od_queue_create_with(
            first_two.pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .overflow = OD_OVERFLOW_REFUSED,
                                                .pending_limit = limited});
        atomic_store(&first_two.ran, 0);
        pthread_barrier_init(&first_two.begin, NULL, 2);
        od_queue_suspend(first_two.queue);
        run_on_threads(2, submit_one);
        assert_int_equal(atomic_load(&first_two.ran), 0);
        assert_int_equal(od_queue_pending(first_two.queue), limited ? 1 : 2);
        assert_int_equal(od_queue_refused(first_two.queue), limited);
        od_queue_resume(first_two.queue);
        end_queue(first_two.queue);
        assert_int_equal(atomic_load(&first_two.on_submitters), 0);
        assert_int_equal(od_pool_free(first_two.pool), OD_OK);
        pthread_barrier_destroy(&first_two.begin);
    }
}

/* Its handle is there, and the part that only limits and targets need is not. */
MEMORY_TEST(a_queue_that_memory_is_too_short_for_is_refused_whole)
{
    od_pool *pool = lone_worker();
    od_queue *target = od_queue_create(pool, OD_BAND_DEFAULT, 1, "target"), *queue;
    od_queue *handle = od_queue_create(pool, OD_BAND_DEFAULT, 1, "next");
    const od_queue_options on_target = {.band = OD_BAND_DEFAULT, .width = 1, .target = target};
    const od_queue_options limited = {.band = OD_BAND_DEFAULT, .width = 1, .pending_limit = 1};
    atomic_ullong ran = 0;

    od_queue_release(handle); /* what is given back last serves first */
    for (int there = 0; there < 2; there++) { /* parts of two queues on a target */
        atomic_store(&grants, there);
        assert_null(od_queue_create_with(pool, &on_target));
        assert_null(od_queue_create_with(pool, &limited));
    }
    atomic_store(&grants, -1);
    queue = od_queue_create_with(pool, &on_target);
    assert_ptr_equal(queue, handle);
    assert_int_equal(od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran), OD_OK);
    end_queue(queue);
    assert_int_equal(atomic_load(&ran), 1);
    end_pool(pool, target);
}

/* ---- jobs that travel wrapped ---- */

#define WIDE ((void *)(uintptr_t)(1ull << 60)) /* no address: where there are more records than near tags it is wrapped */

enum { FAR = 128 }; /* more than are free of these, which may come before the last near one */

static odi_record *near[ODI_JOB_NEAR_TAGS + FAR + 1];

/* From here on queues have far records. */
static void use_up_near_tags(void)
{
    static const odi_record_owner nobody;
    int far = 0;

    for (int used = 0; far < FAR; used++) {
        near[used] = odi_record_new(NULL, near, NULL, 0, 0, &nobody, NULL);
        far += near[used]->tag >= ODI_JOB_NEAR_TAGS;
    }
}

static int near_tags_again(void **state)
{
    for (int each = ODI_JOB_NEAR_TAGS + FAR; each >= 0; each--) { /* the near ones last, so that they serve first */
        if (near[each] != NULL)
            odi_record_free(near[each]);
        near[each] = NULL;
    }
    return memory_again(state);
}

static void count_wide(void *context) { atomic_fetch_add(&lines.ran, context == WIDE); }

static od_status submit_wide(od_queue *queue)
{
    return od_queue_async(queue, NULL, OD_QUEUE_BAND, count_wide, WIDE);
}

/* The first piece is the wrapping; the second, where a line is full, its next block. */
TEST_UNSANITIZED(what_travels_wrapped_is_refused_whole_and_leaves_no_memory_behind, NULL, near_tags_again)
{
    enum { TRIES = 1000 };
    od_pool *pool = lone_worker(); /* no thread begins meanwhile */
    od_queue *target = od_queue_create(pool, OD_BAND_DEFAULT, 2, "target");
    od_queue_options kinds[] = {{.label = "open"}, {.width = 1}, {.width = 1, .pending_limit = 1000}, {.width = 1, .target = target}};

    use_up_near_tags();
    for (int each = 0; each < 4; each++) {
        od_queue *queue = od_queue_create_with(pool, &kinds[each]);

        atomic_store(&lines.ran, 0);
        run_in(queue, no_job, NULL);
        atomic_store(&grants, 0);
        assert_int_equal(submit_wide(queue), OD_NO_MEMORY);
        atomic_store(&grants, -1);
        assert_int_equal(od_queue_pending(queue), 0);
        assert_int_equal(submit_wide(queue), OD_OK);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&lines.ran), 1);
        od_queue_suspend(queue);
        atomic_store(&grants, 0);
        while (od_queue_async(queue, NULL, OD_QUEUE_BAND, no_job, NULL) == OD_OK) {
        }
        size_t before = mallinfo2().uordblks;
        for (int try = 0; try < TRIES; try++) {
            atomic_store(&grants, 1);
            assert_int_equal(submit_wide(queue), OD_NO_MEMORY);
        }
        assert_true(mallinfo2().uordblks < before + TRIES * 16); /* no piece is smaller than 32 */
        atomic_store(&grants, -1);
        od_queue_resume(queue);
        end_queue(queue);
    }
    end_pool(pool, target);
}

/* It was given to the pool before, and the line has no memory for it: it counts as begun. */
TEST_UNSANITIZED(what_a_worker_meets_of_a_suspended_queue_without_memory_runs, NULL, near_tags_again)
{
    static void *const contexts[] = {NULL, WIDE};
    static void (*const jobs[])(void *) = {note_who_is_inside, count_wide};
    od_pool *pool = lone_worker();

    memset(&lines, 0, sizeof lines);
    use_up_near_tags();
    for (int each = 0; each < 2; each++) {
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
        gate door = {0};

        hold_a_worker(pool, &door);
        od_queue_async(queue, NULL, OD_QUEUE_BAND, jobs[each], contexts[each]);
        assert_true(odi_queue_find_record(queue, NULL, queue->band, NULL)->tag >= ODI_JOB_NEAR_TAGS);
        od_queue_suspend(queue);
        atomic_store(&grants, 0);
        gate_open(&door);
        bool came = COMES_TRUE(atomic_load(&lines.ran) == (unsigned)each + 1);
        atomic_store(&grants, -1);
        assert_true(came);
        od_queue_resume(queue);
        end_queue(queue);
    }
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- records ---- */

enum { NEW_AT_ONCE = 32 }; /* as in record.c: so many are free, less one, when the first is made */

static struct {
    od_pool *pool;
    int reserved;
} all_records;

static od_status use_another_record(void)
{
    return od_queue_async(od_queue_create(all_records.pool, OD_BAND_DEFAULT, 1, "one more"), NULL, OD_QUEUE_BAND, no_job, NULL);
}

/* But for those of its parent's queues, which begin anew. */
static void find_them_reserved(void *unused)
{
    int others = 0;

    while (use_another_record() == OD_OK)
        others++;
    child_expects(others < NEW_AT_ONCE / 2);
    odi_records_unreserve();
    child_expects(use_another_record() == OD_OK);
    child_expects(use_another_record() == OD_NO_MEMORY);
}

/* Those that were withheld for it were given to the child's queues. */
MEMORY_TEST(where_all_records_are_reserved_each_kind_of_submission_is_refused_and_a_child_has_none_more)
{
    od_queue_options kinds[] = {{.label = "open"}, {.width = 1}, {.width = 1, .pending_limit = 10}};
    od_group *group = od_group_create();

    all_records.pool = pool_of(1);
    od_queue *first = od_queue_create(all_records.pool, OD_BAND_DEFAULT, 1, "first");
    run_in(first, no_job, NULL); /* there are free records too, which are withheld */
    while (odi_records_reserve())
        all_records.reserved++;
    for (int each = 0; each < 6; each++) {
        od_queue *queue = od_queue_create_with(all_records.pool, &kinds[each / 2]);
        od_status status = od_queue_async(queue, each % 2 ? group : NULL, OD_QUEUE_BAND, no_job, NULL);

        assert_int_equal(status, OD_NO_MEMORY);
        assert_int_equal(od_queue_pending(queue) + od_queue_refused(queue), 0);
        od_queue_release(queue);
    }
    assert_true(od_group_wait(group, 0));
    assert_child_succeeds(find_them_reserved, NULL);
    while (all_records.reserved-- > 0)
        odi_records_unreserve();
    od_group_release(group);
    end_pool(all_records.pool, first);
}

/* ---- batches ---- */

static void note_order(void *number)
{
    atomic_fetch_add(&lines.beside, atomic_fetch_add(&lines.ran, 1) != (uintptr_t)number);
}

/* One piece of memory cannot be had: what is left of the batch comes behind it, one by one. */
MEMORY_TEST(a_batch_that_one_block_is_refused_to_is_taken_whole_and_in_order)
{
    enum { JOBS = 200 };
    static _Alignas(16) char storage[OD_BATCH_BYTES];
    od_pool *pool = open_lines(0, 0);

    od_queue_suspend(lines.serial);
    od_batch *batch = od_batch_begin(storage, lines.serial, NULL, OD_QUEUE_BAND);
    for (uintptr_t job = 0; job < JOBS; job++)
        od_batch_add(batch, note_order, (void *)job);
    assert_int_equal(od_queue_async(lines.serial, NULL, OD_QUEUE_BAND, no_job, NULL), OD_OK); /* it has its record */
    atomic_store(&refusals, 1);
    atomic_store(&grants, 0);
    od_batch_submit(batch);
    atomic_store(&grants, -1);
    assert_int_equal(atomic_load(&refusals), 0);
    assert_int_equal(od_queue_pending(lines.serial), JOBS + 1);
    od_queue_resume(lines.serial);
    assert_true(od_queue_wait(lines.serial, HANG_NS));
    assert_int_equal(atomic_load(&lines.ran), JOBS);
    assert_int_equal(atomic_load(&lines.beside), 0);
    close_lines(pool);
}

GUARDED_PROGRAM
