/* Shortages that went wrong once: jobs that waited for a worker which could not be had, workers
 * that turned in circles, and a queue that waited for itself. */
#include "Support/looks.h"
#include "Support/memory_failure.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"
#include "include/od_external.h"
#include "include/od_machine.h"
#include "os/source.h"
#include "include/od_timer.h"

#include <malloc.h>

/* ---- memory that cannot be had ---- */

/* The pool's first threads are there, and have what they need. */
static void begin_pool(od_pool *pool)
{
    atomic_ullong ran = 0;

    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    assert_comes_true(odi_idle_sleepers(&pool->team.sites[0].idle) > 0);
}

/* Who had asked for it took it for asked for, for ever. */
TEST_WITH(a_monitor_that_was_missed_comes_when_threads_are_to_be_had_again, NULL, threads_again)
{
    od_pool *pool = pool_of(1);
    gate door = {0};
    atomic_ullong ran = 0;

    begin_pool(pool);
    atomic_store(&before_thread, no_thread);
    hold_a_worker(pool, &door);
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(metrics_of(pool).thread_failures > 0);
    atomic_store(&before_thread, NULL);
    assert_comes_true(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) == OD_OK && atomic_load(&ran) > 1);
    gate_open(&door);
    od_pool_free(pool);
}

static void never(void *unused) { abort(); }

/* It used to run on its submitter, in a job of the pool that was none of a worker's. */
MEMORY_TEST(a_job_that_memory_is_too_short_for_is_refused_whole)
{
    od_pool *pool = pool_of(1);

    begin_pool(pool);
    atomic_store(&grants, 0);
    od_status status = od_pool_submit(pool, OD_BAND_UTILITY, never, NULL); /* the band's first needs a block */
    atomic_store(&grants, -1);
    assert_int_equal(status, OD_NO_MEMORY);
    assert_int_equal(all_done(pool), 1);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* The first record of the process, which is that of the first queue with a job, needs address space. It
 * used to run there, beside the suspension. */
TEST_FIRST(a_submission_to_a_suspended_queue_is_refused_for_want_of_a_record, NULL, memory_again)
{
    static const uint32_t flags[] = {0, OD_BARRIER};
    od_pool *pool = pool_of(1);
    od_queue *below = od_queue_create(pool, OD_BAND_DEFAULT, 1, "below");
    od_queue *queues[2] = {od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "suspended")};

    if (SANITIZED)
        skip();
    queues[1] = od_queue_create_with(pool, &(od_queue_options){.width = 2, .target = below});
    begin_pool(pool);
    od_queue_suspend(queues[0]);
    od_queue_suspend(below);
    atomic_store(&grants, 0);
    for (int each = 0; each < 4; each++) {
        od_status status =
            od_queue_async_with(queues[each / 2], NULL, OD_QUEUE_BAND, flags[each % 2], never, NULL);

        assert_int_equal(status, OD_NO_MEMORY);
    }
    atomic_store(&grants, -1);
    od_queue_resume(queues[0]);
    od_queue_resume(below);
    for (int each = 0; each < 2; each++)
        od_queue_release(queues[each]);
    end_pool(pool, below);
}

/* Slots that say that they have a thread. */
static int slots_present(od_pool *pool)
{
    int count = 0;

    odi_lock_acquire(&pool->team.lock);
    for (int slot = 0; slot < pool->team.capacity; slot++) {
        const odi_worker *worker = odi_load_relaxed(&pool->team.slots[slot]); /* relaxed: locked */

        count += worker != NULL && worker->present;
    }
    odi_lock_release(&pool->team.lock);
    return count;
}

