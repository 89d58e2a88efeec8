/* gate/: callers that wait for their permit and run on their own thread. */
#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

SCENE(sync_callers_and_jobs_take_turns,
      "queue q width 1; "
      "thread 3 {repeat 400 {add q {come; a; go}; inside q; come; a; go; outside; inside q; come; a; go}}; join; "
      "wait q; a = 3600; pool.most = 1")

SCENE(jobs_run_beside_the_caller_that_a_barriers_end_let_in,
      "queue q; inside q!; thread {inside q; In}; q.waiting -> 1; add q a; outside; In -> 1; a -> 1")

static struct {
    od_queue *queue;
    atomic_bool goes, is_over;
    atomic_int inside, overlaps;
} opening;

static void *sync_while_it_opens(void *unused)
{
    od_scope scope;

    while (!atomic_load(&opening.goes))
        odi_spin_pause();
    od_queue_sync_begin(opening.queue, &scope);
    atomic_fetch_add(&opening.inside, 1);
    odi_clock_sleep(50 * ODI_MICROSECOND);
    atomic_fetch_sub(&opening.inside, 1);
    od_queue_sync_end(&scope);
    return unused;
}

static void *open_it(void *unused)
{
    while (!atomic_load(&opening.goes))
        odi_spin_pause();
    od_queue_resume(opening.queue);
    return unused;
}

static void be_alone(void *unused)
{
    if (atomic_load(&opening.inside) != 0)
        atomic_fetch_add(&opening.overlaps, 1);
    atomic_store(&opening.is_over, true);
}

/* Who looked while it was suspended, and came in when it was open, is waited for by a barrier. */
QUEUE_TEST(a_barrier_waits_for_a_sync_caller_that_the_queue_opened_for)
{
    pthread_t caller, opener;
    od_queue_options options = {.band = OD_BAND_DEFAULT, .width = OD_UNLIMITED, .label = "test"};

    for (int round = 0; round < UNLESS_SANITIZED(300, 60); round++) {
        opening.queue = od_queue_create_with(pool, &options);
        assert_non_null(opening.queue);
        od_queue_suspend(opening.queue);
        atomic_store(&opening.goes, false);
        atomic_store(&opening.is_over, false);
        pthread_create(&caller, NULL, sync_while_it_opens, NULL);
        pthread_create(&opener, NULL, open_it, NULL);
        atomic_store(&opening.goes, true);
        pthread_join(opener, NULL);
        od_queue_async_with(opening.queue, NULL, OD_QUEUE_BAND, OD_BARRIER, be_alone, NULL);
        assert_comes_true(atomic_load(&opening.is_over));
        pthread_join(caller, NULL);
        end_queue(opening.queue);
    }
    assert_int_equal(atomic_load(&opening.overlaps), 0);
}

static struct {
    od_queue *queue;
    atomic_bool is_in, stops, interrupted, barrier_is_there;
    atomic_ullong nested;
} again;

/* In the middle of a sync, for as long as the barrier needs to line up: not for ever, because it may need a
 * lock that the interrupted thread holds. */
static void let_the_barrier_come(int signal)
{
    int64_t until = odi_clock_after(5 * ODI_MILLISECOND);

    atomic_store(&again.interrupted, true);
    while (!atomic_load(&again.barrier_is_there) && odi_clock_now() < until)
        odi_spin_pause();
}

static void *sync_within_sync(void *unused)
{
    od_scope outer, inner;

    od_queue_sync_begin(again.queue, &outer);
    atomic_store(&again.is_in, true);
    while (!atomic_load(&again.stops)) {
        od_queue_sync_begin(again.queue, &inner);
        atomic_fetch_add(&again.nested, 1);
        od_queue_sync_end(&inner);
    }
    od_queue_sync_end(&outer);
    return unused;
}

static void assert_it_goes_on(void)
{
    uint64_t before = atomic_load(&again.nested);

    assert_comes_true(atomic_load(&again.nested) > before + 1);
}

/* The barrier waits for the outer one. `suspends`: the queue is, which holds nobody up who is inside. */
static void a_first_barrier_comes(bool suspends)
{
    int64_t until;
    pthread_t caller;

    again.queue = queue_of(OD_UNLIMITED);
    if (suspends)
        add(again.queue, no_job, NULL); /* it is open */
    atomic_store(&again.is_in, false);
    atomic_store(&again.stops, false);
    atomic_store(&again.interrupted, false);
    atomic_store(&again.barrier_is_there, false);
    pthread_create(&caller, NULL, sync_within_sync, NULL);
    assert_comes_true(atomic_load(&again.is_in));
    if (suspends) {
        od_queue_suspend(again.queue);
        assert_it_goes_on();
    }
    pthread_kill(caller, SIGUSR1);
    until = odi_clock_after(5 * ODI_MILLISECOND); /* a sanitizer keeps signals back */
    while (!atomic_load(&again.interrupted) && odi_clock_now() < until)
        odi_spin_pause();
    add_barrier(again.queue, no_job, NULL);
    atomic_store(&again.barrier_is_there, true);
    assert_it_goes_on();
    atomic_store(&again.stops, true);
    pthread_join(caller, NULL);
    if (suspends)
        od_queue_resume(again.queue);
    end_queue(again.queue);
}

/* Wherever in the nested sync the barrier comes: it was behind that barrier, and the barrier behind the outer
 * sync. */
QUEUE_TEST(a_nested_sync_does_not_line_up_behind_a_first_barrier)
{
    struct sigaction before, action = {.sa_handler = let_the_barrier_come, .sa_flags = SA_RESTART};

    sigaction(SIGUSR1, &action, &before);
    for (int round = 0; round < UNLESS_SANITIZED(30, 20); round++)
        a_first_barrier_comes(round % 2 != 0);
    sigaction(SIGUSR1, &before, NULL);
}

SCENE(a_sync_caller_comes_after_what_it_submitted,
      "20 times: queue q width 1; add q 20 a; inside q; a = 20; q.current = 1; outside; q.current = 0; add q 20 b; inside q; "
      "b = 20; outside; add q 20 c; inside q; c = 20; outside; add q 20 d; inside q; d = 20")

SCENE(sync_on_an_open_queue_does_not_wait,
      "queue q; hold q Door; inside q; inside q; outside; outside")

SCENE_TRAPS(sync_onto_the_serial_queue_one_is_on_traps_by_name,
            "pool 1; queue narrow width 1; add narrow {inside narrow}; wait narrow",
            "TaskQueue.sync: a closure of the queue would wait for itself (\"narrow\")")

SCENE_TRAPS(sync_within_sync_traps_too,
            "queue test width 1; inside test; inside test", "TaskQueue.sync: a closure of the queue would wait for itself (\"test\")")

GUARDED_PROGRAM
CHILDREN_MAY_START_THREADS
