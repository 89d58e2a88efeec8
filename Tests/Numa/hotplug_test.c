/* CPUs go offline and come back under a pool at work: nothing is lost, nothing hangs, and its workers
 * follow. Only for a machine that Tests/Numa/machine has built: it is this program's to break.
 *
 * What becomes of a worker whose CPU goes: the kernel has it run elsewhere at once, its mask being void.
 * At the next look at the limits, a second later while there is something to do, the pool has one worker
 * fewer, and each that is left has a place on a CPU that is there; the one too many sits on the bench.
 * When the CPU is back, so is a worker, and each has the place of its own again.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "Numa/nodes.h"

/* ---- CPUs: the kernel numbers them node by node ---- */

static bool switch_cpu(int cpu, bool on)
{
    char path[64];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool written = file >= 0 && write(file, on ? "1" : "0", 1) == 1;
    if (file >= 0)
        close(file);
    return written;
}

static int first_cpu_of(int node)
{
    int first = 0;

    while (node-- > 0)
        first += built.cpus_of[node];
    return first;
}

static void cpus_from_to(int first, int end, odi_cpu_mask *cpus)
{
    odi_cpu_mask_clear(cpus);
    for (int cpu = first; cpu < end; cpu++)
        odi_cpu_mask_add(cpus, cpu);
}

static void cpus_of_node(int node, odi_cpu_mask *cpus)
{
    int first = first_cpu_of(node);

    cpus_from_to(first, first + built.cpus_of[node], cpus);
}

/* ---- work ---- */

/* Each job from outside submits another one from inside and computes for a moment. */
enum { MOST_JOBS = 1 << 20, FAMILY = 2, SUBMITTERS = 2, MOST_WAITING = 500 };

static struct {
    od_pool *pool;
    atomic_bool over;
    atomic_int submitted, ran;
    atomic_uchar times[MOST_JOBS];
    pthread_t submitters[SUBMITTERS];
    bool begun;
} load;

static void compute(void *place)
{
    int64_t until = odi_clock_after(50 * ODI_MICROSECOND);

    while (odi_clock_now() < until)
        odi_spin_pause();
    atomic_fetch_add((atomic_uchar *)place, 1);
    atomic_fetch_add(&load.ran, 1);
}

static void have_a_child(void *place)
{
    od_pool_submit(load.pool, OD_BAND_DEFAULT, compute, (atomic_uchar *)place + 1);
    compute(place);
}

static void *submit_on(void *unused)
{
    while (!atomic_load(&load.over) && atomic_load(&load.submitted) < MOST_JOBS - FAMILY * SUBMITTERS) {
        if (atomic_load(&load.submitted) - atomic_load(&load.ran) > MOST_WAITING) {
            odi_clock_sleep(200 * ODI_MICROSECOND);
            continue;
        }
        int number = atomic_fetch_add(&load.submitted, FAMILY);

        od_pool_submit(load.pool, OD_BAND_DEFAULT, have_a_child, &load.times[number]);
    }
    return unused;
}

/* Not by threads that are pinned: who starts a worker passes on its mask. */
static void begin_load(od_pool *pool)
{
    memset(load.times, 0, sizeof load.times);
    load.pool = pool;
    atomic_store(&load.over, false);
    atomic_store(&load.submitted, 0);
    atomic_store(&load.ran, 0);
    for (int i = 0; i < SUBMITTERS; i++)
        assert_int_equal(pthread_create(&load.submitters[i], NULL, submit_on, NULL), 0);
    load.begun = true;
}

static void stop_submitting(void)
{
    atomic_store(&load.over, true);
    for (int i = 0; i < SUBMITTERS && load.begun; i++)
        pthread_join(load.submitters[i], NULL);
    load.begun = false;
}

static void end_load(void)
{
    int wrong = 0;

    stop_submitting();
    assert_comes_true(atomic_load(&load.ran) == atomic_load(&load.submitted));
    for (int i = 0; i < MOST_JOBS; i++)
        wrong += atomic_load(&load.times[i]) != (i < atomic_load(&load.submitted));
    assert_int_equal(wrong, 0);
    print_message("%d jobs, each once\n", atomic_load(&load.ran));
}

/* ---- where the workers are ---- */

/* What a worker's thread may use, as the kernel says; a CPU that is not there is never among it. */
static bool mask_of(odi_worker *worker, odi_cpu_mask *mask)
{
    int thread = odi_load_relaxed(&worker->thread_id); /* relaxed: asked again and again */
    cpu_set_t set;

    odi_cpu_mask_clear(mask);
    if (thread == 0 || sched_getaffinity(thread, sizeof set, &set) != 0)
        return false;
    for (int cpu = 0; cpu < built.cpus; cpu++) {
        if (CPU_ISSET(cpu, &set))
            odi_cpu_mask_add(mask, cpu);
    }
    return true;
}

/* As many workers as CPUs work, each where the placement says: on one of its own, on what is left of
 * its node, or anywhere. */