/* Whichever of a first job's allocations fails: the worker, its table, the injector's block. */
MEMORY_TEST(a_first_job_runs_or_is_refused_whichever_piece_of_memory_is_missing)
{
    enum { MORE_THAN_IT_TAKES = 12 };

    for (int granted = 0; granted < MORE_THAN_IT_TAKES; granted++) {
        od_pool *pool = pool_of(2);
        atomic_ullong ran = 0;
        bool first, second;

        atomic_store(&grants, granted);
        od_status status = od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
        bool refused = status != OD_OK;
        assert_int_equal(status, refused ? OD_NO_MEMORY : OD_OK);
        assert_int_equal(slots_present(pool), workers_present(pool));
        first = refused || COMES_TRUE(atomic_load(&ran) == 1); /* while memory is short */
        atomic_store(&grants, -1);
        assert_int_equal(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran), OD_OK);
        second = COMES_TRUE(atomic_load(&ran) == (refused ? 1 : 2));
        if (!first || !second)
            print_error("with %d pieces of memory\n", granted);
        assert_true(first && second);
        od_pool_free(pool);
    }
}

/* The second piece is the address space of its forks. (The C library keeps a few of the first.) */
MEMORY_TEST(places_whose_forks_cannot_be_had_are_given_back)
{
    enum { PLACES = 100 };
    od_pool *pool = pool_of(1);
    od_fork_scope scope;
    size_t before = mallinfo2().uordblks;

    for (int each = 0; each < PLACES; each++) {
        atomic_store(&grants, 1);
        od_forks_enter(pool, &scope);
        od_forks_leave(&scope);
    }
    atomic_store(&grants, -1);
    assert_in_range(mallinfo2().uordblks - before, 0, PLACES / 2 * sizeof(odi_forks));
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* False: memory is short. What it had is given back in any case. */
typedef bool maker(void);

static bool make_a_machine(void)
{
    const od_machine *machine = od_machine_discover(NULL, NULL, 0);
    bool made = machine != NULL && od_machine_plan(machine, "core", 4, NULL, NULL, NULL, 0);

    od_machine_free(machine);
    return made;
}

static bool make_a_pool(void)
{
    od_pool_options options = options_for(2);
    od_pool *pool;

    return od_pool_create(&options, &pool, NULL, 0) == OD_OK && od_pool_free(pool) == OD_OK;
}

/* This process's CPUs, where nothing else is known. */
static int only_cpu;
static od_pool *follower;

static int ask_cpus(const odi_source *source, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    odi_cpu_mask_add(mask, only_cpu);
    return 0;
}

static FILE *open_nothing(const odi_source *source, const char *path)
{
    errno = ENOENT;
    return NULL;
}

static const odi_source bare = {.open = open_nothing, .affinity = ask_cpus, .root = ""};

static bool follow_other_cpus(void)
{
    only_cpu = 1 - odi_cpu_mask_next(&follower->limits.cpus, 0);
    (void)od_pool_set_workers(follower, 0); /* it looks now */
    return odi_cpu_mask_has(&follower->limits.cpus, only_cpu);
}

static bool make_often(maker *make, int granted, int times)
{
    bool made = false;

    for (int i = 0; i < times; i++) {
        atomic_store(&grants, granted);
        made = make();
        atomic_store(&grants, -1);
    }
    return made;
}

MEMORY_TEST(whichever_piece_of_memory_is_missing_the_others_are_given_back)
{
    enum { TIMES = 50 };
    static maker *const makers[] = {make_a_machine, make_a_pool, follow_other_cpus};
    od_pool_options options = options_for(0);

    options.placement = OD_PLACEMENT_CORE;
    follower = pool_with(options, (odi_pool_world){.source = &bare});
    for (int i = 0; i < 3; i++) {
        for (int granted = 0; !make_often(makers[i], granted, TIMES); granted++) { /* the C library keeps some */
            size_t before = mallinfo2().uordblks;
            (void)make_often(makers[i], granted, TIMES);
            if (mallinfo2().uordblks > before + TIMES * 24) /* the C library keeps some for good, once; no piece is smaller than 32 */
                fail_msg("%d: with %d pieces others stay, %zu bytes", i, granted, mallinfo2().uordblks - before);
        }
    }
    assert_int_equal(od_pool_free(follower), OD_OK);
}

/* Whatever was made without that piece. */
static void use_and_free(od_pool *pool)
{
    atomic_ullong ran = 0;
    gate doors[3] = {0};

    while (od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) != OD_OK) {
    }
    assert_int_equal(od_pool_set_workers(pool, 3), OD_OK);
    for (int i = 0; i < 3; i++) {
        while (od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &doors[i]) != OD_OK) {
        }
    }
    for (int i = 0; i < 3; i++)
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    assert_comes_true(atomic_load(&ran) == 1);
    open_gates(doors, 3);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

