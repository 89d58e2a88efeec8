/* one_by_one.c — stands before cmocka's runner in a test program (-Wl,--wrap=_cmocka_run_group_tests), for Tests/Mutation/run.
 *
 * Of the program's tests those that $MUTATION_TESTS names, with commas between, run in that order, each as a group of its own;
 * the first that fails ends the process. Without it all run, and in a build with coverage each leaves its profile, and what its
 * children left, in $MUTATION_PROFILES/TEST.raw, and the seconds that it took in TEST.took.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction);
int __wrap__cmocka_run_group_tests(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction);

#ifdef PROFILED
void __llvm_profile_reset_counters(void);
void __llvm_profile_set_filename(const char *);
int __llvm_profile_write_file(void);

static void name_file(char *path, size_t size, const char *test, const char *what)
{
    snprintf(path, size, "%s/%s.%s", getenv("MUTATION_PROFILES"), test, what);
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static int run_one(const char *group, const struct CMUnitTest *test, CMFixtureFunction before, CMFixtureFunction after)
{
    char profile[4096], told[4096];
    double began = now();

    /* Merged with what is there: a child's, or that of a test of the same name. */
    name_file(profile, sizeof profile, test->name, "raw.%1m");
    name_file(told, sizeof told, test->name, "took");
    __llvm_profile_reset_counters();
    __llvm_profile_set_filename(profile);
    int failed = __real__cmocka_run_group_tests(group, test, 1, before, after);
    __llvm_profile_write_file();

    FILE *took = fopen(told, "w");
    fprintf(took, "%.3f\n", now() - began);
    fclose(took);
    return failed;
}
#else
static int run_one(const char *group, const struct CMUnitTest *test, CMFixtureFunction before, CMFixtureFunction after)
{
    return __real__cmocka_run_group_tests(group, test, 1, before, after);
}
#endif

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction before,
                                   CMFixtureFunction after)
{
    char *wanted = getenv("MUTATION_TESTS"), *rest = wanted != NULL ? strdup(wanted) : NULL;
    const char *name = wanted != NULL ? strtok_r(rest, ",", &rest) : "";

    for (; name != NULL; name = wanted != NULL ? strtok_r(NULL, ",", &rest) : NULL)
        for (size_t i = 0; i < count; i++)
            if ((wanted == NULL || strcmp(tests[i].name, name) == 0) && run_one(group, &tests[i], before, after) != 0)
                _exit(1);
    return 0;
}
