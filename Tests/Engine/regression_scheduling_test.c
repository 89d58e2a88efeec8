/* Scheduling that went wrong once: work that waited although somebody was free for it, bounds
 * that did not hold, and ends that were told too early. All by counts and gates. */
#include "Support/crowd.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/scenes.h"
#include "Support/watchdog.h"

#include "topology/topology.h"
#include "worker/recruit.h"

static struct {
    atomic_int arrived, met;
} meeting;

/* Computes until the other one is there: nobody takes that for blocking. */
static void meet(void *unused)
{
    int64_t give_up = odi_clock_after(HANG_NS);

    atomic_fetch_add(&meeting.arrived, 1);
    while (atomic_load(&meeting.arrived) < 2 && odi_clock_now() < give_up)
        sched_yield();
    atomic_fetch_add(&meeting.met, atomic_load(&meeting.arrived) == 2);
}

/* One worker claims two jobs at once. Between the claim and its deque nobody sees the second;
 * whoever looked right then is asleep, and must be woken again. */
TEST(jobs_behind_a_batch_wake_a_sleeper)
{
    for (int round = 0; round < 20; round++) {
        od_pool *pool = pool_of(2);
        odi_site *site = &pool->team.sites[0];
        gate doors[2] = {0};

        memset(&meeting, 0, sizeof meeting);
        for (int i = 0; i < 2; i++)
            hold_a_worker(pool, &doors[i]);
        gate_open(&doors[0]);
        assert_comes_true(odi_idle_sleepers(&site->idle) == 1);
        /* Published, as it were, before that one went to sleep. */
        for (int i = 0; i < 2; i++)
            assert_true(odi_site_push(site, OD_BAND_DEFAULT, odi_job_plain(meet, NULL, 0)));
        gate_open(&doors[1]);
        assert_comes_true(all_done(pool) == 4);
        assert_int_equal(atomic_load(&meeting.met), 2);
        od_pool_free(pool);
    }
}

SCENE(a_resumed_queue_runs_more_than_the_number_of_workers_when_they_block,
      "pool 2; queue q; suspend q; add q 6 Door; resume q; Door -> 6")

static struct {
    od_pool *pool;
    od_queue *queue; /* NULL: the pool itself */
    void (*watched)(void *);
    atomic_long jobs;
    long submitted_at, waited; /* written by jobs of one worker */
    atomic_bool over;
} flood;

static void flood_job(void *unused);

static void flood_on(void)
{
    if (flood.queue != NULL)
        od_queue_async(flood.queue, NULL, OD_QUEUE_BAND, flood_job, NULL);
    else
        od_pool_submit(flood.pool, OD_BAND_DEFAULT, flood_job, NULL);
}

static void watched_job(void *unused)
{
    flood.waited = atomic_load(&flood.jobs) - flood.submitted_at;
    atomic_store(&flood.over, true);
}

/* At its thousandth job the flood submits the watched one, and stops when that has run. */
static void flood_job(void *unused)
{
    enum { BEGIN = 1000 };
    long number = atomic_fetch_add(&flood.jobs, 1) + 1;

    if (number == BEGIN && flood.watched != NULL) {
        flood.submitted_at = number;
        flood.watched(NULL);
    }
    if (!atomic_load(&flood.over))
        flood_on();
}

static void submit_in_the_lowest_band(void *unused)
{
    od_pool_submit(flood.pool, OD_BAND_BACKGROUND, watched_job, NULL);
}

/* The bound counts the jobs of a serial queue one by one, however many come in one turn; the
 * turn that was under way when the job came is not yet counted so. */
TEST(a_serial_queues_jobs_pass_a_lower_band_over_at_most_256_times_each)
{
    enum { BOUND = 256, ONE_TURN = 64 };

    memset(&flood, 0, sizeof flood);
    flood.pool = lone_worker();
    flood.queue = od_queue_create(flood.pool, OD_BAND_USER_INITIATED, 1, "flood");
    flood.watched = submit_in_the_lowest_band;
    for (int i = 0; i < 100; i++)
        flood_on();
    assert_comes_true(atomic_load(&flood.over));
    assert_true(od_queue_wait(flood.queue, HANG_NS));
    assert_in_range(flood.waited, BOUND - ONE_TURN, BOUND + ONE_TURN);
    end_pool(flood.pool, flood.queue);
}

