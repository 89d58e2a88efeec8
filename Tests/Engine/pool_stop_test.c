/* pool/stop: an end with a deadline and an exact account; and what a pool does afterwards. */
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"
#include "include/od_report.h"
#include "os/futex.h"
#include "worker/run.h"

#include <sys/mman.h>

SCENE(without_a_deadline_everything_accepted_runs,
      "W in 1 2 3 4: pool W; add pool 400 a band 0; add pool 400 a band 1; add pool 400 a band 2; "
      "add pool 400 a band 3; add pool 400 a band 4; stop ran 2000 cancelled 0 stuck 0; a = 2000; pool.reported = 0")

SCENE(what_waits_in_queues_runs_before_a_stop_without_a_deadline_returns,
      "pool 2; queue q width 1; queue r band 3; group g; add q 500 a in g; add r 500 a in g; "
      "stop ran 1000 cancelled 0 stuck 0; a = 1000; g.pending = 0")

TEST(at_the_deadline_what_waits_is_cancelled_and_what_runs_is_named)
{
    od_pool *pool = lone_worker();
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "stuck here");
    gate door = {0};
    od_stop_report report;
    atomic_ullong ran = 0;

    add_many(queue, 10, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 10);
    hold_a_job(queue, &door);
    add_many(queue, 100, count_job, &ran);
    assert_int_equal(od_pool_stop(pool, MILLISECONDS(5), &report), OD_OK);
    assert_int_equal(atomic_load(&ran), 10);
    assert_report(&report, 10, 100, 1);
    assert_ptr_equal(report.stuck_queues[0], queue);

    od_stop_report again;
    assert_int_equal(od_pool_stop(pool, INT64_MAX, &again), OD_STOPPED);
    assert_memory_equal(&again, &report, sizeof report);
    gate_open(&door);
    assert_comes_true(nothing_runs(pool));
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

TEST(of_more_stuck_jobs_than_a_report_has_room_for_all_are_counted_and_the_first_named)
{
    enum { STUCK = OD_STUCK_NAMED + 1 };
    od_pool *pool = pool_of(STUCK);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "stuck here");
    od_stop_report report;
    gate door = {0};

    od_pool_set_owner(pool, &door); /* it lies behind the pool's own report */
    add_many(queue, STUCK, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == STUCK);
    assert_int_equal(od_pool_stop(pool, 0, &report), OD_OK);
    assert_report(&report, 0, 0, STUCK);
    for (int each = 0; each < OD_STUCK_NAMED; each++)
        assert_ptr_equal(report.stuck_queues[each], queue);
    assert_ptr_equal(pool->owner, &door);
    gate_open(&door);
    assert_comes_true(nothing_runs(pool));
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

SCENE(jobs_without_a_queue_are_counted_too,
      "lone; queue q; add q a; wait q; release q; hold pool Door; add pool 200 b band 0; add pool 200 b band 1; "
      "add pool 200 b band 2; add pool 200 b band 3; add pool 200 b band 4; "
      "stop in 0 ran 1 cancelled 1000 stuck 1 at none")

SCENE(waiters_of_what_a_stop_cancels_are_released,
      "lone; queue q; group g; hold pool Door; add q 100 a in g; notify g told; stop in 0; wait g; wait q; told = 1")

/* ---- queues with a line ---- */

SCENE(a_stop_cancels_what_waits_behind_a_stuck_serial_job,
      "lone; queue q width 1; group g; hold q Door; add q 200 a in g; stop in 0 ran 0 cancelled 200 stuck 1; wait g; "
      "open Door; pool.done -> 201; a = 0")

SCENE(a_stop_cancels_what_waits_in_a_serial_queue,
      "lone; queue q width 1; group g; hold pool Door; add q 200 a in g; stop in 0 ran 0 cancelled 200 stuck 1; wait g; "
      "open Door; pool.done -> 201; a = 0")

SCENE(a_serial_queue_discards_after_a_stop,
      "lone; queue q width 1; group g; hold pool Door; add q a; stop in 0; discard q 10 a in g; a = 0; inside q; "
      "outside; wait g")