MEMORY_TEST(whichever_single_piece_of_memory_is_missing_a_pool_is_refused_or_serves)
{
    enum { KINDS = 2 };
    odi_pool_world world = {.source = &bare};
    od_pool_options options = options_for(2);
    int refused = 0;

    for (int kind = 0; kind < KINDS; kind++) {
        for (int granted = 0, missing = 1; missing; granted++) {
            od_pool *pool;

            atomic_store(&of_every_kind, kind == 1);
            atomic_store(&refusals, 1);
            atomic_store(&grants, granted);
            od_status status = odi_pool_create_in(&options, &world, &pool, NULL, 0);
            if (status == OD_OK)
                use_and_free(pool);
            else
                assert_int_equal(status, OD_NO_MEMORY);
            refused += status != OD_OK;
            missing = atomic_load(&refusals) == 0;
            atomic_store(&grants, -1);
        }
    }
    assert_true(refused > KINDS);
}

/* ---- what has no result to refuse it with ---- */

static od_pool *pool_in_want(od_queue **suspended)
{
    od_pool *pool = pool_of(1);

    begin_pool(pool);
    *suspended = od_queue_create(pool, OD_BAND_DEFAULT, 1, "suspended");
    od_queue_suspend(*suspended);
    return pool;
}

/* Its line is empty, and has no block yet. */
static void submit_a_batch(void *unused)
{
    static _Alignas(16) char storage[OD_BATCH_BYTES];
    od_queue *queue;

    (void)pool_in_want(&queue);
    od_batch *batch = od_batch_begin(storage, queue, NULL, OD_QUEUE_BAND);
    for (int job = 0; job < 100; job++)
        od_batch_add(batch, never, NULL);
    atomic_store(&grants, 0);
    od_batch_submit(batch);
}

static void submit_what_is_due(void *unused)
{
    od_queue *queue;

    (void)pool_in_want(&queue);
    atomic_store(&grants, 0);
    od_queue_async_due_task(queue, OD_QUEUE_BAND, NULL);
}

static void try_without_memory(void *unused)
{
    od_queue *queue;

    (void)pool_in_want(&queue);
    atomic_store(&grants, 0);
    (void)od_queue_try_async(queue, NULL, OD_QUEUE_BAND, 0, never, NULL);
}

static void submit_without_a_thread(void *unused)
{
    atomic_store(&before_thread, no_thread);
    od_pool_submit_executor_job(pool_of(1), OD_BAND_DEFAULT, NULL);
}

static void set_a_target(void *unused)
{
    od_queue *queue;
    od_pool *pool = pool_in_want(&queue);
    od_queue *inactive = od_queue_create_with(pool, &(od_queue_options){.inactive = true, .label = "inactive"});

    atomic_store(&grants, 0);
    od_queue_set_target(inactive, queue);
}

MEMORY_TEST(what_cannot_be_refused_traps_with_the_reason)
{
    static const char memory[] = "pool \"test\": a submission can never run (out of memory)";

    assert_child_traps(submit_a_batch, NULL, memory);
    assert_child_traps(submit_what_is_due, NULL, memory);
    assert_child_traps(try_without_memory, NULL, memory);
    assert_child_traps(submit_without_a_thread, NULL, "can never run (no thread can be started)");
    assert_child_traps(set_a_target, NULL, "TaskQueue.setTarget: out of memory (\"inactive\")");
}

typedef struct {
    od_pool *pool;
    int jobs;
    gate *door;
    atomic_ullong *ran;
} spawner;

static void spawn_and_stay(void *raw)
{
    spawner *it = raw;

    submit_many(it->pool, it->jobs, count_job, it->ran);
    gate_pass(it->door);
}

