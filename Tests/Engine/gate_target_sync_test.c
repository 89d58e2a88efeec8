/* gate/target.c: sync callers of queues on queues: where one is then, what is waited for, and which would wait
 * for itself. */
#include "Support/crowd.h"
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

static crowd visitors;

/* ---- where one is ---- */

static struct {
    od_queue *target, *mid, *high;
    int wrong;
} chain;

static void look_around(void *unused)
{
    chain.wrong += od_queue_of_thread(0) != chain.high;
    chain.wrong += !od_queue_is_current(chain.high) || !od_queue_is_current(chain.mid) ||
                   !od_queue_is_current(chain.target);
}

static void look_around_mid(void *unused)
{
    chain.wrong += od_queue_is_current(chain.high) || !od_queue_is_current(chain.mid) ||
                   !od_queue_is_current(chain.target);
}

QUEUE_TEST(a_job_is_on_all_targets_of_its_queue)
{
    od_scope scope;

    for (size_t i = 0; i < WIDTHS; i++) {
        chain.target = queue_of(widths[i]);
        chain.mid = queue_on(chain.target, widths[(i + 1) % WIDTHS], "mid");
        chain.high = queue_on(chain.mid, widths[(i + 2) % WIDTHS], "high");
        chain.wrong = 0;
        run_in(chain.high, look_around, NULL);
        run_in(chain.mid, look_around_mid, NULL);
        run_synced(chain.high, look_around, NULL);
        od_queue_sync_barrier_begin(chain.mid, &scope);
        look_around_mid(NULL);
        od_queue_sync_end(&scope);
        assert_false(od_queue_is_current(chain.target));
        assert_int_equal(chain.wrong, 0);
        release_queues(chain.high, chain.mid, chain.target);
    }
}

QUEUE_TEST(a_shared_target_gives_no_order_but_is_around)
{
    chain.target = queue_with((od_queue_options){.label = "everybody's", .shared = true});
    chain.mid = queue_on(chain.target, 2, "mid");
    chain.high = queue_on(chain.mid, 1, "high");
    chain.wrong = 0;
    add(chain.high, look_around, NULL);
    end_queue(chain.high);
    assert_int_equal(chain.wrong, 0);
    release_queues(chain.mid, chain.target);
}

/* ---- whose turn it is ---- */

static void *sync_again_and_again(void *queue)
{
    for (int round = 0; round < UNLESS_SANITIZED(500, 60); round++) {
        run_synced(queue, crowd_visit, &visitors);
        add(queue, crowd_visit, &visitors);
    }
    return NULL;
}

QUEUE_TEST(sync_callers_take_turns_through_the_chain)
{
    od_queue *target = queue_of(1), *mid = queue_on(target, OD_UNLIMITED, "mid");
    od_queue *queues[3] = {target, mid, queue_on(mid, 1, "high")};
    pthread_t threads[6];

    crowd_begin(&visitors);
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, sync_again_and_again, queues[i % 3]);
    join_threads(threads, 6);
    for (int i = 2; i >= 0; i--)
        end_queue(queues[i]);
    assert_int_equal(atomic_load(&visitors.visits), 6 * 2 * UNLESS_SANITIZED(500, 60));
    assert_int_equal(atomic_load(&visitors.most), 1);
}

static struct {
    od_queue *queue;
    atomic_int inside;
} caller;

static void *sync_and_say_so(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(caller.queue, &scope);
    atomic_store(&caller.inside, 1);
    od_queue_sync_end(&scope);
    return unused;
}

/* The chain's upper queues are free: it is the target's turn that is waited for. */
QUEUE_TEST(a_sync_caller_waits_for_what_runs_on_the_target)
{
    od_queue *target = queue_of(1), *mid = queue_on(target, OD_UNLIMITED, "mid");
    gate door = {0};
    pthread_t thread;

    caller.queue = queue_on(mid, 1, "high");
    atomic_store(&caller.inside, 0);
    hold_a_job(target, &door);
    pthread_create(&thread, NULL, sync_and_say_so, NULL);
    assert_comes_true(waiting_in(target) == 1 || atomic_load(&caller.inside) == 1);
    int inside = atomic_load(&caller.inside);
    gate_open(&door);
    pthread_join(thread, NULL);
    assert_int_equal(inside, 0);
    assert_int_equal(atomic_load(&caller.inside), 1);
    release_queues(caller.queue, mid, target);
}

static void sync_onto_a_queue_on_this_one(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(chain.high, &scope);
}

static void sync_from_the_target(void *unused)
{
    od_queue *target = queue_of(1);

    chain.high = queue_on(queue_on(target, OD_UNLIMITED, "mid"), 1, "high");
    add(target, sync_onto_a_queue_on_this_one, NULL);
    odi_clock_sleep(HANG_NS);
}

static void sync_from_a_sibling(void *unused)
{
    od_queue *target = queue_of(1);
    od_scope first, second;

    chain.high = queue_on(target, 1, "high");
    od_queue_sync_begin(queue_on(target, 1, "sibling"), &first);
    od_queue_sync_barrier_begin(chain.high, &second);
}

static void sync_onto_the_own_target(void *unused)
{
    od_scope first, second;
    od_queue *target = queue_of(1);

    od_queue_sync_begin(queue_on(target, 1, "high"), &first);
    od_queue_sync_begin(target, &second);
}

static void sync_from_the_targets_barrier(void *unused)
{
    od_scope first, second;
    od_queue *target = queue_of(OD_UNLIMITED);

    od_queue_sync_barrier_begin(target, &first);
    od_queue_sync_begin(queue_on(target, 1, "high"), &second);
}

QUEUE_TEST(a_sync_that_would_wait_for_itself_traps_by_name)
{
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
    od_scope scope;

    od_queue_sync_begin(chain.high, &scope);
    atomic_fetch_add(&visitors.visits, 1);
    od_queue_sync_end(&scope);
}

QUEUE_TEST(a_closure_of_a_concurrent_target_may_sync_onto_a_queue_on_it)
{
    chain.target = queue_of(OD_UNLIMITED);
    chain.high = queue_on(chain.target, 1, "high");

    crowd_begin(&visitors);
    for (int job = 0; job < 20; job++) { /* fewer than there are spare workers: each may wait */
        add(chain.target, sync_within, NULL);
        add(chain.high, crowd_visit, &visitors);
    }
    assert_true(od_queue_wait(chain.target, HANG_NS));
    end_queue(chain.high);
    assert_int_equal(atomic_load(&visitors.visits), 40);
    od_queue_release(chain.target);
}

static void fill_beyond_the_limit(void *unused)
{
    add_many(chain.high, 20, crowd_visit, &visitors);
}

/* Each of the target's places may be held by one who would wait for room, or for his turn to run it himself. */
QUEUE_TEST(a_full_queue_lets_in_who_is_on_its_target)
{
    for (int round = 0; round < 4; round++) {
        chain.target = queue_of(1 + round % 2);
        chain.high = queue_with((od_queue_options){
            .width = 1, .label = "limited", .pending_limit = 2, .overflow = (od_overflow)(round / 2),
            .target = chain.target});
        crowd_begin(&visitors);
        add_many(chain.target, 4, fill_beyond_the_limit, NULL);
        assert_true(od_queue_wait(chain.target, HANG_NS));
        end_queue(chain.high);
        assert_int_equal(atomic_load(&visitors.visits), 80);
        assert_int_equal(atomic_load(&visitors.most), 1);
        od_queue_release(chain.target);
    }
}

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