SCENE(what_a_suspended_queue_holds_is_cancelled_by_a_stop,
      "lone; queue q width 1; group g; suspend q; add q 10 a in g; stop ran 0 cancelled 10 stuck 0; wait g; "
      "add q a in g; wait g; resume q; a = 0; pool.cancelled = 11")

/* Nobody would come for it before that thread, which may be the one that stops. A serial queue's place is held; an open
 * queue's barrier waits for who is inside. */
SCENE(what_waits_behind_a_thread_in_sync_is_cancelled_when_nothing_else_is_left,
      "W in serial open: pool 1; W=serial queue q width 1; W=open queue q shared; add q a; wait q; inside q; "
      "W=serial add q a; W=open add q a barrier; add pool a; stop ran 2 cancelled 1 stuck 0; outside; a = 2")

/* Its drainer is called, and stands in the line of a target that nobody resumes: no stop waits for that. */
SCENE(what_waits_on_a_suspended_target_is_cancelled_by_a_stop,
      "pool 1; queue t width 1; queue q width 1 on t; suspend t; add q a; stop ran 0 cancelled 1 stuck 0; resume t; "
      "wait q; a = 0")

/* The same where it stands ahead of the line, for who holds a place of the target. */
SCENE(a_stop_waits_for_no_drainer_ahead_at_a_suspended_target,
      "pool 1; queue t width 2; queue q width 1 on t; thread {inside t; suspend t; suspend q; inside q}; "
      "q.waiting -> 1; resume q; q.ahead = 1; stop ran 0 cancelled 0 stuck 0; resume t; join")

/* ---- after the deadline, from inside ---- */

static struct {
    od_pool *pool;
    gate door;
    atomic_ullong cancelled;
    atomic_bool over;
} flooded;

static void submit_three_behind_the_gate(void *unused)
{
    odi_entry job = odi_job_plain(no_job, NULL, 0);

    gate_pass(&flooded.door);
    (void)odi_pool_submit_several(flooded.pool, OD_BAND_DEFAULT, (odi_entry[]){job, job, job}, 3);
    atomic_store(&flooded.cancelled, metrics_of(flooded.pool).cancelled);
    atomic_store(&flooded.over, true);
}

/* All of them, at once: its worker may be stuck again. */
TEST(what_a_stuck_job_submits_together_past_the_deadline_is_discarded_where_it_submits)
{
    flooded.pool = lone_worker();
    od_pool_submit(flooded.pool, OD_BAND_DEFAULT, submit_three_behind_the_gate, NULL);
    assert_comes_true(atomic_load(&flooded.door.waiting) == 1);
    od_pool_stop(flooded.pool, 0, NULL);
    gate_open(&flooded.door);
    assert_comes_true(atomic_load(&flooded.over));
    assert_int_equal(atomic_load(&flooded.cancelled), 3);
    assert_int_equal(od_pool_free(flooded.pool), OD_OK);
}

static struct {
    od_pool *pool;
    od_queue *queue; /* NULL: the pool itself */
    atomic_ullong started, submitted;
    atomic_bool until;
} flood;

static void respawn(void *unused)
{
    atomic_fetch_add(&flood.started, 1);
    if (!atomic_load(&flood.until)) {
        atomic_fetch_add(&flood.submitted, 1);
        if (flood.queue != NULL)
            od_queue_async(flood.queue, NULL, OD_QUEUE_BAND, respawn, NULL);
        else
            od_pool_submit(flood.pool, OD_BAND_DEFAULT, respawn, NULL);
    }
}