static bool all_are_in_place(od_pool *pool, const odi_cpu_mask *online)
{
    odi_team *team = &pool->team;
    odi_cpu_mask taken, mask, home;
    bool in_place = true;
    int working = 0;

    odi_cpu_mask_clear(&taken);
    odi_lock_acquire(&team->lock);
    od_placement policy = team->plan->policy;
    for (int slot = 0; slot < team->capacity; slot++) {
        odi_worker *worker = odi_load_relaxed(&team->slots[slot]); /* relaxed: locked */

        if (worker == NULL || !worker->present || worker->benched)
            continue;
        working++;
        in_place &= mask_of(worker, &mask);
        home = *online;
        if (policy != OD_PLACEMENT_NONE) {
            cpus_of_node(home_of(worker), &home);
            odi_cpu_mask_intersect(&home, online);
        }
        if (policy == OD_PLACEMENT_CORE) {
            int cpu = odi_cpu_mask_next(&mask, 0);

            in_place &= odi_cpu_mask_count(&mask) == 1 && odi_cpu_mask_has(&home, cpu) &&
                        !odi_cpu_mask_has(&taken, cpu);
            odi_cpu_mask_add(&taken, cpu >= 0 ? cpu : 0);
        } else
            in_place &= odi_cpu_mask_equal(&mask, &home);
    }
    odi_lock_release(&team->lock);
    return in_place && working == odi_cpu_mask_count(online);
}

/* They work on, as many as there are CPUs, and each is in its place. */
static void check_workers(od_pool *pool, const odi_cpu_mask *online, const char *what)
{
    int64_t began = odi_clock_now();
    int ran = atomic_load(&load.ran);

    assert_comes_true(atomic_load(&load.ran) > ran + MOST_WAITING);
    assert_comes_true(od_pool_workers(pool) == odi_cpu_mask_count(online));
    int64_t followed = odi_clock_now() - began;
    assert_comes_true(all_are_in_place(pool, online));
    ran = atomic_load(&load.ran);
    assert_comes_true(atomic_load(&load.ran) > ran + MOST_WAITING);
    print_message("%s: %d workers after %d ms, in their places after %d ms\n", what,
                  od_pool_workers(pool), (int)(followed / ODI_MILLISECOND),
                  (int)((odi_clock_now() - began) / ODI_MILLISECOND));
}

/* Takes CPUs from `first` to before `end` away and gives them back, under load. */
static void take_away_and_give_back(od_pool *pool, int first, int end)
{
    odi_cpu_mask online;

    cpus_from_to(0, first, &online);
    for (int cpu = end; cpu < built.cpus; cpu++)
        odi_cpu_mask_add(&online, cpu);
    for (int cpu = first; cpu < end; cpu++)
        assert_true(switch_cpu(cpu, false));
    check_workers(pool, &online, "gone");
    for (int cpu = first; cpu < end; cpu++)
        assert_true(switch_cpu(cpu, true));
    cpus_from_to(0, built.cpus, &online);
    check_workers(pool, &online, "back");
}

static od_pool *pool_under_load(od_placement placement)
{
    od_pool *pool = pool_placed(placement, 0);
    odi_cpu_mask online;

    cpus_from_to(0, built.cpus, &online);
    begin_load(pool);
    check_workers(pool, &online, "at first");
    return pool;
}

static void end(od_pool *pool)
{
    end_load();
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- the tests ---- */

/* Whatever failed, the next test has the machine as it was built, and to itself. */
static int all_cpus_again(void **state)
{
    stop_submitting();
    for (int cpu = 1; cpu < built.cpus; cpu++)
        (void)switch_cpu(cpu, true);
    return 0;
}

TEST_WITH(a_cpu_that_goes_takes_no_job_with_it_and_is_used_when_it_is_back, NULL, all_cpus_again)
{
    od_pool *pool = pool_under_load(OD_PLACEMENT_CORE);
    const int cpus[] = {built.cpus - 1, 1, built.cpus / 2};

    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++)
        take_away_and_give_back(pool, cpus[i], cpus[i] + 1);
    end(pool);
}

TEST_WITH(a_node_that_loses_all_its_cpus_loses_its_workers, NULL, all_cpus_again)
{
    if (built.compute_nodes < 2)
        skip();
    od_pool *pool = pool_under_load(OD_PLACEMENT_NODE);
    int node = built.home_nodes[built.compute_nodes - 1], first = first_cpu_of(node);

    take_away_and_give_back(pool, first, first + built.cpus_of[node]);
    end(pool);
}

TEST_WITH(workers_that_live_nowhere_are_as_many_as_the_cpus, NULL, all_cpus_again)
{
    od_pool *pool = pool_under_load(OD_PLACEMENT_NONE);

    take_away_and_give_back(pool, 1, built.cpus);
    end(pool);
}

int main(int count, char **names)
{
    if (getenv("NUMA_NODES") == NULL || access("/machine", F_OK) != 0) {
        print_error("this takes CPUs away from the machine that it runs on: Tests/Numa/machine builds one\n");
        return 1;
    }
    read_description();
    watchdog_allow(300, __FILE__, "the same program on the same machine");
    return run_listed(__FILE__, count, names);
}
