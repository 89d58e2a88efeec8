/* gate/override.c: what is submitted in a higher band, or waits there for its turn, overrides that of what is before
 * it in the line. (Who waits for a group or a queue: override_wait_test.c.) */
#include "Support/held_worker.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

/* ---- jobs ---- */

SCENE(a_job_of_a_higher_band_takes_along_what_is_before_it_in_the_line,
      "lone; hold pool Held band 0; queue q width 1 band 4; add q a; add q b; add pool 20 d; add q c band 1; add q e; "
      "add q f; open Held; order abcd20ef")

SCENE(a_line_is_served_some_64_jobs_at_a_time_while_others_of_its_band_wait,
      "lone; hold pool Held; queue q width 1; add q 200 a; add pool {a >= 64; a <= 128; b}; open Held; b -> 1")

SCENE(without_one_the_line_is_served_in_its_own_band,
      "lone; hold pool Held band 0; queue q width 1 band 4; add q a; add pool 20 d; add q b band 4; open Held; "
      "order d20ab")

SCENE(a_line_with_several_places_is_raised_too,
      "lone; hold pool Held band 0; queue q width 3 band 4; add q a; add q b; add pool 20 d; add q c band 0; add q e; "
      "open Held; order abcd20e")

SCENE(a_queue_whose_pass_is_out_raises_what_is_before_that_in_its_targets_line,
      "lone; hold pool Held band 0; queue t width 1 band 4; queue q width 1 band 4 on t; add t a; add q b; add t e; "
      "add pool 20 d; add q c band 0; open Held; order abecd20")

SCENE(a_job_of_a_group_and_a_barrier_raise_too,
      "lone; hold pool Held band 0; queue q width 1 band 4; group g; add q a; add pool 20 d; add q b in g band 1; "
      "add q c band 0 barrier; add q e; open Held; order abcd20e")

SCENE(a_batch_raises_too,
      "lone; hold pool Held band 0; queue q width 1 band 4; add q a; add pool 20 d; batch q 1 b band 0; "
      "batch q 2 c band 0; add q e; open Held; order abccd20e")

SCENE(a_suspended_line_with_a_limit_is_raised_when_it_goes_on,
      "lone; hold pool Held band 0; queue q width 1 band 4 limit 10; suspend q; add q a; add q b band 0; add q c; "
      "add pool 20 d; resume q; open Held; order abd20c")

SCENE(what_a_cancel_takes_out_raises_nothing_any_more,
      "lone; hold pool Held band 0; queue q width 1 band 4; add q x; add q x band 0; add pool 20 d; cancel q 2; "
      "add q a; add q b; open Held; order d20ab")

enum { IN_HAND = 8 };

SCENE(a_raise_is_over_with_what_it_was_for,
      "lone; hold pool Held band 0; queue q width 1 band 4; open Held; pool.hinted -> 0; suspend q; add q Door; "
      "add q 8 h; add q u band 0; resume q; Door -> 1; add q l; add pool 20 d; open Door; order h8ud20l")

/* Found by reading: what was taken back went before the job without being counted, and the raise
 * ended before it. */
SCENE(what_a_suspension_takes_out_of_a_hand_is_raised_too,
      "lone; hold pool Held band 0; queue q width 1 band 4; open Held; pool.hinted -> 0; suspend q; add q Door; "
      "add q 8 h; resume q; Door -> 1; q.offered = 8; add q u band 0; suspend q; resume q; add pool 20 d; open Door; "
      "order h8ud20")

/* They were in the pool when the queue was suspended. */
SCENE(what_a_worker_meets_of_a_suspended_queue_raises_it,
      "lone; hold pool Held band 0; queue q band 4; add q a band 0; suspend q; add pool Second band 0; open Held; "
      "Second -> 1; resume q; add pool 20 d; open Second; order ad20")

static od_queue *raised;

static void find_nothing_raised(void *unused)
{
    child_expects(raised->raised == 0 && raised->overridden[OD_BAND_USER_INTERACTIVE] == 0);
}

