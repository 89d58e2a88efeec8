/* gate/: what a cancel keeps from running, and counts. */
#include <stdatomic.h>

/* Membarriers are counted. */
#define odi_fence_heavy_ uncounted_fence
#include "os/membarrier.c"
#undef odi_fence_heavy_

static atomic_int membarriers;

void odi_fence_heavy_(void);
void odi_fence_heavy_(void)
{
    atomic_fetch_add(&membarriers, 1);
    uncounted_fence();
}

#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

SCENE(a_cancel_of_what_waits_is_exact,
      "W in 0 1 2: queue q width W; group g; cancel q 0; suspend q; add q 25 a band 0; add q 25 a in g; add q 25 a; "
      "add q 25 a in g; cancel q 100; cancel q 0; wait g; wait q; resume q; add q a; wait q; a = 1")

SCENE(a_job_that_runs_is_not_cancelled,
      "W in 0 1 2: queue q width W; hold q Door; suspend q; add q 50 a; cancel q 50; q.pending = 1; busy q; open Door; "
      "resume q; wait q; a = 0")

/* It has met them in the pool, and given them back to the line's front. */
SCENE(what_a_worker_met_of_a_suspended_queue_is_cancelled_too,
      "lone; queue q shared; group g; hold pool Door; add q 10 a in g; suspend q; open Door; q.early -> 10; "
      "cancel q 10; wait g; resume q")

static struct {
    od_queue *queue;
    od_group *group;
    atomic_ullong ran, submitted, cancelled;
    atomic_int running;
    bool from_inside;
} race;

static void spawning_job(void *depth)
{
    atomic_fetch_add(&race.ran, 1);
    for (int i = 0; (intptr_t)depth > 0 && i < 3; i++) {
        atomic_fetch_add(&race.submitted, 1);
        od_queue_async(race.queue, i % 2 ? race.group : NULL, OD_QUEUE_BAND, spawning_job,
                       (void *)((intptr_t)depth - 1));
    }
    if (race.from_inside && (intptr_t)depth == 1)
        atomic_fetch_add(&race.cancelled, od_queue_cancel_all(race.queue));
}

static void *race_submitter(void *unused)
{
    for (int i = 0; i < UNLESS_SANITIZED(4000, 600); i++) {
        atomic_fetch_add(&race.submitted, 1);
        od_queue_async(race.queue, i % 2 ? race.group : NULL, OD_QUEUE_BAND, spawning_job,
                       (void *)(intptr_t)(i % 3));
    }
    atomic_fetch_sub(&race.running, 1);
    return NULL;
}

static void *race_canceller(void *unused)
{
    while (atomic_load(&race.running) > 0) {
        atomic_fetch_add(&race.cancelled, od_queue_cancel_all(race.queue));
        sched_yield();
    }
    return NULL;
}

QUEUE_TEST(racing_cancels_account_for_every_job)
{
    for (size_t i = 0; i < 6; i++) {
        pthread_t submitters[2], cancellers[2];

        memset(&race, 0, sizeof race);
        race.queue = queue_of(widths[i % 3]);
        race.group = od_group_create();
        race.from_inside = i >= 3;
        atomic_store(&race.running, 2);
        start_threads(submitters, 2, race_submitter);
        start_threads(cancellers, 2, race_canceller);
        join_threads(submitters, 2);
        join_threads(cancellers, 2);
        assert_true(od_queue_wait(race.queue, HANG_NS));
        assert_true(od_group_wait(race.group, HANG_NS));
        if (atomic_load(&race.submitted) != atomic_load(&race.ran) + atomic_load(&race.cancelled))
            print_error("width %d: submitted %llu, ran %llu, cancelled %llu\n", widths[i % 3],
                        atomic_load(&race.submitted), atomic_load(&race.ran),
                        atomic_load(&race.cancelled));
        assert_int_equal(atomic_load(&race.submitted), atomic_load(&race.ran) + atomic_load(&race.cancelled));
        assert_int_equal(od_queue_pending(race.queue), 0);
        assert_int_equal(od_group_pending(race.group), 0);
        od_queue_release(race.queue);
        od_group_release(race.group);
    }
}

SCENE(what_is_cancelled_is_in_the_pools_counters,
      "W in 0 1 2: queue q width W; suspend q; add q 100 a; cancel q 100; resume q; wait q; pool.cancelled -> 100")

/* The worker that finds the job cancelled tells its end, and believed itself inside it: a sync there came in where it had
 * to wait. */
SCENE(the_end_of_a_job_that_was_cancelled_is_told_outside_of_it,
      "lone; queue q; hold pool Door; add q a; cancel q 1; notify q {q.current = 0; told}; told = 0; open Door; "
      "told -> 1; a = 0")

/* Submitters to the queue wait behind the cancel. */
QUEUE_TEST(a_cancel_of_many_groups_takes_one_membarrier)
{
    enum { GROUPS = 500, OF_OTHERS = 50 };
    od_group *groups[GROUPS];
    od_queue *cancelled = queue_of(1);

    od_queue_suspend(cancelled);
    for (int i = 0; i < GROUPS; i++) {
        groups[i] = od_group_create();
        od_queue_async(cancelled, groups[i], OD_QUEUE_BAND, spawning_job, NULL);
    }
    int before = atomic_load(&membarriers);
    assert_int_equal(od_queue_cancel_all(cancelled), GROUPS);
    assert_true(atomic_load(&membarriers) - before < OF_OTHERS);
    od_queue_resume(cancelled);
    for (int i = 0; i < GROUPS; i++) {
        assert_true(od_group_wait(groups[i], HANG_NS));
        od_group_release(groups[i]);
    }
    od_queue_release(cancelled);
}

static int64_t cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* It looked at each of the pool's slots for threads again for each group, which took four times as long. */
QUEUE_TEST(a_cancel_of_many_groups_takes_at_most_twice_the_time_of_their_submissions)
{
    enum { GROUPS = 10000 };
    static od_group *groups[GROUPS];
    int64_t least = INT64_MAX;

    for (int tries = 0; tries < 3 && least > 0; tries++) {
        od_queue *cancelled = queue_of(1);

        od_queue_suspend(cancelled);
        int64_t begun = cpu_time();
        for (int i = 0; i < GROUPS; i++) {
            groups[i] = od_group_create();
            od_queue_async(cancelled, groups[i], OD_QUEUE_BAND, no_job, NULL);
        }
        int64_t submitted = cpu_time();
        assert_int_equal(od_queue_cancel_all(cancelled), GROUPS);
        int64_t longer = cpu_time() - submitted - 2 * (submitted - begun);
        least = longer < least ? longer : least;
        od_queue_resume(cancelled);
        for (int i = 0; i < GROUPS; i++)
            od_group_release(groups[i]);
        od_queue_release(cancelled);
    }
    assert_true(least < 0);
}

GUARDED_PROGRAM
