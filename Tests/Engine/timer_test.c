/* Timers on a pool: never early and once each, whatever the workers do, and nobody wakes for nothing. */
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/timers.h"
#include "Support/watchdog.h"
#include "worker/due.h"

/* ---- one call ---- */

ON_TWO(a_timer_starts_the_first_worker_and_is_never_early)
{
    probe it = {0};

    assert_int_equal(metrics_of(pool).threads_started, 0);
    start(&it, MILLISECONDS(20), 0);
    assert_comes_true(atomic_load(&it.overs) == 1);
    assert_int_equal(atomic_load(&it.calls), 1);
    assert_int_equal(atomic_load(&it.early), 0);
    assert_false(od_timer_is_cancelled(it.timer));
    assert_int_equal(od_timer_cancel(it.timer), OD_TIMER_WAS_OVER);
    assert_false(od_timer_is_cancelled(it.timer));
    od_timer_release(it.timer);
    assert_int_equal(metrics_of(pool).threads_started, 2); /* and the first spare */
}

SCENE(no_delay_is_at_once_but_not_on_the_caller,
      "pool 2; queue q; timer t q 0 0 {pool.main = 0; a}; timer u q -5000 0 {pool.main = 0; a}; t.overs -> 1; "
      "u.overs -> 1; a = 2")

/* The leader sleeps until the later one. */
SCENE(what_is_due_sooner_wakes_the_leader,
      "W in 1 2: pool W; queue q; timer later q 3600000 0 a; pool.sleeps -> 1; timer sooner q 5 0 b; sooner.overs -> 1; "
      "a = 0; disarm later prevented; later.overs = 1")

/* How many queues, groups and timers could have a record of their own yet. */
static int records_to_be_had(void)
{
    int count = 0;

    while (odi_records_reserve())
        count++;
    for (int each = 0; each < count; each++)
        odi_records_unreserve();
    return count;
}

/* Each call kept one more: after two million nobody had any. */
ON_TWO(a_timer_keeps_one_record_whatever_its_calls)
{
    int before = records_to_be_had();
    probe it = {0};

    start(&it, 0, MILLISECONDS(1));
    assert_comes_true(atomic_load(&it.calls) >= 20);
    (void)od_timer_cancel(it.timer);
    assert_comes_true(atomic_load(&it.overs) == 1);
    od_timer_release(it.timer);
    assert_in_range(records_to_be_had(), before - 5, before); /* its queue's, which was new */
}

/* ---- the order of due times is the order of calls, on a serial queue ---- */

enum { IN_ORDER = 30 }; /* taken at once */

static struct {
    atomic_int next, broken;
    atomic_bool begun, armed, ended;
} order;

static void note_order(void *raw, uint64_t missed)
{
    if (atomic_fetch_add(&order.next, 1) != (int)(intptr_t)raw)
        atomic_fetch_add(&order.broken, 1);
}

static void be_busy_until_armed(void *unused)
{
    atomic_store(&order.begun, true);
    while (!atomic_load(&order.armed)) {
    }
    atomic_store(&order.ended, true);
}

/* Found on a full machine: their times were delays from two looks at the clock, and came out in another
 * order where the thread lost its CPU in between. The only worker looks when all of them are due. False:
 * the first was due before the last was armed. */
static bool are_armed_in_time(od_pool *alone, od_queue *serial, int64_t within)
{
    atomic_store(&order.next, 0);
    atomic_store(&order.broken, 0);
    atomic_store(&order.begun, false);
    atomic_store(&order.armed, false);
    atomic_store(&order.ended, false);
    od_pool_submit(alone, OD_BAND_DEFAULT, be_busy_until_armed, NULL);
    assert_comes_true(atomic_load(&order.begun));
    int64_t begin = od_timer_now() + within;
    for (int i = IN_ORDER - 1; i >= 0; i--) { /* armed the other way round */
        od_timer_options options = {.call = note_order, .context = (void *)(intptr_t)i,
                                    .due_ns = begin + i * 5 * ODI_MICROSECOND};
        start_and_forget(serial, &options);
    }
    bool in_time = od_timer_now() < begin;
    odi_clock_sleep(within + MILLISECONDS(1));
    atomic_store(&order.armed, true);
    assert_comes_true(atomic_load(&order.ended)); /* late calls do not wait for it */
    assert_comes_true(atomic_load(&order.next) == IN_ORDER);
    return in_time;
}