static void submit_on_the_other_node(void *unused)
{
    odi_worker *self = odi_worker_self;
    odi_team *team = self->team;
    odi_site *other = &team->sites[1 - self->site_index];

    self->clock_tick = UINT32_MAX; /* no look by the clock: the looks after so many takes are counted here */
    (void)odi_site_push(other, OD_BAND_DEFAULT, odi_job_plain(watched_job, NULL, 0));
    odi_team_publish(team, other);
}

enum { OUTSIDE_EVERY = 61, FAR_EVERY = 8 };

TEST(a_node_without_a_worker_is_served_while_another_is_flooded)
{
    memset(&flood, 0, sizeof flood);
    flood.pool = pool_with(options_for(1), (odi_pool_world){.topology = machine_of(2, 4, 1)});
    flood.watched = submit_on_the_other_node;
    flood_on();
    assert_comes_true(atomic_load(&flood.over));
    od_pool_free(flood.pool);
    /* The look that is under way when the job comes may be nearly over; no round of looks is skipped. */
    assert_in_range(flood.waited, OUTSIDE_EVERY * (FAR_EVERY - 2), OUTSIDE_EVERY * FAR_EVERY);
}

enum { BEHIND = 20 };
static struct {
    atomic_ullong ran;
    atomic_bool begun, flooded;
} behind;

/* Computes all the time, so that nobody comes to make up for it. */
static void submit_and_compute(void *unused)
{
    int64_t give_up = odi_clock_after(HANG_NS);

    atomic_store(&behind.begun, true);
    while (!atomic_load(&behind.flooded) && odi_clock_now() < give_up)
        sched_yield();
    submit_many(flood.pool, BEHIND, count_job, &behind.ran);
    while (atomic_load(&behind.ran) < BEHIND && odi_clock_now() < give_up)
        sched_yield();
    atomic_store(&flood.over, true);
}

/* The flooded worker never runs out of work of its own, and still takes the other's. */
TEST(jobs_behind_one_that_computes_are_stolen_by_a_worker_in_a_flood)
{
    memset(&flood, 0, sizeof flood);
    memset(&behind, 0, sizeof behind);
    flood.pool = pool_of(2);
    od_pool_submit(flood.pool, OD_BAND_DEFAULT, submit_and_compute, NULL);
    assert_comes_true(atomic_load(&behind.begun));
    flood_on();
    assert_comes_true(atomic_load(&flood.jobs) > 1000);
    atomic_store(&behind.flooded, true);
    assert_comes_true(atomic_load(&flood.over));
    assert_int_equal(atomic_load(&behind.ran), BEHIND);
    od_pool_free(flood.pool);
}

enum { PARTS = 3, OF_THE_NEIGHBOUR = 40 };
static struct {
    od_pool *pool;
    atomic_int begun, at[2], behind;
    atomic_bool over;
    int jobs, waited; /* of the one that is flooded */
} parts;

static void follow_itself(void *unused)
{
    if (++parts.jobs < 100000 && !atomic_load(&parts.over))
        od_pool_submit(parts.pool, OD_BAND_DEFAULT, follow_itself, NULL);
    else
        atomic_store(&parts.over, true);
}

static void nothing(void *unused) {}

static void note_the_wait(void *unused)
{
    parts.waited = parts.jobs;
    atomic_store(&parts.over, true);
}

static void stay_until(atomic_int *count, int many)
{
    int64_t give_up = odi_clock_after(HANG_NS);

    while (atomic_load(count) < many && !atomic_load(&parts.over) && odi_clock_now() < give_up)
        sched_yield();
}

/* Once on each worker: of two on one node one is flooded, the other computes, and so does the third, which is alone
 * on its own. */
static void take_a_part(void *unused)
{
    int site = odi_worker_self->site_index;
    bool first = atomic_fetch_add(&parts.at[site], 1) == 0;

    atomic_fetch_add(&parts.begun, 1);
    stay_until(&parts.begun, PARTS);
    if (first && atomic_load(&parts.at[site]) > 1) {
        stay_until(&parts.behind, PARTS - 1);
        od_pool_submit(parts.pool, OD_BAND_DEFAULT, follow_itself, NULL);
        return;
    }
    for (int i = 0; i < (first ? 1 : OF_THE_NEIGHBOUR); i++)
        od_pool_submit(parts.pool, OD_BAND_DEFAULT, first ? note_the_wait : nothing, NULL);
    atomic_fetch_add(&parts.behind, 1);
    stay_until(&parts.behind, PARTS);
}

