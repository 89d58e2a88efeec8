/* Random programs against a sequential oracle: queues, targets, barriers, sync, suspension, cancel, groups,
 * semaphores, timers, limits and stops, as generate.c puts them together from a seed.
 *
 *   programs                                  RANDOM_CPU seconds of processor time (20), from RANDOM_SEED (1) on
 *   programs --seed SEED [--times N]          one program again and again
 *            [--without OP,OP…]               less of it
 *   programs --show SEED [--without OP,OP…]   what it is
 *   RANDOM_LEAST=N                            fails where a pair of features met less than N times
 *   RANDOM_SHRINK=SECONDS                     for making what fails smaller (60)
 */
#include "Support/check.h"

#include <string.h>

#include "Random/shrink.h"
#include "Random/watch.h"
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

static unsigned still;

TEST(programs_by_seed_find_nothing)
{
    int64_t budget = (int64_t)(number_in("RANDOM_CPU", 20) * 1e9);
    const char *text = getenv("RANDOM_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;
    bool found = false;

    printf("seeds from 0x%llx on\n", (unsigned long long)seed);
    fflush(stdout);
    while (!found && watched_cpu_ns() < budget) {
        task it = {.first = seed, .count = 2000, .times = 1, .cpu_ns = budget - watched_cpu_ns()};
        verdict end = watch(&it);

        found = end.outcome == FOUND;
        still += end.outcome == STOOD_STILL;
        if (found)
            report(&end);
        seed = atomic_load(&random_shared->seed) + 1;
    }
    printf("%llu programs, %llu closures, %u stood still as they may and said so; %.0f s of processor time\n",
           atomic_load(&random_shared->programs), atomic_load(&random_shared->closures), still,
           (double)watched_cpu_ns() / 1e9);
    assert_true(!found);
}

TEST(each_pair_of_features_met_often_enough)
{
    int holes = features_report((unsigned)number_in("RANDOM_LEAST", 0), stdout);

    assert_true(holes == 0);
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

    watch_begin();
    for (int i = 1; i + 1 < count; i += 2) {
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
        task it = {.first = seed, .count = 1, .times = times, .cpu_ns = INT64_MAX, .gone = gone};
        verdict end = watch(&it);

        if (end.outcome == FOUND)
            print_finding(&end);
        printf("%llu times, %s\n", atomic_load(&random_shared->programs),
               (const char *[]){"clean", "stood still as it may", "a finding"}[end.outcome]);
        return end.outcome == FOUND;
    }
    return run_listed("random programs", NULL, NULL);
}