ON_TWO(a_serial_queue_gets_them_in_the_order_of_their_times)
{
    od_pool *alone = pool_of(1);
    od_queue *serial = od_queue_create(alone, OD_BAND_DEFAULT, 1, "serial");
    int64_t within = MILLISECONDS(2);

    while (!are_armed_in_time(alone, serial, within)) {
        within *= 2;
        assert_true(within < SECONDS(10));
    }
    assert_int_equal(atomic_load(&order.broken), 0);
    end_pool(alone, serial);
}

static void keep_when(void *raw, uint64_t missed)
{
    probe *it = raw;

    atomic_fetch_add(&it->early, odi_clock_now() < it->due);
    atomic_fetch_add(&it->missed, missed);
    atomic_fetch_add(&it->calls, 1);
}

/* However late it is started; and its further times are whole intervals from the first. */
ON_TWO(a_time_is_not_counted_from_the_start)
{
    probe past = {0}, later = {0}, never = {0};
    od_timer_options options = {.interval_ns = SECONDS(100), .call = keep_when, .context = &past,
                                .due_ns = od_timer_now() - SECONDS(250)};
    od_timer *timer = od_timer_create(queue, &options);

    od_timer_start(timer);
    assert_comes_true(atomic_load(&past.calls) == 1);
    assert_int_equal(atomic_load(&past.missed), 2);
    assert_int_equal(od_timer_cancel(timer), OD_TIMER_PREVENTED);
    od_timer_release(timer);

    later.due = od_timer_now() + MILLISECONDS(40);
    options = (od_timer_options){.call = keep_when, .context = &later, .due_ns = later.due};
    timer = od_timer_create(queue, &options);
    odi_clock_sleep(MILLISECONDS(20));
    od_timer_start(timer);
    od_timer_release(timer);
    assert_comes_true(atomic_load(&later.calls) == 1);
    assert_int_equal(atomic_load(&later.early), 0);

    options = (od_timer_options){.call = keep_when, .context = &never, .due_ns = INT64_MAX};
    timer = od_timer_create(queue, &options);
    od_timer_start(timer);
    assert_int_equal(od_timer_cancel(timer), OD_TIMER_PREVENTED);
    od_timer_release(timer);
}

/* Its further times are whole intervals from there: nothing overflows on the way. */
ON_TWO(a_time_before_the_clocks_beginning_is_that_beginning)
{
    probe past = {0};
    od_timer_options options = {.interval_ns = SECONDS(1), .call = keep_when, .context = &past,
                                .due_ns = INT64_MIN};
    od_timer *timer = od_timer_create(queue, &options);
    int64_t before = od_timer_now() / SECONDS(1);

    od_timer_start(timer);
    assert_comes_true(atomic_load(&past.calls) >= 1);
    od_timer_cancel(timer);
    od_timer_release(timer);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_in_range(atomic_load(&past.missed), before, od_timer_now() / SECONDS(1));
}

SCENE(a_suspended_queue_keeps_it,
      "pool 2; queue q; suspend q; timer t q 5 0 a; pool.armed -> 0; q.pending -> 1; settle; a = 0; q.pending = 1; "
      "resume q; t.overs -> 1; a = 1")

/* ---- while workers are busy or blocked ---- */

/* Jobs that wait for what only a timer does, unknown to the engine, on every worker. */
SCENE(blocked_workers_do_not_keep_a_timer_from_coming,
      "3 times W in 1 2: pool W; queue q; timer t q 5 0 {open Door}; pause 1; add q W Door; wait q; add q W Second; "
      "Second -> W; timer u q 5 0 {open Second}; wait q; t.overs -> 1; u.overs -> 1")

