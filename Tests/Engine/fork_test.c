/* pool/fork: a child's pools begin anew, whatever the parent's threads were doing. */
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

#include "gate/queue.h"
#include "include/od_external.h"
#include "include/od_fork.h"
#include "include/od_report.h"
#include "include/od_timer.h"
#include "job/group.h"
#include "reclaim/reclaim.h"

static od_pool *pool;
static od_queue *serial, *open_queue;

/* What a child does with everything that it inherits. */
static void use_everything(void *unused)
{
    od_group *group = od_group_create();
    atomic_ullong ran = 0;

    child_expects(group != NULL);
    child_expects(blocked_in(pool) == 0);
    od_queue *on_another = od_queue_create_with(pool, &(od_queue_options){.width = 1, .inactive = true});
    od_queue_set_target(on_another, serial);
    od_queue_release(on_another);
    for (int i = 0; i < 50; i++) {
        od_pool_submit(pool, (od_band)(i % 5), count_job, &ran);
        od_queue_async(open_queue, group, OD_QUEUE_BAND, count_job, &ran);
        od_queue_async(serial, group, OD_QUEUE_BAND, count_job, &ran);
    }
    child_expects(od_group_wait(group, HANG_NS));
    child_expects(COMES_TRUE(atomic_load(&ran) == 150));
    run_synced(serial, no_job, NULL);
    child_expects(od_queue_wait(open_queue, HANG_NS));
    child_expects(od_queue_cancel_all(serial) == 0);
    od_group_release(group);
}

/* The same as steps: a serial queue is s, an open one o. */
#define EVERYTHING(group, counter)                                                        \
    "pool.blocked = 0; queue x width 1 inactive; target x s; release x; group " group "; add pool 10 " counter " band 0; add pool 10 " \
    counter " band 1; add pool 10 " counter " band 2; add pool 10 " counter " band 3; add pool 10 " counter " band 4; add o 50 "      \
    counter " in " group "; add s 50 " counter " in " group "; wait " group "; " counter " -> 150; inside s; outside; wait o; cancel s 0"

static void set_up_queues(void)
{
    pool = pool_of(2);
    serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    open_queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "open");
}

static void tear_down_queues(void) { end_pool(pool, serial, open_queue); }

enum { MANY = 100 }; /* more than a piece of their memory has room for */
static od_queue *many[MANY];

static void expect_nothing_in_any(void *unused)
{
    for (int i = 0; i < MANY; i++)
        child_expects(od_queue_pending(many[i]) == 0);
}