/* What comes in front of a raised line is raised with it, and a raise for fewer takes none off. */
TEST(a_raise_grows_with_what_comes_in_front_and_not_into_a_child)
{
    enum { BEFORE = 3 };
    od_pool *pool = lone_worker();
    gate doors[2] = {0};

    raised = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "raised");
    hold_a_worker(pool, &doors[0]);
    add_many(raised, BEFORE, no_job, NULL); /* to the pool */
    od_queue_suspend(raised);
    for (int each = 0; each < 2; each++)
        od_queue_async(raised, NULL, OD_BAND_USER_INTERACTIVE, no_job, NULL);
    assert_int_equal(LOOK(raised, raised->overridden[OD_BAND_USER_INTERACTIVE]), 2);
    odi_lock_acquire(&raised->watch.lock);
    odi_queue_raise(raised, OD_BAND_USER_INTERACTIVE, 1);
    odi_lock_release(&raised->watch.lock);
    od_pool_submit(pool, OD_BAND_BACKGROUND, gate_job, &doors[1]);
    gate_open(&doors[0]);
    assert_comes_true(atomic_load(&doors[1].waiting) == 1);
    assert_int_equal(LOOK(raised, raised->overridden[OD_BAND_USER_INTERACTIVE]), 2 + BEFORE);
    assert_child_succeeds(find_nothing_raised, NULL);
    gate_open(&doors[1]);
    od_queue_resume(raised);
    end_queue(raised);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- sync callers ---- */

/* The first thread's band is the highest. What it waits for is what the line holds before it. */
SCENE(a_sync_caller_takes_along_what_is_before_it,
      "lone; hold pool Held band 0; queue q width 1 band 4; add q a; add pool 20 d; "
      "thread {q.waiting >= 2; pool.urgent >= 1; open Held}; inside q; outside; join; order ad20")

SCENE(a_thread_is_in_its_jobs_band_or_in_the_middle,
      "lone; queue q width 1 band 4; pool.own_band = 0; thread {pool.own_band = 2; a}; join; a = 1; "
      "add q {pool.own_band = 3; b} band 3; wait q; b = 1")

SCENE(a_sync_is_in_its_queues_band_or_its_callers,
      "lone; queue above width 1 band 1; queue below width 1 band 4; queue inner band 3; queue middle width 1; "
      "inside above; inner.band = 1; inside inner; inner.band = 1; outside; outside; inside below; inner.band = 4; "
      "inside inner; inner.band = 3; outside; outside; "
      "add middle {inside above; inner.band = 1; inside inner; inner.band = 1; outside; outside; inside below; "
      "inner.band = 2; inside inner; inner.band = 2; a}; wait middle; a = 1; inner.band = -1")

/* ---- passes ---- */

/* The last drainer leaves after the last job. */
static bool is_idle(od_queue *queue)
{
    return LOOK(queue, queue->gate.held == 0 && queue->drainers_waiting == 0 && !odi_queue_has_passes(queue));
}

HELD(a_pass_that_nobody_needs_goes)
{
    od_queue *queue = background(1);

    add(queue, OD_QUEUE_BAND, 'a');
    for (int32_t band = OD_BAND_UTILITY; band >= OD_BAND_USER_INTERACTIVE; band--)
        add(queue, band, 'B');
    for (int32_t band = OD_BAND_USER_INTERACTIVE; band <= OD_BAND_BACKGROUND; band++)
        assert_int_equal(LOOK(queue, queue->passes[band]), 1); /* one each, for one drainer */
    assert_int_equal(LOOK(queue, queue->drainers_waiting), 1);
    gate_open(&scene.door);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_comes_true(is_idle(queue));
    assert_string_equal(scene.order, "aBBBB");
    od_queue_release(queue);
}

/* Two passes for one drainer, and two workers: whichever comes up second finds nobody in line. */
SCENE(a_pass_that_comes_up_beside_its_drainer_takes_no_second_place,
      "pool 2; hold pool 2 Start; queue q width 1 band 4; add q Door; add q a band 0; open Start; Door -> 1; "
      "q.passes -> 0; q.waiting = 1; q.drainers = 0; a = 0; open Door; wait q; a = 1")