SCENE(a_job_may_wait_for_the_timer_that_it_arms,
      "W in 1 2: pool W; queue q; add q {timer t q 2 0 {open A}; A; done}; add q {timer u q 2 0 {open B}; B; done}; "
      "add q {timer v q 2 0 {open C}; C; done}; done -> 3; wait q")

/* A stream of short jobs never lets the worker search. */
static atomic_bool stream_ends;
static void stream(void *unused)
{
    if (!atomic_load(&stream_ends))
        od_queue_async(queue, NULL, OD_QUEUE_BAND, stream, NULL);
}

ON_ONE(a_busy_worker_looks_between_jobs)
{
    probe it = {0};

    add_many(queue, 64, stream, NULL);
    start(&it, MILLISECONDS(10), 0);
    assert_comes_true(atomic_load(&it.overs) == 1);
    atomic_store(&stream_ends, true);
    assert_true(od_queue_wait(queue, HANG_NS));
    od_timer_release(it.timer);
}

/* ---- as what its calls are submitted ---- */

SCENE(a_timers_calls_may_be_barriers_and_of_a_higher_band,
      "pool 2; queue q; hold q Door; timer t q 0 0 {q.band = 1; q.alone = 1; a} band 1 barrier; pool.armed -> 0; "
      "q.pending -> 2; settle; a = 0; open Door; a -> 1; wait q")

/* ---- delivered elsewhere ---- */

static _Atomic(od_timer *) delivered;
static void deliver(void *unused, od_timer *timer) { atomic_store(&delivered, timer); }

ON_ONE(a_timer_may_be_delivered_to_another_thread)
{
    probe it = {0};
    od_timer_options options = options_of(&it, MILLISECONDS(1), 0);

    it.timer = od_timer_create_elsewhere(pool, &options, deliver);
    od_timer_start(it.timer);
    assert_comes_true(atomic_load(&delivered) == it.timer);
    assert_int_equal(atomic_load(&it.calls), 0);
    od_timer_perform(it.timer);
    assert_int_equal(atomic_load(&it.calls), 1);
    assert_int_equal(atomic_load(&it.overs), 1);
    od_timer_release(it.timer);
}

static void no_call(void *unused, uint64_t missed) { (void)unused, (void)missed; }

static struct {
    od_pool *pool;
    atomic_bool began, ends;
    atomic_int deliveries, answer;
    int64_t first_ns; /* until the first delivery */
} computing;

static void compute(void *unused)
{
    int64_t give_up = odi_clock_after(ODI_SECOND * 5);

    atomic_store(&computing.began, true);
    while (!atomic_load(&computing.ends) && odi_clock_now() < give_up) {
    }
    atomic_store(&computing.ends, true);
}

static void deliver_beside_it(void *start, od_timer *timer)
{
    if (atomic_load(&computing.deliveries) == 0) {
        computing.first_ns = odi_clock_now() - *(int64_t *)start;
        atomic_store(&computing.answer, od_pool_stop(computing.pool, HANG_NS, NULL));
    }
    od_timer_perform(timer);
    if (!atomic_load(&computing.ends))
        atomic_fetch_add(&computing.deliveries, 1);
}