/* It came after all that lay behind a worker of the same node, which may be filled for ever. */
TEST(a_job_behind_another_nodes_only_worker_is_taken_though_nearer_ones_have_some)
{
    od_pool_options options = options_for(PARTS);

    options.spare_workers = 0;
    parts.pool = pool_with(options, (odi_pool_world){.topology = machine_of(2, 2, 1)});
    submit_many(parts.pool, PARTS, take_a_part, NULL);
    assert_comes_true(atomic_load(&parts.over));
    od_pool_free(parts.pool);
    /* None, if the worker's look by the clock comes before the flood. */
    assert_in_range(parts.waited, 0, 2 * OUTSIDE_EVERY * FAR_EVERY);
}

/* Of ten jobs that a serial queue's drainer took at once, nine wait behind the first. */
SCENE(a_cancel_of_a_suspended_queue_reaches_what_its_drainer_has_in_hand,
      "pool 1; queue q width 1; suspend q; add q Door; add q 9 a; resume q; Door -> 1; suspend q; cancel q 9; "
      "open Door; wait q; q.pending = 0; resume q; add q a; wait q; a = 1")

SCENE_TRAPS(a_negative_width_is_refused_and_not_a_queue_that_never_runs,
            "pool 1; queue negative width -1", "od_queue_create: width too small (-1)",
            "pool 1; queue negative width 1; width negative -1", "od_queue_set_width: width too small (-1)")

SCENE_TRAPS(a_band_that_there_is_not_is_refused,
            "pool 1; add pool a band 5", "od_pool_submit: no such band (5)",
            "pool 1; queue q width 1 band 5", "od_queue_create: no such band (5)")

static struct {
    od_queue *queue;
    od_scope scope;
    crowd jobs;
} forked;

static void stay_a_moment(void *unused)
{
    crowd_enter(&forked.jobs);
    odi_clock_sleep(MILLISECONDS(1));
    crowd_leave(&forked.jobs);
}

/* Whoever is inside holds the places, in the child as well: what is submitted meanwhile comes after. */
static void end_the_stay_and_go_on(void *unused)
{
    crowd_enter(&forked.jobs);
    od_queue_async(forked.queue, NULL, OD_QUEUE_BAND, stay_a_moment, NULL);
    odi_clock_sleep(MILLISECONDS(20));
    child_expects(atomic_load(&forked.jobs.most) == 1);
    crowd_leave(&forked.jobs);
    od_queue_sync_end(&forked.scope);
    for (int i = 0; i < 64; i++) /* more than one drainer takes at once */
        od_queue_async(forked.queue, NULL, OD_QUEUE_BAND, stay_a_moment, NULL);
    child_expects(od_queue_wait(forked.queue, HANG_NS));
    child_expects(atomic_load(&forked.jobs.most) == 1 || od_queue_width(forked.queue) != 1);
}

enum { IN_A_SERIAL_QUEUE, ON_A_SERIAL_QUEUE, IN_A_BARRIER, SCOPES };

TEST(a_fork_inside_a_scope_leaves_the_childs_serial_queue_serial)
{
    for (int kind = 0; kind < SCOPES; kind++) {
        od_pool *pool = pool_of(2);

        forked.queue = od_queue_create(pool, OD_BAND_DEFAULT, kind == IN_A_BARRIER ? OD_UNLIMITED : 1, "its own");
        od_queue *on_it = od_queue_create_with(
            pool, &(od_queue_options){.band = OD_BAND_DEFAULT, .width = 1, .target = forked.queue});
        run_in(forked.queue, no_job, NULL);
        crowd_begin(&forked.jobs);
        if (kind == IN_A_BARRIER)
            od_queue_sync_barrier_begin(forked.queue, &forked.scope);
        else
            od_queue_sync_begin(kind == ON_A_SERIAL_QUEUE ? on_it : forked.queue, &forked.scope);
        assert_child_succeeds(end_the_stay_and_go_on, NULL);
        end_the_stay_and_go_on(NULL); /* and so is the parent's */
        end_pool(pool, on_it, forked.queue);
    }
}