/* Without a width the flood is the pool's own. */
static void flood_and_stop(void *width)
{
    od_stop_report report;

    flood.pool = pool_of(2);
    if (width != NULL)
        flood.queue = od_queue_create(flood.pool, OD_BAND_DEFAULT, *(int32_t *)width, "flood");
    for (int i = 0; i < 4; i++) {
        atomic_fetch_add(&flood.submitted, 1);
        od_pool_submit(flood.pool, OD_BAND_DEFAULT, respawn, NULL);
    }
    child_expects(COMES_TRUE(atomic_load(&flood.started) > 100));
    od_pool_stop(flood.pool, MILLISECONDS(5), &report);
    /* Nothing runs on for ever, and everything that was accepted is in the account. */
    if (!COMES_TRUE(all_done(flood.pool) == atomic_load(&flood.submitted)))
        dprintf(STDERR_FILENO, "width %d: submitted %llu, started %llu, ran %llu, cancelled %llu\n",
                width != NULL ? *(int32_t *)width : -1, atomic_load(&flood.submitted),
                atomic_load(&flood.started),
                (unsigned long long)metrics_of(flood.pool).executed,
                (unsigned long long)metrics_of(flood.pool).cancelled);
    child_expects(all_done(flood.pool) == atomic_load(&flood.submitted));
    uint64_t started = atomic_load(&flood.started);
    if (flood.queue != NULL)
        od_queue_release(flood.queue);
    child_expects(od_pool_free(flood.pool) == OD_OK); /* its threads are gone */
    child_expects(atomic_load(&flood.started) == started);
}

TEST(a_flood_that_respawns_itself_ends_at_the_deadline)
{
    static int32_t widths[] = {OD_UNLIMITED, 1, 2};

    assert_child_succeeds(flood_and_stop, NULL);
    for (int i = 0; i < 3; i++)
        assert_child_succeeds(flood_and_stop, &widths[i]);
}

/* ---- afterwards ---- */

TEST(a_stopped_pool_discards_what_is_submitted)
{
    od_pool *pool = pool_of(2);
    atomic_ullong ran = 0;

    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    od_pool_stop(pool, INT64_MAX, NULL);
    for (int band = 0; band < 5; band++)
        assert_int_equal(od_pool_submit(pool, (od_band)band, count_job, &ran), OD_STOPPED);
    odi_entry_node node;
    odi_pool_submit_node(pool, OD_BAND_DEFAULT, odi_job_plain(count_job, &ran, 0), &node);
    assert_int_equal(atomic_load(&ran), 0);
    assert_int_equal(metrics_of(pool).cancelled, 6);
    assert_int_equal(od_pool_waiting(pool), 0); /* once 2^30 for each injector, in a dump */
    od_pool_free(pool);
}

static struct {
    od_pool *pools[2];
    odi_owned owned;
    int times, depth, deepest;
} given_back;

static void submit_it_again(odi_owned *owned)
{
    if (++given_back.depth > given_back.deepest)
        given_back.deepest = given_back.depth;
    if (++given_back.times < 1000)
        (void)odi_pool_submit(given_back.pools[given_back.times % 2], OD_BAND_DEFAULT, odi_job_owned(owned));
    given_back.depth--;
}

static void never_called(odi_owned *owned) { abort(); }

static const odi_owned_kind given_back_kind = {never_called, submit_it_again};

/* One inside the other they would need as much stack as there are. */
TEST(what_the_discarded_submit_is_discarded_after_them)
{
    given_back.owned.kind = &given_back_kind;
    for (int each = 0; each < 2; each++) { /* each pool's own, though one lies within the other's */
        given_back.pools[each] = pool_of(1);
        od_pool_submit(given_back.pools[each], OD_BAND_DEFAULT, no_job, NULL);
        assert_int_equal(od_pool_stop(given_back.pools[each], INT64_MAX, NULL), OD_OK);
    }
    (void)odi_pool_submit(given_back.pools[0], OD_BAND_DEFAULT, odi_job_owned(&given_back.owned));
    assert_int_equal(given_back.times, 1000);
    assert_int_equal(given_back.deepest, 2);
    for (int each = 0; each < 2; each++) {
        assert_int_equal(metrics_of(given_back.pools[each]).cancelled, 500);
        assert_int_equal(od_pool_free(given_back.pools[each]), OD_OK);
    }
}

/* On their submitter they would be one inside the other. */
SCENE(jobs_that_submit_and_sync_crosswise_after_a_stop_are_discarded,
      "pool 1; queue q width 1; queue r width 1; add q {begun; add r {begun; inside q}}; begun -> 2; stop; "
      "add q {begun; add r {begun; inside q}}; wait q; begun = 2; pool.cancelled = 1")

static struct {
    gate door;
    atomic_ullong ran;
} late;