/* By the timer thread, from which the pool cannot be stopped. It ends with the pool. */
ON_ONE(a_timer_is_delivered_elsewhere_while_every_worker_computes)
{
    od_pool *lone = computing.pool = lone_worker();
    int64_t start_ns = odi_clock_now();
    od_timer_options options = {.delay_ns = MILLISECONDS(10), .interval_ns = MILLISECONDS(20), .call = no_call,
                                .context = &start_ns};

    od_pool_submit(lone, OD_BAND_BACKGROUND, compute, NULL);
    assert_comes_true(atomic_load(&computing.began));
    start_ns = odi_clock_now();
    od_timer *timer = od_timer_create_elsewhere(lone, &options, deliver_beside_it);
    od_timer_start(timer);
    assert_comes_true(atomic_load(&computing.deliveries) >= 5 || atomic_load(&computing.ends));
    assert_false(atomic_load(&computing.ends));
    assert_in_range(computing.first_ns, MILLISECONDS(10), ODI_SECOND);
    assert_int_equal(atomic_load(&computing.answer), OD_INSIDE);
    atomic_store(&computing.ends, true);
    assert_int_equal(od_pool_stop(lone, HANG_NS, NULL), OD_OK);
    assert_int_equal(od_pool_free(lone), OD_OK);
    od_timer_release(timer);
}

/* ---- fired between two jobs ---- */

enum { MOST_BETWEEN = 20 * 1000 }; /* more than 2 s of them */

static struct {
    od_queue *queue;
    atomic_bool inside, fired;
    atomic_int jobs;
} between;

static void deliver_between(void *unused, od_timer *timer)
{
    atomic_store(&between.inside, od_queue_of_thread(0) != NULL || od_queue_is_current(between.queue));
    od_timer_perform(timer);
    atomic_store(&between.fired, true);
}

static void go_on_until_it_is_fired(void *unused)
{
    odi_clock_sleep(MILLISECONDS(1) / 10);
    if (!atomic_load(&between.fired) && atomic_fetch_add(&between.jobs, 1) < MOST_BETWEEN)
        od_queue_async(between.queue, NULL, OD_QUEUE_BAND, go_on_until_it_is_fired, NULL);
}

ON_ONE(a_timer_that_is_fired_between_two_jobs_of_a_queue_is_inside_of_none)
{
    static const int32_t widths[] = {OD_UNLIMITED, 1};

    for (int i = 0; i < 2; i++) {
        probe it = {0};
        od_timer_options options = options_of(&it, MILLISECONDS(2), 0);
        od_pool *lone = lone_worker();

        atomic_store(&between.fired, false);
        atomic_store(&between.jobs, 0);
        between.queue = od_queue_create(lone, OD_BAND_DEFAULT, widths[i], "before");
        it.timer = od_timer_create_elsewhere(lone, &options, deliver_between);
        deliver_by_workers_alone(lone);
        for (int job = 0; job < 2; job++) /* one is there when the other ends */
            od_queue_async(between.queue, NULL, OD_QUEUE_BAND, go_on_until_it_is_fired, NULL);
        od_timer_start(it.timer);
        assert_comes_true(atomic_load(&between.fired));
        assert_false(atomic_load(&between.inside));
        assert_true(atomic_load(&between.jobs) < MOST_BETWEEN); /* and not when they were over */
        assert_true(od_queue_wait(between.queue, HANG_NS));
        od_timer_release(it.timer);
        od_queue_release(between.queue);
        od_pool_stop(lone, HANG_NS, NULL);
        assert_int_equal(od_pool_free(lone), OD_OK);
    }
}

/* What the end of a worker's run tells may wait for a timer that is due already. */
static struct {
    od_pool *pool;
    od_queue *queue;
    od_timer *timer;
    gate other;
    atomic_bool holds, fired;
    atomic_int told;
} due_before;

static void deliver_due(void *unused, od_timer *timer)
{
    od_timer_perform(timer);
    atomic_store(&due_before.fired, true);
}

static void wait_for_what_is_due(void *unused)
{
    int64_t give_up = odi_clock_after(ODI_SECOND * 5);

    gate_open(&due_before.other); /* another worker looks */
    while (!atomic_load(&due_before.fired) && odi_clock_now() < give_up)
        odi_clock_sleep(MILLISECONDS(1));
    atomic_store(&due_before.told, atomic_load(&due_before.fired) ? 1 : -1);
}