/* A worker that is one too many hands its jobs over before it goes; where there is no memory
 * for that, it stays and runs them. */
MEMORY_TEST(a_worker_that_cannot_hand_its_jobs_over_runs_them)
{
    enum { JOBS = 20000 }; /* more than a block of the injector */
    atomic_ullong ran = 0;
    gate doors[2] = {0};

    od_pool *pool = pool_of(2);
    spawner spawners[2] = {{pool, JOBS, &doors[0], &ran}, {pool, JOBS, &doors[1], &ran}};
    for (int i = 0; i < 2; i++)
        od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, spawn_and_stay, &spawners[i]);
    for (int i = 0; i < 2; i++)
        assert_comes_true(atomic_load(&doors[i].waiting) == 1);
    atomic_store(&grants, 0);
    od_pool_set_workers(pool, 1);
    open_gates(doors, 2);
    bool all = COMES_TRUE(atomic_load(&ran) == 2 * JOBS); /* while memory is short */
    atomic_store(&grants, -1);
    assert_true(all);
    od_pool_free(pool);
}

static struct {
    uintptr_t lowest, highest; /* the only worker's, between jobs */
    int jobs;
} depth;

static void note_depth(void *unused)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    depth.lowest = depth.jobs == 0 || here < depth.lowest ? here : depth.lowest;
    depth.highest = here > depth.highest ? here : depth.highest;
    depth.jobs++;
}

/* Each turn of its drainer used to lie on top of the one before. */
MEMORY_TEST(a_long_line_without_memory_needs_no_deep_stack)
{
    enum { TURNS = 400, JOBS = TURNS * 64 };

    atomic_ullong others = 0;
    gate door = {0};
    od_pool *pool = lone_worker(); /* a spare would have a stack of its own */
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "long");
    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    add_many(queue, JOBS, note_depth, NULL);
    for (int i = 0; i < 10; i++) /* for whom the drainer goes back in line */
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &others);
    atomic_store(&grants, 0); /* the worker has no ring of this band yet */
    gate_open(&door);
    assert_comes_true(atomic_load(&others) == 10); /* who waits for the queue would override its band */
    atomic_store(&grants, -1);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(depth.jobs, JOBS);
    assert_in_range(depth.highest - depth.lowest, 0, 4096);
    end_pool(pool, queue);
}

enum { THREADS = 3, JOBS_EACH = 300 };

static struct {
    od_queue *target, *queue;
    atomic_ullong ran, accepted;
} tree;

static void *submit_to_the_tree(void *unused)
{
    for (int job = 0; job < JOBS_EACH; job++)
        atomic_fetch_add(&tree.accepted, od_queue_async(job % 5 == 0 ? tree.target : tree.queue, NULL, OD_QUEUE_BAND,
                                                        count_job, &tree.ran) == OD_OK);
    return unused;
}

static bool has_all_places(od_queue *queue)
{
    return LOOK(queue, queue->gate.held == 0 && queue->gate.coming == 0 && !odi_queue_has_passes(queue));
}

/* A pass that its target's line has no memory for waits in its queue's node; there is one. */
MEMORY_TEST(queues_on_a_queue_without_memory_run_everything)
{
    pthread_t threads[THREADS];

    for (int round = 0; round < 20; round++) {
        od_pool *pool = pool_of(3);
        od_queue_options options = {.band = OD_BAND_DEFAULT, .width = 2, .label = "target"};

        tree.target = od_queue_create_with(pool, &options);
        options.target = tree.target;
        options.width = 3;
        tree.queue = od_queue_create_with(pool, &options);
        atomic_store(&tree.ran, 0);
        atomic_store(&tree.accepted, 0);
        begin_pool(pool);
        start_threads(threads, THREADS, submit_to_the_tree);
        atomic_store(&grants, round % 4);
        join_threads(threads, THREADS);
        bool all = COMES_TRUE(atomic_load(&tree.ran) == atomic_load(&tree.accepted));
        atomic_store(&grants, -1);
        assert_true(all);
        assert_comes_true(has_all_places(tree.queue) && has_all_places(tree.target));
        end_pool(pool, tree.queue, tree.target);
    }
}