static void keep_one_more(void *unused)
{
    gate_pass(&late.door);
    (void)odi_worker_push(odi_worker_self, OD_BAND_DEFAULT, odi_job_plain(count_job, &late.ran, 0));
}

/* As who had claimed a batch before the deadline, and keeps what follows its first one behind it. */
TEST(what_a_late_worker_keeps_is_discarded_as_it_leaves)
{
    od_pool *pool = lone_worker();

    od_pool_submit(pool, OD_BAND_DEFAULT, keep_one_more, NULL);
    assert_comes_true(atomic_load(&late.door.waiting) == 1);
    assert_stop(pool, 0, 0, 0, 1);
    gate_open(&late.door);
    assert_comes_true(all_have_gone(pool));
    assert_int_equal(metrics_of(pool).cancelled, 1);
    assert_int_equal(atomic_load(&late.ran), 0);
    od_pool_free(pool);
}

static void *leave_as_a_late_monitor(void *raw)
{
    od_pool *pool = raw;

    odi_clock_sleep(MILLISECONDS(20));
    odi_lock_acquire(&pool->team.lock);
    pool->team.present--;
    pool->monitor_present = false;
    odi_add_relaxed(&pool->team.departures, 1); /* relaxed: locked */
    odi_futex_wake(&pool->team.departures, 1);
    odi_lock_release_last(&pool->team.lock);
    return NULL;
}

/* The stop does not wait for it beyond its deadline; and its memory stayed. */
TEST(a_pool_whose_monitor_leaves_late_is_freed_when_it_has)
{
    od_pool *pool = pool_of(1);
    void *sites = pool->team.sites;
    pthread_t monitor;

    assert_stop(pool, 0, 0, 0, 0);
    odi_lock_acquire(&pool->team.lock);
    pool->team.present++;
    pool->monitor_present = true;
    odi_lock_release(&pool->team.lock);
    assert_int_equal(pthread_create(&monitor, NULL, leave_as_a_late_monitor, pool), 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
    pthread_join(monitor, NULL);
    assert_int_equal(msync(sites, 1, MS_ASYNC), -1); /* nothing is mapped there */
}

TEST(a_stopped_pool_starts_no_thread)
{
    od_pool *pool = pool_of(1);

    od_pool_submit(pool, OD_BAND_DEFAULT, no_job, NULL);
    od_pool_stop(pool, INT64_MAX, NULL);
    odi_or_seqcst(&pool->team.attention, ODI_MONITOR_OFF, S4); /* as the monitor leaves it */
    submit_many(pool, 3, no_job, NULL);
    assert_true(odi_load_relaxed(&pool->team.attention) & ODI_MONITOR_OFF);
    od_pool_free(pool);
}

/* ---- from inside ---- */

typedef struct {
    od_pool *pool;
    od_status stop, free;
    atomic_bool done;
} insider;

static void stop_own_pool(void *raw)
{
    insider *it = raw;

    it->stop = od_pool_stop(it->pool, 0, NULL);
    it->free = od_pool_free(it->pool);
    atomic_store(&it->done, true);
}

static void stop_it(void *pool) { (void)od_pool_stop(pool, INT64_MAX, NULL); }

TEST(a_worker_that_stops_another_pool_hands_its_place_over)
{
    od_pool *pool = pool_of(1), *other = pool_of(1);
    gate door = {0};

    hold_a_worker(other, &door);
    od_pool_submit(pool, OD_BAND_DEFAULT, stop_it, other);
    assert_comes_true(blocked_in(pool) == 1);
    gate_open(&door);
    assert_comes_true(blocked_in(pool) == 0);
    od_pool_free(pool);
    od_pool_free(other);
}

TEST(a_worker_cannot_stop_its_own_pool)
{
    insider it = {.pool = pool_of(1)};

    od_pool_submit(it.pool, OD_BAND_DEFAULT, stop_own_pool, &it);
    assert_comes_true(atomic_load(&it.done));
    assert_int_equal(it.stop, OD_INSIDE);
    assert_int_equal(it.free, OD_INSIDE);
    assert_int_equal(od_pool_free(it.pool), OD_OK);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