static void come_to_be_due(void *unused)
{
    while (!atomic_load(&due_before.holds))
        sched_yield();
    od_timer_start(due_before.timer);
    odi_clock_sleep(MILLISECONDS(3));
    /* relaxed: a hint. The worker looks between this job and the next. */
    odi_store_relaxed(&due_before.pool->team.timers.overdue, true);
}

static void hold_the_other(void *door)
{
    atomic_store(&due_before.holds, true);
    gate_job(door);
}

ON_ONE(what_the_end_of_a_run_tells_may_wait_for_what_is_due)
{
    probe it = {0};
    od_timer_options options = options_of(&it, MILLISECONDS(1), 0);

    due_before.pool = pool_of(2);
    due_before.queue = od_queue_create(due_before.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "run");
    due_before.timer = od_timer_create_elsewhere(due_before.pool, &options, deliver_due);
    deliver_by_workers_alone(due_before.pool);
    od_queue_async(due_before.queue, NULL, OD_QUEUE_BAND, come_to_be_due, NULL);
    od_queue_notify(due_before.queue, wait_for_what_is_due, NULL);
    od_pool_submit(due_before.pool, OD_BAND_DEFAULT, hold_the_other, &due_before.other);
    assert_comes_true(atomic_load(&due_before.told) != 0);
    assert_int_equal(atomic_load(&due_before.told), 1);
    od_timer_release(due_before.timer);
    od_queue_release(due_before.queue);
    od_pool_stop(due_before.pool, HANG_NS, NULL);
    assert_int_equal(od_pool_free(due_before.pool), OD_OK);
}

/* Timers that are armed anew while one worker fires them, all of them due at once. */
enum { ANEW = 20 * 1000 };
static struct {
    od_pool *pool;
    atomic_int fired, fired_before_the_job;
} anew;

static void note_how_many(void *unused)
{
    atomic_store(&anew.fired_before_the_job, atomic_load(&anew.fired));
}

static void arm_anew(void *unused, od_timer *timer)
{
    od_timer_options options = {.due_ns = -1, .call = no_call};

    if (atomic_fetch_add(&anew.fired, 1) == 0)
        od_pool_submit(anew.pool, OD_BAND_DEFAULT, note_how_many, NULL);
    if (atomic_load(&anew.fired) < ANEW) {
        od_timer *next = od_timer_create_elsewhere(anew.pool, &options, arm_anew);

        od_timer_start(next);
        od_timer_release(next);
    }
    od_timer_perform(timer);
}

ON_ONE(timers_that_are_armed_anew_let_jobs_come_between)
{
    od_timer_options options = {.due_ns = -1, .call = no_call};

    anew.pool = lone_worker();
    atomic_store(&anew.fired, 0);
    atomic_store(&anew.fired_before_the_job, ANEW);
    od_timer *first = od_timer_create_elsewhere(anew.pool, &options, arm_anew);
    od_timer_start(first);
    od_timer_release(first);
    assert_comes_true(atomic_load(&anew.fired) >= ANEW);
    assert_in_range(atomic_load(&anew.fired_before_the_job), 1, ANEW / 4);
    od_pool_stop(anew.pool, HANG_NS, NULL);
    assert_int_equal(od_pool_free(anew.pool), OD_OK);
}

/* ---- many ---- */

enum { MANY = UNLESS_SANITIZED(1000000, 50000) };
typedef struct {
    int64_t due;
    atomic_uchar calls;
} slip;
static atomic_int many_early, many_twice, many_calls, many_overs;

static void many_call(void *raw, uint64_t missed)
{
    slip *it = raw;

    if (odi_clock_now() < it->due)
        atomic_fetch_add(&many_early, 1);
    if (atomic_fetch_add(&it->calls, 1) != 0)
        atomic_fetch_add(&many_twice, 1);
    atomic_fetch_add(&many_calls, 1);
}

static void many_over(void *raw) { atomic_fetch_add(&many_overs, 1); }