TEST(of_many_queues_each_is_told_of_and_empty_in_a_child)
{
    pool = pool_of(1);
    for (int i = 0; i < MANY; i++) {
        many[i] = od_queue_create_with(pool, &(od_queue_options){.width = 1, .inactive = true});
        od_queue_async(many[i], NULL, OD_QUEUE_BAND, no_job, NULL);
    }
    assert_int_equal(od_pool_report_queues(pool, NULL, 0), MANY);
    assert_child_succeeds(expect_nothing_in_any, NULL);
    for (int i = 0; i < MANY; i++)
        od_queue_release(many[i]);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* Whatever another thread of the parent had begun. */
TEST(a_child_of_an_unused_pool_can_use_it)
{
    set_up_queues();
    odi_lock_acquire(&pool->team.first_lock);
    odi_lock_acquire(&pool->targets_lock);
    assert_child_succeeds(use_everything, NULL);
    odi_lock_release(&pool->targets_lock);
    odi_lock_release(&pool->team.first_lock);
    tear_down_queues();
}

static void give_two_places_away(void)
{
    odi_lock_acquire(&pool->team.lock);
    int first = pool->team.assigned[0];
    pool->team.assigned[0] = pool->team.assigned[1];
    pool->team.assigned[1] = first;
    odi_lock_release(&pool->team.lock);
}

static void expect_first_places(void *unused)
{
    for (int slot = 0; slot < pool->team.capacity; slot++)
        child_expects(pool->team.assigned[slot] == slot);
}

/* Who benched in the parent and gave its place to another is in no child. */
TEST(a_childs_workers_have_the_places_that_they_would_have_at_first)
{
    set_up_queues();
    give_two_places_away();
    assert_child_succeeds(expect_first_places, NULL);
    give_two_places_away();
    tear_down_queues();
}

static void make_a_pool(void *unused)
{
    od_pool *own = pool_of(3);
    atomic_ullong ran = 0;

    submit_many(own, 100, count_job, &ran);
    child_expects(COMES_TRUE(atomic_load(&ran) == 100));
    child_expects(od_pool_free(own) == OD_OK);
}

TEST(a_child_can_make_and_free_pools_of_its_own)
{
    set_up_queues();
    use_everything(NULL);
    assert_child_succeeds(make_a_pool, NULL);
    tear_down_queues();
}

static void spawn_many(void *counter)
{
    for (int i = 0; i < 1000; i++) /* the worker's deque grows: it retires rings */
        od_pool_submit(pool, OD_BAND_DEFAULT, count_job, counter);
}

static void count_call(void *counter, uint64_t missed) { count_job(counter); }

static void grow_and_free(void *unused)
{
    atomic_ullong ran = 0, calls = 0;
    od_timer *timer = od_timer_create(serial, &(od_timer_options){.call = count_call, .context = &calls});

    child_expects(pool->still_since == 0 && !pool->still_said);
    child_expects(odi_load_relaxed(&pool->stop_deadline) == ODI_FOREVER); /* a worker may be faster than one that is over */
    od_pool_submit(pool, OD_BAND_DEFAULT, spawn_many, &ran);
    child_expects(COMES_TRUE(atomic_load(&ran) == 1000));
    child_expects(odi_reclaim_is_behind()); /* what it retires it keeps */
    child_expects(timer != NULL);
    od_timer_start(timer);
    child_expects(COMES_TRUE(atomic_load(&calls) == 1));
    od_timer_release(timer);
    od_pool_submit(pool, OD_BAND_DEFAULT, spawn_many, &ran);
    od_stop_report report;
    child_expects(od_pool_stop(pool, INT64_MAX, &report) == OD_OK);
    child_expects(report.cancelled == 0 && report.stuck == 0);
    child_expects(od_pool_free(pool) == OD_OK);
    child_expects(odi_reclaim_is_behind()); /* what is retired here stays: no ring shrinks */
}

TEST(a_child_can_free_a_pool_whose_deques_grew_in_it)
{
    set_up_queues();
    use_everything(NULL);
    odi_pool_arm_monitor(&pool->team); /* which is not the child's */
    assert_comes_true(LOCKED(&pool->team.lock, pool->monitor_present));
    assert_child_succeeds(grow_and_free, NULL);
    /* The monitor writes its notes until it is disarmed. */
    assert_comes_true(odi_load_acquire(&pool->team.attention, S4) & ODI_MONITOR_OFF);
    /* Another thread's stop is under way: its deadline, and what the monitor has seen, are the parent's. */
    odi_store_relaxed(&pool->stop_state, 1);
    odi_store_relaxed(&pool->stop_deadline, 0);
    pool->still_since = pool->still_said = true;
    assert_child_succeeds(grow_and_free, NULL);
    odi_store_relaxed(&pool->stop_state, 0);
    odi_store_relaxed(&pool->stop_deadline, ODI_FOREVER);
    tear_down_queues();
}

static void expect_a_stopped_pool(void *ran)
{
    child_expects(od_pool_is_stopped(pool));
    child_expects(od_pool_submit(pool, OD_BAND_DEFAULT, count_job, ran) == OD_STOPPED);
    child_expects(od_queue_async(serial, NULL, OD_QUEUE_BAND, count_job, ran) == OD_STOPPED);
    child_expects(od_pool_stop(pool, 0, NULL) == OD_STOPPED);
    child_expects(atomic_load((atomic_ullong *)ran) == 0);
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(a_pool_that_was_stopped_before_a_fork_stays_stopped_in_the_child)
{
    atomic_ullong ran = 0;

    set_up_queues();
    assert_int_equal(od_pool_stop(pool, INT64_MAX, NULL), OD_OK);
    assert_child_succeeds(expect_a_stopped_pool, &ran);
    tear_down_queues();
}

static void set_flag(void *flag) { atomic_store((atomic_bool *)flag, true); }

/* Another thread runs the branch, or this never joins. */
static bool branch_is_stolen(void)
{
    atomic_bool begun = false;
    od_fork_slot *branch = od_fork(set_flag, &begun);
    bool stolen = COMES_TRUE(atomic_load(&begun));

    od_join(branch, set_flag, &begun);
    return stolen;
}

static void expect_a_thief(void *unused)
{
    od_fork_scope scope;

    for (int i = 0; i < 3; i++) {
        od_forks_enter(pool, &scope);
        child_expects(branch_is_stolen());
        od_forks_leave(&scope);
    }
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(forks_of_a_child_are_stolen)
{
    set_up_queues();
    use_everything(NULL); /* the parent has workers */
    assert_child_succeeds(expect_a_thief, NULL);
    tear_down_queues();
}

static outcome of_the_job;

static void fork_in_the_job(void *unused) { of_the_job = in_a_child(expect_a_thief, NULL, 60); }

static void expect_a_thief_below(void *unused) { child_expects(branch_is_stolen()); }

/* Its forks are at work while it forks a child. */
static void fork_within_forks(void *unused)
{
    atomic_bool begun = false;
    od_fork_slot *branch = od_fork(set_flag, &begun);

    (void)COMES_TRUE(atomic_load(&begun));
    od_join(branch, set_flag, &begun);
    branch = od_fork(set_flag, &begun);
    of_the_job = in_a_child(expect_a_thief_below, NULL, 60);
    od_join(branch, set_flag, &begun);
}

TEST(forks_of_a_child_of_a_job_are_stolen)
{
    void (*const jobs[])(void *) = {fork_in_the_job, fork_within_forks};

    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        set_up_queues();
        of_the_job.status = -1;
        od_queue_async(open_queue, NULL, OD_QUEUE_BAND, jobs[i], NULL);
        assert_true(od_queue_wait(open_queue, HANG_NS));
        if (of_the_job.status != 0)
            print_error("child: status 0x%x, said: %s\n", (unsigned)of_the_job.status, of_the_job.said);
        assert_int_equal(of_the_job.status, 0);
        tear_down_queues();
    }
}

/* In the child the stack of the branch's fork is another thread's by now. */
static void expect_no_job(void *unused)
{
    od_group *group = od_group_create();
    atomic_bool ran = false;

    child_expects(od_queue_of_thread(0) == NULL && od_thread_work() == NULL);
    od_queue_async(open_queue, group, OD_QUEUE_BAND, set_flag, &ran);
    child_expects(od_group_wait(group, HANG_NS) && atomic_load(&ran));
}

static atomic_bool child_is_over;

static void fork_in_the_branch(void *unused)
{
    of_the_job = in_a_child(expect_no_job, NULL, 60);
    atomic_store(&child_is_over, true);
}

static void have_a_branch_stolen(void *unused)
{
    int work;
    void *outer = od_work_enter(&work);
    od_fork_slot *branch = od_fork(fork_in_the_branch, NULL);

    (void)COMES_TRUE(atomic_load(&child_is_over));
    od_join(branch, fork_in_the_branch, NULL);
    od_work_leave(outer);
}

TEST(a_child_of_a_stolen_branch_is_in_no_job)
{
    set_up_queues();
    of_the_job.status = -1;
    od_queue_async(open_queue, NULL, OD_QUEUE_BAND, have_a_branch_stolen, NULL);
    assert_true(od_queue_wait(open_queue, HANG_NS));
    assert_int_equal(of_the_job.status, 0);
    tear_down_queues();
}

static void leave_what_was_entered(void *group)
{
    od_group_leave(group);
    child_expects(od_group_wait(group, HANG_NS));
    od_group_enter(group);
    child_expects(!od_group_wait(group, 0));
    od_group_leave(group);
    child_expects(od_group_wait(group, HANG_NS));
}

TEST(a_child_may_leave_a_group_that_its_thread_had_entered)
{
    od_group *group = od_group_create();

    pool = pool_of(1);
    od_group_enter(group);
    assert_child_succeeds(leave_what_was_entered, group);
    od_group_leave(group);
    od_group_release(group);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

SCENE(what_waited_is_the_parents,
      "pool 2; queue s width 1; queue o band 3; queue r width 1 on s; group g; hold s Door in g; add s 50 a in g; "
      "add r 50 a in g; child {" EVERYTHING("h", "b") "; s.pending = 0; r.pending = 0; add r c; wait r; a = 0}; a = 0; open Door; "
      "wait g; a = 100")

/* It was closed, and not complete: what went to the pool before is the parent's alone. */
SCENE(a_childs_barrier_waits_for_no_job_of_its_parents,
      "pool 2; queue q; hold q Door; suspend q; child {resume q; add q a barrier; wait q}; resume q; open Door; wait q")

SCENE(a_child_makes_none_of_its_parents_notifications,
      "pool 2; group g; enter g; notify g told; child {enter g; busy g; leave g; wait g; notify g a; told = 0}; "
      "leave g; told = 1")

SCENE(a_job_may_fork,
      "pool 2; queue s width 1; queue o band 3; add o {block; child {" EVERYTHING("h", "b") "}; unblock; forked}; forked -> 1")

static struct {
    pid_t parent, child;
    atomic_bool told;
} forker;

static void leave_at_once(void) { _exit(0); }

/* Its child goes on as a thread that is no worker: it ends, and the process with it. */
static void fork_and_come_back(void *unused)
{
    forker.child = fork();
    if (forker.child == 0)
        (void)atexit(leave_at_once);
    atomic_store(&forker.told, true);
}

static void expect_the_parent(void *unused)
{
    if (getpid() != forker.parent)
        _exit(1);
}

static void assert_the_child_ended(int with)
{
    int status = -1;

    assert_comes_true(atomic_load(&forker.told));
    bool ended = COMES_TRUE(waitpid(forker.child, &status, WNOHANG) != 0);
    if (!ended)
        kill(forker.child, SIGKILL);
    assert_true(ended);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, with);
}

enum { AT_THE_NEXT = 7 };

static void end_at_the_next(void *unused) { _exit(getpid() != forker.parent ? AT_THE_NEXT : 1); }

static void fork_and_submit(void *unused)
{
    fork_and_come_back(NULL);
    if (forker.child == 0)
        od_queue_async(serial, NULL, OD_QUEUE_BAND, end_at_the_next, NULL);
}

/* The child's thread is no worker, and holds the queue's place: nobody else may serve the line there. */
TEST(who_forks_in_a_queues_job_serves_its_line_in_the_child_too)
{
    forker.parent = getpid();
    atomic_store(&forker.told, false);
    set_up_queues();
    od_queue_async(serial, NULL, OD_QUEUE_BAND, fork_and_submit, NULL);
    assert_the_child_ended(AT_THE_NEXT);
    tear_down_queues();
}

enum { NOTHING_FOLLOWS, A_JOB_OF_A_QUEUE, A_JOB_OF_THE_POOL, FOLLOWERS };

/* The child ran the parent's next job, or looked for one for ever. */
TEST(who_forks_in_a_notification_leaves_the_next_job_to_the_parent)
{
    if (UNDER_TSAN)
        skip(); /* in a child it cannot end a thread */
    forker.parent = getpid();
    for (int follower = 0; follower < FOLLOWERS; follower++) {
        gate door = {0};

        pool = lone_worker();
        serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
        open_queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
        od_group *group = od_group_create();
        atomic_store(&forker.told, false);
        hold_a_worker(pool, &door);
        od_queue_async(open_queue, group, OD_QUEUE_BAND, no_job, NULL);
        od_group_notify(group, fork_and_come_back, NULL);
        if (follower == A_JOB_OF_A_QUEUE)
            od_queue_async(serial, NULL, OD_QUEUE_BAND, expect_the_parent, NULL);
        else if (follower == A_JOB_OF_THE_POOL)
            od_pool_submit(pool, OD_BAND_DEFAULT, expect_the_parent, NULL);
        gate_open(&door);
        assert_the_child_ended(0);
        assert_true(od_queue_wait(serial, HANG_NS));
        od_group_release(group);
        tear_down_queues();
    }
}

static void call_nothing(void *unused, uint64_t missed) {}

/* It is in no wheel of the child's. */
SCENE(a_child_that_cancels_its_parents_timer_has_none_armed_before_and_after,
      "pool 2; queue q width 1; timer t q 3600000 0 a; child {pool.armed = 0; disarm t; pool.armed = 0}; "
      "pool.armed = 1; disarm t prevented")

static void fork_in_the_delivery(void *unused, od_timer *timer)
{
    fork_and_come_back(unused);
    if (getpid() == forker.parent)
        od_timer_perform(timer);
}

/* Whose pool has no thread there yet. */
SCENE(a_child_can_start_its_parents_timer,
      "pool 2; queue q width 1; timer t q 0 0 a unstarted; add q b; wait q; child {start t; a -> 1}; a = 0; disarm t prevented; start t")

/* It is fired before the jobs. */
static void come_due_and_be_followed(void *timer)
{
    od_timer_start(timer);
    for (int job = 0; job < 3; job++)
        od_pool_submit(pool, OD_BAND_DEFAULT, expect_the_parent, NULL);
    odi_clock_sleep(MILLISECONDS(10));
    odi_store_relaxed(&pool->team.timers.overdue, true); /* relaxed: the worker's next look */
}

/* The child went on with the search in which its parent's worker had fired the timer. Where jobs follow it is fired between two. */
TEST(who_forks_in_a_timers_delivery_leaves_the_search_and_the_next_job_to_the_parent)
{
    od_timer_options options = {.delay_ns = MILLISECONDS(5), .call = call_nothing};

    if (UNDER_TSAN)
        skip(); /* as above */
    forker.parent = getpid();
    for (int followed = 0; followed < 2; followed++) {
        atomic_store(&forker.told, false);
        pool = lone_worker();
        od_timer *timer = od_timer_create_elsewhere(pool, &options, fork_in_the_delivery);
        assert_non_null(timer);
        if (followed)
            od_pool_submit(pool, OD_BAND_DEFAULT, come_due_and_be_followed, timer);
        else
            od_timer_start(timer);
        assert_the_child_ended(0);
        od_timer_release(timer);
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
}

SCENE(a_child_can_use_it_and_may_fork,
      "pool 2; queue s width 1; queue o band 3; " EVERYTHING("g", "a") "; "
      "child {" EVERYTHING("h", "b") "; child {" EVERYTHING("i", "c") "}; " EVERYTHING("j", "d") "}; " EVERYTHING("k", "e"))

/* ---- chains of records ---- */

static od_group *chained;

static void use_the_chains(void *unused)
{
    use_everything(NULL);
    for (int i = 0; i < 3; i++) {
        od_queue_async(open_queue, chained, OD_QUEUE_BAND, no_job, NULL);
        od_queue_async(open_queue, chained, OD_BAND_USER_INTERACTIVE, no_job, NULL);
        (void)od_queue_cancel_all(open_queue);
    }
    child_expects(od_group_wait(chained, HANG_NS));
}

/* Found by reading: a thread that is not here any more had them half changed. */
TEST(a_child_takes_over_no_chain_that_was_changing)
{
    set_up_queues();
    chained = od_group_create();
    for (int band = OD_BAND_USER_INTERACTIVE; band <= OD_BAND_UTILITY; band++)
        od_queue_async(open_queue, chained, band, no_job, NULL);
    assert_true(od_group_wait(chained, HANG_NS));
    gate door = {0};
    od_queue_async(open_queue, chained, OD_QUEUE_BAND, gate_job, &door); /* the parent's to wait for */
    assert_comes_true(atomic_load(&door.waiting) == 1);

    odi_record **links[] = {open_queue->records->link_of_queue, chained->records->link_of_group};
    odi_record *somewhere = NULL;
    open_queue->records->link_of_queue = &somewhere;
    chained->records->link_of_group = &somewhere;
    outcome it = in_a_child(use_the_chains, NULL, 60);
    open_queue->records->link_of_queue = links[0];
    chained->records->link_of_group = links[1];
    assert_int_equal(it.status, 0);
    gate_open(&door);
    use_the_chains(NULL);
    od_group_release(chained);
    tear_down_queues();
}

/* ---- children of children ---- */

static uint32_t held_in_the_child;

static void hold_the_serial(void *unused) { held_in_the_child = od_queue_hold(serial); }

static void give_up_what_the_parent_holds(void *unused)
{
    od_scope scope;

    od_queue_sync_begin(serial, &scope);
    od_queue_unhold(serial, held_in_the_child);
    child_expects(serial->gate.held == 1); /* its own */
    od_queue_sync_end(&scope);
}

static void hold_and_fork(void *unused)
{
    run_in(serial, hold_the_serial, NULL);
    child_expects(held_in_the_child != 0);
    child_expects(in_a_child(give_up_what_the_parent_holds, NULL, 60).status == 0);
    od_queue_unhold(serial, held_in_the_child);
    child_expects(od_queue_wait(serial, HANG_NS));
}

TEST(a_childs_child_gives_up_no_hold_of_its_parents)
{
    set_up_queues();
    assert_child_succeeds(hold_and_fork, NULL);
    tear_down_queues();
}

static od_scope outer, inner;

static void leave_both(void *unused)
{
    od_queue_sync_end(&inner);
    od_queue_sync_end(&outer);
    for (int each = 0; each < 2; each++) {
        run_synced(many[each], no_job, NULL);
        child_expects(running_in(many[each]) == 0);
    }
}

/* Who is in a queue and comes to one on it holds the former's place once. */
TEST(a_child_holds_once_what_its_thread_held_once)
{
    pool = pool_of(2);
    many[0] = od_queue_create(pool, OD_BAND_DEFAULT, 2, "wide");
    many[1] = od_queue_create_with(pool, &(od_queue_options){.width = 1, .target = many[0]});
    od_queue_sync_begin(many[0], &outer);
    od_queue_sync_begin(many[1], &inner);
    assert_child_succeeds(leave_both, NULL);
    od_queue_sync_end(&inner);
    od_queue_sync_end(&outer);
    end_pool(pool, many[1], many[0]);
}

static outcome twice;

static void use_many_records(void *unused)
{
    enum { MANY = 100 };

    for (int i = 0; i < MANY; i++) {
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "one of many");

        child_expects(queue != NULL);
        run_in(queue, no_job, NULL);
    }
    child_expects(od_queue_is_current(open_queue));
}

static void fork_once_more(void *unused) { child_expects(in_a_child(use_many_records, NULL, 60).status == 0); }
static void fork_twice(void *unused) { twice = in_a_child(fork_once_more, NULL, 60); }

static void wait_for_what_forks(void *unused)
{
    od_group *group = od_group_create();

    od_queue_async(open_queue, group, OD_QUEUE_BAND, fork_twice, NULL);
    (void)od_group_wait(group, INT64_MAX); /* it runs here, outside of the worker's runs */
    od_group_release(group);
}

/* The record of the job around both forks served another queue in the second child. */
TEST(a_childs_child_is_in_the_same_job)
{
    pool = lone_worker();
    serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    open_queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
    twice.status = -1;
    run_in(serial, wait_for_what_forks, NULL);
    if (twice.status != 0)
        print_error("child: status 0x%x, said: %s\n", (unsigned)twice.status, twice.said);
    assert_int_equal(twice.status, 0);
    tear_down_queues();
}

/* ---- without memory ---- */

static atomic_ullong of_the_parent;

static void use_what_there_is(void *unused)
{
    unsigned long long accepted = 0;
    atomic_ullong ran = 0;

    for (int i = 0; i < 10; i++) {
        accepted += od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran) == OD_OK;
        accepted += od_queue_async(open_queue, NULL, OD_QUEUE_BAND, count_job, &ran) == OD_OK;
        accepted += od_queue_async(serial, NULL, OD_QUEUE_BAND, count_job, &ran) == OD_OK;
    }
    child_expects(COMES_TRUE(atomic_load(&ran) == accepted));
    child_expects(atomic_load(&of_the_parent) == 0);
}

static rlim_t address_space(void) { return (rlim_t)status_field("VmSize") << 10; }

/* Some are in the worker's deque, some in the pool's injector. */
static void submit_and_stay(void *door)
{
    submit_many(pool, 10, count_job, &of_the_parent);
    gate_pass(door);
}

/* Its injectors kept the parent's jobs, or were none; and it took those of the parent's workers. */
TEST_UNSANITIZED(a_child_without_address_space_refuses_or_runs_its_own, NULL, NULL)
{
    gate door = {0};
    struct rlimit before, less;

    pool = lone_worker();
    serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    open_queue = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "open");
    od_pool_submit(pool, OD_BAND_DEFAULT, submit_and_stay, &door);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    submit_many(pool, 10, count_job, &of_the_parent);
    for (int i = 0; i < 10; i++) {
        od_queue_async(open_queue, NULL, OD_QUEUE_BAND, count_job, &of_the_parent);
        od_queue_async(serial, NULL, OD_QUEUE_BAND, count_job, &of_the_parent);
    }
    getrlimit(RLIMIT_AS, &before);
    for (rlim_t room = 0; room <= (rlim_t)64 << 20; room = room == 0 ? (rlim_t)64 << 10 : 4 * room) {
        less = (struct rlimit){address_space() + room, before.rlim_max};
        setrlimit(RLIMIT_AS, &less);
        outcome it = in_a_child(use_what_there_is, NULL, 60);
        setrlimit(RLIMIT_AS, &before);
        assert_int_equal(it.status, 0);
    }
    gate_open(&door);
    end_pool(pool, serial, open_queue);
    assert_int_equal(atomic_load(&of_the_parent), 40);
}