enum { PASSES = 3 };

static struct {
    atomic_int met;
    atomic_ullong ran;
} meeting;

/* Runs beside the others, or never ends. */
static void meet(void *unused)
{
    atomic_fetch_add(&meeting.met, 1);
    while (atomic_load(&meeting.met) < PASSES)
        sched_yield();
    atomic_fetch_add(&meeting.ran, 1);
}

/* As many drainers as that, which had begun and went back in line, where memory is too short for their passes. */
static void line_up_without_memory(od_queue *queue)
{
    odi_settlement called[PASSES];

    od_queue_suspend(queue);
    atomic_store(&meeting.met, 0);
    atomic_store(&meeting.ran, 0);
    add_many(queue, PASSES, meet, NULL);
    odi_lock_acquire(&queue->watch.lock);
    queue->gate.suspensions = 0;
    for (int each = 0; each < PASSES; each++) {
        called[each] = odi_queue_settle(queue);
        queue->gate.coming = 0;
    }
    odi_lock_release(&queue->watch.lock);
    atomic_store(&grants, 0); /* the band's first entry needs a block */
    for (int each = 0; each < PASSES; each++)
        odi_queue_carry_out(queue, called[each]);
    atomic_store(&grants, -1);
    assert_true(LOOK(queue, queue->pass_is_out && queue->passes[OD_BAND_UTILITY] == 0 && queue->drainers_waiting == PASSES));
}

/* One more goes back in line then, and there is memory again: it brings all passes but the one of the node. */
static void line_up_another(od_queue *queue)
{
    odi_taken nothing = {0};

    odi_lock_acquire(&queue->watch.lock);
    queue->gate.held++;
    odi_lock_release(&queue->watch.lock);
    odi_queue_requeue_drainer(queue, &nothing);
}

/* One of three passes waits in the queue's node, and the others follow when that comes up: once one of these followed and the
 * other was lost, and its place was held for ever. */
MEMORY_TEST(passes_that_memory_was_too_short_for_all_come_up_where_there_is_memory_again)
{
    enum { ALONE, ON_A_TARGET, BEFORE_ANOTHER, KINDS };
    for (int kind = ALONE; kind < KINDS; kind++) {
        od_queue_options wide = {.band = OD_BAND_UTILITY, .width = PASSES + 1, .label = "wide"};
        atomic_ullong alone = 0;
        gate door = {0};

        od_pool *pool = pool_without_spares(PASSES);
        od_queue *target = od_queue_create_with(pool, &wide);
        wide.target = kind == ON_A_TARGET ? target : NULL;
        od_queue *queue = od_queue_create_with(pool, &wide);
        submit_many(pool, PASSES, gate_job, &door);
        assert_comes_true(atomic_load(&door.waiting) == PASSES);
        line_up_without_memory(queue);
        if (kind == BEFORE_ANOTHER)
            line_up_another(queue);
        gate_open(&door);
        assert_comes_true(atomic_load(&meeting.ran) == PASSES);
        assert_int_equal(od_queue_async_with(queue, NULL, OD_QUEUE_BAND, OD_BARRIER, count_job, &alone), OD_OK);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&alone), 1);
        assert_comes_true(has_all_places(queue) && has_all_places(target));
        end_pool(pool, queue, target);
    }
}

static struct {
    od_pool *pool;
    gate door;
    atomic_ullong ran;
    bool one, several;
} past_the_deadline;

static void submit_without_memory(void *unused)
{
    odi_entry job = odi_job_plain(count_job, &past_the_deadline.ran, 0);

    gate_pass(&past_the_deadline.door);
    atomic_store(&grants, 0); /* the worker has no ring of this band */
    past_the_deadline.one = odi_pool_submit(past_the_deadline.pool, OD_BAND_UTILITY, job);
    past_the_deadline.several = odi_pool_submit_several(past_the_deadline.pool, OD_BAND_UTILITY,
                                                        (odi_entry[]){job, job}, 2);
    atomic_store(&grants, -1);
}