ON_TWO(a_million_come_once_each_and_never_early)
{
    slip *slips = calloc(MANY, sizeof *slips);
    prng random = prng_for(5, 0);

    assert_non_null(slips);
    for (int i = 0; i < MANY; i++) {
        int64_t delay = (int64_t)prng_below(&random, 1u << 30);
        od_timer_options options = {delay, 0, many_call, many_over, &slips[i], 0};

        slips[i].due = odi_clock_now() + delay;
        start_and_forget(queue, &options);
    }
    int64_t give_up = odi_clock_now() + SECONDS(60);
    while (atomic_load(&many_overs) < MANY && odi_clock_now() < give_up)
        odi_clock_sleep(MILLISECONDS(5));
    assert_int_equal(atomic_load(&many_overs), MANY);
    assert_int_equal(atomic_load(&many_calls), MANY);
    assert_int_equal(atomic_load(&many_early), 0);
    assert_int_equal(atomic_load(&many_twice), 0);
    assert_int_equal(od_pool_timers_armed(pool), 0);
    free(slips);
}

/* ---- idleness ---- */

static long switches_of_process(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

/* In one second. */
static bool nobody_wakes(void)
{
    long before = switches_of_process();
    uint64_t parks = metrics_of(pool).parks;

    odi_clock_sleep(SECONDS(1));
    long switches = switches_of_process() - before;
    parks = metrics_of(pool).parks - parks;
    print_message("in 1 s: %ld switches, %llu parks\n", switches, (unsigned long long)parks);
    return (UNDER_TSAN || switches <= 2) && /* this thread's own sleep; TSan has a thread of its own */
           parks == 0;
}

ON_TWO(far_timers_wake_nobody)
{
    enum { FAR = 1000 };
    static od_timer *timers[FAR];
    probe near = {0};

    for (int i = 0; i < FAR; i++) {
        od_timer_options options = {SECONDS(100 + i), i % 2 ? SECONDS(50) : 0, many_call, NULL,
                                    NULL, 0};
        timers[i] = od_timer_create(queue, &options);
        od_timer_start(timers[i]);
    }
    start(&near, MILLISECONDS(1), 0); /* the leader gets work: the monitor stands by */
    assert_comes_true(atomic_load(&near.overs) == 1);
    odi_clock_sleep(MILLISECONDS(300)); /* the bench's and the monitor's own deadlines */
    bool idle = false;
    for (int second = 0; second < 5 && !idle; second++) /* a busy machine's pool comes to rest later */
        idle = nobody_wakes();
    assert_true(idle);
    for (int i = 0; i < FAR; i++) {
        assert_int_equal(od_timer_cancel(timers[i]), OD_TIMER_PREVENTED);
        od_timer_release(timers[i]);
    }
    od_timer_release(near.timer);
}

static atomic_int stood_by;

static void count_stand_by(odi_team *team)
{
    atomic_fetch_add(&stood_by, 1);
    odi_pool_stand_by(team);
}

/* Those asleep whose jobs are seen to be over (W2): the gates that these stood at may go. */
static uint32_t asleep(od_pool *two)
{
    uint32_t asleep = 0, out_of_jobs = 0;
    odi_worker *worker;

    for (int site = 0; site < two->team.site_count; site++)
        asleep += odi_idle_sleepers(&two->team.sites[site].idle);
    for (int slot = 0; (worker = odi_team_next_worker(&two->team, &slot)) != NULL;)
        out_of_jobs += !(odi_worker_activity(worker) & 1);
    return asleep < out_of_jobs ? asleep : out_of_jobs;
}

/* Both go to sleep, one after the other: the first one leads. One is woken. True: that one led, and nobody does now. */
static bool has_woken_the_leader(od_pool *two, int first, gate *busy)
{
    gate doors[2] = {{0}};

    for (int job = 0; job < 2; job++)
        hold_a_worker(two, &doors[job]);
    gate_open(&doors[first]);
    assert_comes_true(asleep(two) == 1);
    gate_open(&doors[!first]);
    assert_comes_true(asleep(two) == 2);
    hold_a_worker(two, busy);
    return asleep(two) == 1 && odi_load_relaxed(&two->team.timers.leader) == 0; /* relaxed: both stand still */
}

/* Beside a worker that comes the monitor would be one thread more that wakes for each timer. */
TEST(the_monitor_does_not_stand_by_where_a_sleeper_is_woken)
{
    gate busy = {0};
    probe far = {0};
    od_pool *two = pool_without_spares(2);
    od_queue *on_two = od_queue_create(two, OD_BAND_DEFAULT, OD_UNLIMITED, "on two");
    for (int round = 0; !has_woken_the_leader(two, round % 2, &busy); round++) {
        assert_true(round < 50);
        gate_open(&busy);
        assert_comes_true(asleep(two) == 2);
        busy = (gate){0};
    }
    two->team.stand_by = count_stand_by;
    start_on(on_two, &far, SECONDS(3600), 0);
    assert_int_equal(atomic_load(&stood_by), 0);
    assert_int_equal(od_timer_cancel(far.timer), OD_TIMER_PREVENTED);
    od_timer_release(far.timer);
    gate_open(&busy);
    end_pool(two, on_two);
}

/* It was roused for what is due sooner, and one too many: the other one slept on. */
TEST(a_leader_that_goes_to_the_bench_leaves_its_look_to_another)
{
    enum { WORKERS = 3 };
    gate doors[WORKERS] = {{0}};
    probe far = {0}, near = {0};
    od_pool *three = pool_of(1);
    od_queue *on_three = od_queue_create(three, OD_BAND_DEFAULT, OD_UNLIMITED, "on three");

    odi_team_count_blocked(&three->team, WORKERS - 1);
    for (int i = 0; i < WORKERS; i++)
        hold_a_worker(three, &doors[i]);
    start_on(on_three, &far, SECONDS(3600), 0);
    open_gates(doors, WORKERS - 1);
    assert_comes_true(asleep(three) == WORKERS - 1 && odi_load_relaxed(&three->team.timers.leader) != 0);
    odi_team_count_blocked(&three->team, -1);
    start_on(on_three, &near, MILLISECONDS(50), 0);
    assert_comes_true(atomic_load(&near.overs) == 1);
    odi_team_count_blocked(&three->team, -1);
    gate_open(&doors[WORKERS - 1]);
    assert_int_equal(od_timer_cancel(far.timer), OD_TIMER_PREVENTED);
    od_timer_release(far.timer);
    od_timer_release(near.timer);
    end_pool(three, on_three);
}

static void note_site(void *raw) { *(uint32_t *)raw = odi_team_timer_site(&pool->team, false); }

ON_ONE(a_worker_of_another_pool_arms_at_a_site_of_this_one)
{
    od_pool *other = pool_of(1);
    uint32_t site = UINT32_MAX;

    od_pool_submit(other, OD_BAND_DEFAULT, note_site, &site);
    assert_int_equal(od_pool_stop(other, INT64_MAX, NULL), OD_OK);
    assert_true(site < (uint32_t)pool->team.site_count);
    assert_int_equal(od_pool_free(other), OD_OK);
}

/* Of an hour, of more than the leader's word holds (146 years), and for ever. */
TEST(a_leader_is_roused_for_what_comes_before_it_looks_and_for_nothing_else)
{
    enum { KEEPER = 3 };
    const int64_t later[] = {INT64_MAX, INT64_MAX - SECONDS(1), INT64_MAX / 3 * 2};
    odi_timer_entry timer_entries[3] = {{.state = ODI_TIMER_ENTRY_IDLE}}, soon = {.state = ODI_TIMER_ENTRY_IDLE};
    odi_timer_queue timers = {0};
    int slot = -1;

    assert_true(odi_timer_queue_init(&timers, 1));
    assert_true(odi_timer_queue_lead(&timers, KEEPER) == ODI_FOREVER);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(odi_timer_queue_arm(&timers, &timer_entries[i], later[i], SECONDS(1)),
                             ODI_ARM_REFUSED);
        assert_int_equal(odi_timer_queue_watch(&timers, &slot), ODI_WATCHED);
        assert_true(odi_timer_queue_stand_by(&timers) > later[i] - SECONDS(1));
    }
    assert_true(odi_timer_queue_lead(&timers, KEEPER) >= later[2]);
    assert_int_equal(odi_timer_queue_arm(&timers, &soon, SECONDS(60 * 365 * 86400LL), SECONDS(1)), ODI_ARM_FIRST);
    assert_int_equal(odi_timer_queue_watch(&timers, &slot), ODI_LEADER_LATE);
    assert_int_equal(slot, KEEPER);
    odi_store_relaxed(&timers.overdue, true);
    odi_timer_queue_forked(&timers); /* all of that is the parent's */
    assert_false(odi_timer_queue_leads(&timers, KEEPER) || odi_load_relaxed(&timers.overdue));
    assert_true(odi_timer_queue_earliest(&timers) == ODI_FOREVER);
    odi_timer_queue_free(&timers);
}