static void unhold_and_go_on(void *places)
{
    od_queue_unhold(forked.queue, *(uint32_t *)places);
    add_many(forked.queue, 64, stay_a_moment, NULL);
    child_expects(od_queue_wait(forked.queue, HANG_NS));
    child_expects(atomic_load(&forked.jobs.most) == 1);
}

static void unhold_beside_a_job(void *places)
{
    od_queue_async(forked.queue, NULL, OD_QUEUE_BAND, stay_a_moment, NULL);
    while (atomic_load(&forked.jobs.most) == 0)
        odi_clock_sleep(MILLISECONDS(1) / 20);
    unhold_and_go_on(places);
}

static void hold_for_a_moment(void *unused)
{
    od_queue_unhold(forked.queue, od_queue_hold(forked.queue));
}

/* Who unholds says in which process it took the place: the child's own are given up. */
static void hold_and_unhold(void *unused)
{
    od_queue *open = od_queue_create(pool_of(1), OD_BAND_DEFAULT, OD_UNLIMITED, "open");

    child_expects(od_queue_hold(open) == 0);
    od_queue_async(forked.queue, NULL, OD_QUEUE_BAND, hold_for_a_moment, unused);
    child_expects(od_queue_wait(forked.queue, HANG_NS));
    od_queue_async(forked.queue, NULL, OD_QUEUE_BAND, stay_a_moment, unused);
    child_expects(od_queue_wait(forked.queue, HANG_NS));
}

/* In the child nobody held it: it was one permit more than the queue has, or that of the child's own job. */
TEST(a_forked_child_gives_up_no_permit_that_a_task_held_before)
{
    od_pool *pool = pool_of(2);

    forked.queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "serial");
    uint32_t places = od_queue_hold(forked.queue);
    crowd_begin(&forked.jobs);
    assert_int_equal(places, 1);
    assert_child_succeeds(unhold_and_go_on, &places);
    assert_child_succeeds(unhold_beside_a_job, &places);
    assert_child_succeeds(hold_and_unhold, NULL);
    unhold_and_go_on(&places);
    end_pool(pool, forked.queue);
}

static struct {
    od_pool *pool;
    od_queue *line;
    atomic_bool began;
    bool urgent_met;
} starved;

/* The queue always holds another one. */
static void keep_the_line_going(void *unused)
{
    if (!atomic_load(&starved.began))
        od_queue_async(starved.line, NULL, OD_QUEUE_BAND, keep_the_line_going, unused);
}

static void begin_at_last(void *unused)
{
    (void)unused;
    atomic_store(&starved.began, true);
}

/* Computes until the other worker has begun what lies in this one's deque. */
static void submit_beside_a_line(void *band)
{
    int64_t give_up = odi_clock_after(HANG_NS);

    od_pool_submit(starved.pool, *(od_band *)band, begin_at_last, NULL);
    while (!atomic_load(&starved.began) && odi_clock_now() < give_up)
        sched_yield();
    starved.urgent_met = atomic_load(&starved.began);
    atomic_store(&starved.began, true);
}

/* The drainer of a line that never runs empty looked at its own site's work alone. */
TEST(a_line_that_never_runs_empty_starves_no_job_in_another_workers_deque)
{
    od_band bands[] = {OD_BAND_USER_INTERACTIVE, OD_BAND_BACKGROUND};
    int32_t widths[] = {1, 2};

    for (int each = 0; each < 4; each++) {
        od_pool *pool = starved.pool = pool_of(2);

        atomic_store(&starved.began, false);
        starved.line = od_queue_create(pool, OD_BAND_BACKGROUND, widths[each / 2], "line");
        od_queue_async(starved.line, NULL, OD_QUEUE_BAND, keep_the_line_going, NULL);
        od_pool_submit(pool, OD_BAND_BACKGROUND, submit_beside_a_line, &bands[each % 2]);
        assert_true(od_queue_wait(starved.line, HANG_NS));
        end_pool(pool, starved.line);
        assert_true(starved.urgent_met);
    }
}

/* The place went back to the pool after each turn, as a drainer; when all workers waited for
 * their turns by then, and no more could be had, nobody was left to run it. */
SCENE(a_turn_passes_to_the_next_although_all_workers_wait_for_theirs,
      "pool 2 bare; queue q; queue r width 1; add q 2000 {inside r; come; a; go}; wait q; a = 2000")

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