/* Inside it was an error, outside the job is discarded and counted. */
MEMORY_TEST(what_a_stuck_job_submits_past_the_deadline_is_discarded_though_memory_is_short)
{
    past_the_deadline.pool = lone_worker();
    od_pool_submit(past_the_deadline.pool, OD_BAND_DEFAULT, submit_without_memory, NULL);
    assert_comes_true(atomic_load(&past_the_deadline.door.waiting) == 1);
    assert_stop(past_the_deadline.pool, 0, 0, 0, 1);
    gate_open(&past_the_deadline.door);
    assert_comes_true(all_done(past_the_deadline.pool) == 4);
    assert_true(past_the_deadline.one && past_the_deadline.several);
    assert_int_equal(atomic_load(&past_the_deadline.ran), 0);
    assert_int_equal(od_pool_free(past_the_deadline.pool), OD_OK);
}

/* ---- threads that cannot be had ---- */

static void never_due(void *unused, od_timer *timer) { abort(); }

#define THREAD_TEST(name) TEST_WITH(name, NULL, threads_again)

/* It was armed, and nobody was there for whom it was due, or heard of it. */
THREAD_TEST(a_timer_of_work_elsewhere_is_refused_where_not_one_thread_is_to_be_had)
{
    od_pool *pool = pool_of(1);
    od_timer_options options = {.delay_ns = INT64_MAX};

    atomic_store(&before_thread, no_thread);
    assert_null(od_timer_create_elsewhere(pool, &options, never_due));
    atomic_store(&before_thread, NULL);
    od_timer *timer = od_timer_create_elsewhere(pool, &options, never_due);
    assert_non_null(timer);
    assert_true(metrics_of(pool).threads_started > 0);
    od_timer_start(timer);
    (void)od_timer_cancel(timer);
    od_timer_release(timer);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void open_gate(void *door) { gate_open(door); }

static void say_so_and_pass(void *door)
{
    od_blocking_begin();
    gate_pass(door);
    od_blocking_end();
}

/* The only worker waits for a job that its submitter can run, and nobody else. */
THREAD_TEST(a_submitter_runs_what_the_only_worker_waits_for_when_no_other_can_be_had)
{
    od_pool *pool = pool_of(2);
    gate door = {0};

    od_pool_submit(pool, OD_BAND_USER_INTERACTIVE, say_so_and_pass, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    atomic_store(&before_thread, no_thread);
    od_pool_submit(pool, OD_BAND_DEFAULT, open_gate, &door);
    assert_comes_true(all_done(pool) == 2); /* while no thread is to be had */
    od_pool_free(pool);
}

static struct {
    od_pool *pool;
    gate door;
} inside;

static void submit_the_opener_and_wait(void *unused)
{
    od_pool_submit(inside.pool, OD_BAND_DEFAULT, open_gate, &inside.door);
    gate_pass(&inside.door);
}

/* Nobody submits any more when threads are to be had again: the monitor tries it. */
THREAD_TEST(a_worker_that_was_missed_comes_when_threads_are_to_be_had_again)
{
    gate door = {0};
    atomic_ullong ran = 0;

    inside.pool = lone_worker();
    od_pool_submit(inside.pool, OD_BAND_USER_INTERACTIVE, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    od_pool_submit(inside.pool, OD_BAND_DEFAULT, count_job, &ran); /* arms the monitor */
    gate_open(&door);
    assert_comes_true(odi_load_relaxed(&inside.pool->team.attention) & ODI_MONITOR_OFF);
    od_pool_set_workers(inside.pool, 2);
    atomic_store(&before_thread, no_thread);
    od_pool_submit(inside.pool, OD_BAND_DEFAULT, submit_the_opener_and_wait, NULL);
    assert_comes_true(atomic_load(&inside.door.waiting) == 1);
    assert_comes_true(metrics_of(inside.pool).thread_failures > 0);
    atomic_store(&before_thread, NULL);
    assert_comes_true(all_done(inside.pool) == 4);
    od_pool_free(inside.pool);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