enum { MANY_DUE = 600 };
static atomic_ullong fired;
static unsigned long long fired_in_a_row;
static bool may_go_on;

static void count_fired(odi_timer_entry *unused) { atomic_fetch_add(&fired, 1); }

static void fire_many(void *unused)
{
    static const odi_timer_entry_kind kind = {count_fired, count_fired};
    static odi_timer_entry entries[MANY_DUE];
    odi_timer_queue *timers = &pool->team.timers;
    int64_t now = odi_clock_now();

    for (int i = 0; i < MANY_DUE; i++) {
        entries[i] = (odi_timer_entry){.kind = &kind};
        (void)odi_timer_queue_arm(timers, &entries[i], now, now);
    }
    while (odi_timer_queue_earliest(timers) > odi_clock_now()) {
    }
    odi_worker_fire_due(odi_worker_self);
    fired_in_a_row = atomic_load(&fired);
    uint32_t firing = odi_timer_queue_begin_firing(timers->wheels, odi_clock_now());
    may_go_on = firing != 0;
    odi_timer_queue_end_firing(timers->wheels, firing);
}

/* For as long as a firing may last nobody could, who has jobs between. */
ON_ONE(who_has_fired_many_leaves_the_others_to_whoever_looks_next)
{
    od_pool_submit(pool, OD_BAND_DEFAULT, fire_many, NULL);
    assert_comes_true(atomic_load(&fired) == MANY_DUE);
    assert_int_equal(fired_in_a_row, 16 * ODI_DUE_BATCH);
    assert_true(may_go_on);
}

