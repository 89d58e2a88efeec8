/* A group's memory serves the next group while a worker still looks at the last one, which is
 * what odi_group_drained allows: for the thread sanitizer. */
#include "Support/clock.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "job/group.h"

static odi_group *group;
static atomic_bool over;
static atomic_int looks;

static void *late_worker(void *unused)
{
    while (!atomic_load(&over)) {
        odi_group_drained(group);
        atomic_fetch_add(&looks, 1);
    }
    return NULL;
}

TEST(a_group_begins_its_life_under_its_lock)
{
    enum { LIVES = 200 };
    pthread_t worker;

    group = od_group_create();
    pthread_create(&worker, NULL, late_worker, NULL);
    assert_comes_true(atomic_load(&looks) > 0);
    od_group_release(group);
    for (int generation = 0; generation < LIVES; generation++) {
        int seen = atomic_load(&looks);

        /* One look at least since the last generation ended. */
        while (atomic_load(&looks) < seen + 2)
            sched_yield();
        odi_group *next = od_group_create();

        od_group_enter(next);
        od_group_leave(next);
        od_group_release(next);
    }
    atomic_store(&over, true);
    pthread_join(worker, NULL);
}

GUARDED_PROGRAM