enum { QUEUES_AT_REST = 20000, MOST_PAGES = 1000 };

static od_queue *at_rest[QUEUES_AT_REST];

static void use_queues_at_rest(void *unused)
{
    struct rusage usage;
    atomic_ullong ran = 0;

    getrusage(RUSAGE_SELF, &usage); /* a child's count begins at 0 */
    child_expects(usage.ru_minflt < MOST_PAGES);
    for (int i = 0; i < QUEUES_AT_REST; i++)
        od_queue_async(at_rest[i], NULL, OD_QUEUE_BAND, count_job, &ran);
    for (int i = 0; i < QUEUES_AT_REST; i++)
        child_expects(od_queue_wait(at_rest[i], HANG_NS));
    child_expects(atomic_load(&ran) == QUEUES_AT_REST);
}

/* Their memory has 3,000 pages. */
TEST_UNSANITIZED(a_child_copies_no_memory_of_queues_at_rest_and_uses_them, NULL, NULL)
{
    atomic_ullong ran = 0;

    pool = pool_of(2);
    for (int i = 0; i < QUEUES_AT_REST; i++) {
        at_rest[i] = od_queue_create(pool, OD_BAND_DEFAULT, i % 2 ? 1 : OD_UNLIMITED, "at rest");
        od_queue_async(at_rest[i], NULL, OD_QUEUE_BAND, count_job, &ran);
    }
    for (int i = 0; i < QUEUES_AT_REST; i++)
        assert_true(od_queue_wait(at_rest[i], HANG_NS));
    assert_comes_true(all_done(pool) >= QUEUES_AT_REST);
    assert_child_succeeds(use_queues_at_rest, NULL);
    for (int i = 0; i < QUEUES_AT_REST; i++)
        od_queue_release(at_rest[i]);
    od_pool_free(pool);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
