/* Random programs against a sequential oracle: queues, targets, barriers, sync, suspension, cancel, groups,
 * semaphores, timers, limits and stops, as generate.c puts them together from a seed.
 *
 *   programs                                  RANDOM_CPU seconds of processor time (20), from RANDOM_SEED (1) on,
 *                                             RANDOM_LANES at a time (four for each CPU: they mostly wait)
 *   programs --seed SEED [--times N]          one program again and again
 *            [--without OP,OP…]               less of it
 *   programs --show SEED [--without OP,OP…]   what it is
 *   RANDOM_LEAST=N                            fails where a pair of features met less than N times
 *   RANDOM_SHRINK=SECONDS                     for making what fails smaller (60)
 */
#include "Support/check.h"

#include <sched.h>
#include <string.h>
#include <sysexits.h>

#include "Random/lanes.h"
#include "Random/shrink.h"
#include "Random/world.h"
#include "Support/clock.h"

static bool gone[OPS];

static double number_in(const char *name, double otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtod(text, NULL) : otherwise;
}

static void show(uint64_t seed, FILE *file)
{
    static program program;

    program_generate(&program, seed);
    for (int i = 0; i < program.ops; i++)
        program.op[i].gone |= gone[i];
    (void)program_prune(&program);
    program_print(&program, file);
}

static void print_command(uint64_t seed)
{
    const char *before = " --without ";

    printf("to repeat: .build/c/FLAVOUR/bin/Random/programs --seed 0x%llx", (unsigned long long)seed);
    for (int i = 0; i < OPS; i++) {
        if (gone[i]) {
            printf("%s%d", before, i);
            before = ",";
        }
    }
    putchar('\n');
}

static void print_finding(const verdict *it)
{
    printf("finding: seed 0x%llx: %s\n%s\n", (unsigned long long)it->seed, it->why, it->said);
    show(it->seed, stdout);
    fflush(stdout);
}

static void report(const verdict *found)
{
    verdict it = *found;

    print_finding(&it);
    int left = shrink(it.seed, gone, (int64_t)(number_in("RANDOM_SHRINK", 60) * 1e9));
    printf("shrunk to %d operations:\n", left);
    show(it.seed, stdout);
    print_command(it.seed);
    fflush(stdout);
}

enum { MOST_LANES = 4096 };

static int lanes(void)
{
    cpu_set_t cpus;

    sched_getaffinity(0, sizeof cpus, &cpus);
    double asked = number_in("RANDOM_LANES", 4 * CPU_COUNT(&cpus));
    if (asked < 1 || asked > (double)MOST_LANES) {
        fprintf(stderr, "programs: RANDOM_LANES is %g: choose 1 to %d\n", asked, MOST_LANES);
        exit(EX_USAGE);
    }
    return (int)asked;
}

TEST(programs_by_seed_find_nothing)
{
    int64_t budget = (int64_t)(number_in("RANDOM_CPU", 20) * 1e9), before = watched_cpu_ns();
    const char *text = getenv("RANDOM_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;

    printf("seeds from 0x%llx on\n", (unsigned long long)seed);
    verdict end = run_lanes(seed, lanes(), budget, run_program);
    printf("%llu programs, %llu closures, %u stood still as they may and said so; %.0f s of processor time\n",
           atomic_load(&random_shared->programs), atomic_load(&random_shared->closures),
           atomic_load(&random_shared->still), (double)(watched_cpu_ns() - before) / 1e9);
    if (end.outcome == FOUND)
        report(&end);
    assert_true(end.outcome != FOUND);
    assert_true(atomic_load(&random_shared->programs) > 0);
}

TEST(each_pair_of_features_met_often_enough)
{
    int holes = features_report((unsigned)number_in("RANDOM_LEAST", 0), stdout);

    assert_true(holes == 0);
}

enum { LANES_TRIED = 3, SEEDS_TRIED = 1 << 20 };

static atomic_uint *times_run;

static void counts(const program *it)
{
    if (it->seed < SEEDS_TRIED)
        atomic_fetch_add(&times_run[it->seed], 1);
    feature_met(SERIAL_QUEUE);
    features_close();
}

TEST(lanes_run_each_seed_once_and_add_up_what_they_count)
{
    shared *of_all = random_shared;
    unsigned long long ran = 0;
    bool once = true;

    times_run = share_memory(SEEDS_TRIED * sizeof *times_run);
    random_shared = share_memory(sizeof *random_shared);
    verdict end = run_lanes(1, LANES_TRIED, SECONDS(1) / 10, counts);
    for (int i = 0; i < SEEDS_TRIED; i++) {
        ran += atomic_load(&times_run[i]);
        once &= atomic_load(&times_run[i]) <= 1;
    }
    for (int i = 1; i <= LANES_TRIED; i++)
        once &= atomic_load(&times_run[i]) == 1;
    unsigned long long told = atomic_load(&random_shared->programs);
    unsigned met = atomic_load(&random_shared->met[SERIAL_QUEUE][SERIAL_QUEUE]);
    random_shared = of_all;
    assert_int_equal(end.outcome, CLEAN);
    assert_true(once);
    assert_int_equal(told, ran);
    assert_int_equal(met, ran);
}

static void fails_late(const program *it)
{
    oracle_expects(it->seed != 1000 * LANES_TRIED + LANES_TRIED, "planted");
}

TEST(what_the_last_lane_finds_is_told)
{
    shared *of_all = random_shared;

    random_shared = share_memory(sizeof *random_shared);
    verdict end = run_lanes(1, LANES_TRIED, SECONDS(10), fails_late);
    random_shared = of_all;
    assert_int_equal(end.outcome, FOUND);
    assert_int_equal(end.seed, 1000 * LANES_TRIED + LANES_TRIED);
    assert_string_equal(end.why, "planted");
}

static void read_without(char *list)
{
    for (char *each = strtok(list, ","); each != NULL; each = strtok(NULL, ",")) {
        unsigned long number = strtoul(each, NULL, 10);

        if (number < OPS)
            gone[number] = true;
    }
}

int main(int count, char **arguments)
{
    uint64_t seed = 0;
    bool one = false, shows = false;
    int times = 1000;

    random_shared = share_memory(sizeof *random_shared);
    for (int i = 1; i + 1 < count && arguments[i][0] == '-'; i += 2) {
        if (strcmp(arguments[i], "--without") == 0)
            read_without(arguments[i + 1]);
        else if (strcmp(arguments[i], "--times") == 0)
            times = atoi(arguments[i + 1]);
        else {
            seed = strtoull(arguments[i + 1], NULL, 0);
            one = true;
            shows = strcmp(arguments[i], "--show") == 0;
        }
    }
    if (shows) {
        show(seed, stdout);
        return 0;
    }
    if (one) {
        task it = {.first = seed, .count = 1, .times = times, .cpu_ns = INT64_MAX, .gone = gone, .run = run_program};
        verdict end = watch(&it);

        if (end.outcome == FOUND)
            print_finding(&end);
        printf("%llu times, %s\n", atomic_load(&random_shared->programs),
               (const char *[]){"clean", "stood still as it may", "a finding"}[end.outcome]);
        return end.outcome == FOUND;
    }
    return run_listed(__FILE__, count, arguments);
}