HELD(a_released_queue_waits_for_its_last_pass)
{
    od_queue *queue = background(1);
    gate between = {0};

    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_BAND_USER_INTERACTIVE, 'B');
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, gate_job, &between);
    od_queue_release(queue);
    gate_open(&scene.door);
    assert_comes_true(atomic_load(&between.waiting) == 1); /* the lower band's pass is behind */
    assert_string_equal(scene.order, "aB");
    bool over = LOOK(queue, !queue->released);
    uint32_t passes = LOOK(queue, queue->passes[OD_BAND_BACKGROUND]);
    gate_open(&between);
    assert_false(over);
    assert_int_equal(passes, 1); /* the drainer that lined up there found one */
    assert_comes_true(!has_passes(queue)); /* its memory is a queue's for ever */
}

/* ---- the bound ---- */

enum { ABOVE = 1600, BELOW = 5 };
static int positions[ODI_BANDS][BELOW], places[ODI_BANDS], picks;

/* One worker runs them all: nothing here is shared. */
static void note_position(void *band)
{
    int mine = places[(uintptr_t)band]++;

    if (mine < BELOW)
        positions[(uintptr_t)band][mine] = picks;
    picks++;
}

/* A lower band that has work is passed over 255 times, and served at the next pick: one pick of
 * 256 is its, whatever flood is above. Where several are due at once they follow each other. */
HELD(a_lower_band_has_one_pick_of_256)
{
    for (uintptr_t band = OD_BAND_USER_INITIATED; band <= OD_BAND_BACKGROUND; band++) {
        for (int i = 0; i < BELOW; i++)
            od_pool_submit(scene.pool, (od_band)band, note_position, (void *)band);
    }
    for (int i = 0; i < ABOVE; i++)
        od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, note_position, NULL);
    gate_open(&scene.door);
    assert_comes_true(all_done(scene.pool) == 1 + ABOVE + (ODI_BANDS - 1) * BELOW);
    for (int i = 0; i < BELOW; i++) {
        for (int band = OD_BAND_USER_INITIATED; band <= OD_BAND_BACKGROUND; band++)
            assert_int_equal(positions[band][i], (255 + band) * (i + 1) - 1);
    }
}

/* ---- all at once ---- */

enum { THREADS = 3, EACH = 4000, QUEUES = 3 };

static struct {
    od_queue *queues[QUEUES];
    atomic_int inside[QUEUES], ran, overlaps;
} storm;

static void storm_job(void *raw)
{
    uintptr_t which = (uintptr_t)raw;

    if (atomic_fetch_add(&storm.inside[which], 1) >= (int)which + 1) /* widths 1, 2, 3 */
        atomic_fetch_add(&storm.overlaps, 1);
    atomic_fetch_add(&storm.ran, 1);
    atomic_fetch_sub(&storm.inside[which], 1);
}

static void *storm_on(void *raw)
{
    uint32_t random = (uint32_t)(uintptr_t)raw * 2654435761u + 1;

    for (int i = 0; i < EACH; i++) {
        random = random * 1664525u + 1013904223u;
        uintptr_t which = (random >> 8) % QUEUES;

        if ((random >> 16) % 16 == 0) {
            run_synced(storm.queues[which], storm_job, (void *)which);
        } else
            od_queue_async(storm.queues[which], NULL, (int32_t)((random >> 20) % 8) - 1, storm_job, (void *)which);
    }
    return NULL;
}

TEST(places_stay_exact_and_nothing_is_lost_while_lines_are_raised)
{
    od_pool *pool = pool_of(3);

    for (int32_t i = 0; i < QUEUES; i++)
        storm.queues[i] = od_queue_create(pool, OD_BAND_BACKGROUND, i + 1, "storm");
    run_on_threads(THREADS, storm_on);
    for (int i = 0; i < QUEUES; i++) {
        assert_true(od_queue_wait(storm.queues[i], HANG_NS));
        assert_comes_true(!has_passes(storm.queues[i]));
        od_queue_release(storm.queues[i]);
    }
    assert_int_equal(atomic_load(&storm.ran), THREADS * EACH);
    assert_int_equal(atomic_load(&storm.overlaps), 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

GUARDED_PROGRAM