/* Each time that it comes back; else two would fire, and nothing keeps their order. */
TEST(who_fires_has_time_for_each_batch)
{
    odi_timer_entry entry = {.site = 0};
    odi_timer_queue timers = {0};

    assert_true(odi_timer_queue_init(&timers, 1));
    assert_int_equal(odi_timer_queue_arm(&timers, &entry, 0, 0), ODI_ARM_FIRST);
    uint32_t firing = odi_timer_queue_begin_firing(timers.wheels, 0);
    odi_timer_entry *due[ODI_DUE_BATCH];
    assert_int_equal(odi_timer_queue_take(timers.wheels, firing, 1, due), 1);
    assert_int_equal(odi_timer_queue_begin_firing(timers.wheels, ODI_FIRING_NS), 0);
    assert_int_not_equal(odi_timer_queue_begin_firing(timers.wheels, ODI_FIRING_NS + 1), 0);
    timers.wheels->last_firing = UINT32_MAX;
    assert_int_equal(odi_timer_queue_begin_firing(timers.wheels, 2 * ODI_FIRING_NS + 1), 1); /* 0 is nobody */
    odi_timer_queue_close(&timers);
    assert_true(odi_timer_queue_earliest(&timers) == ODI_FOREVER);
    odi_timer_queue_free(&timers);
}

GUARDED_PROGRAM
