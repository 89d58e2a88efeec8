/* check.h — what every test program includes first: cmocka, and which sanitizer watches.
 *
 * cmocka's assertions say which test is under way, so they belong to the main thread alone. Jobs
 * and threads count what they see, and the main thread asserts on the counts.
 *
 * What fails ends the program, with a look at its pools: whoever uses what stood on the failed test's stack
 * goes no further. A program's arguments are the tests that run, in that order; *, ? and [] are a shell's.
 */
#ifndef SUPPORT_CHECK_H
#define SUPPORT_CHECK_H

#include <fnmatch.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <cmocka.h>

/* What a job, a thread or a double is given is another's to decide: not each has a use for it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

/* Large counts shrink under a sanitizer, which slows everything some ten times. */
enum { SANITIZED = UNDER_TSAN || UNDER_ASAN };
#define UNLESS_SANITIZED(full, reduced) (SANITIZED ? (reduced) : (full))

/* ---- tests: TEST(it_does_so) { … } ---- */

static struct CMUnitTest tests_listed[128];
static size_t tests_count;

static inline void test_list(struct CMUnitTest test)
{
    if (tests_count == sizeof tests_listed / sizeof tests_listed[0])
        abort();
    tests_listed[tests_count++] = test;
}

/* What a program's tests are, in the order in which they are written; those of TEST_FIRST before the others. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, before, after) TEST_LISTED(true, name, before, after, constructor) TEST_BODY(name)
#define TEST_FIRST(name, before, after) TEST_LISTED(true, name, before, after, constructor(1000)) TEST_BODY(name)
/* A sanitizer has an allocator, shadow memory and stacks of its own: of those this test says nothing. */
#define TEST_UNSANITIZED(name, before, after)                                             \
    TEST_LISTED(!SANITIZED, name, before, after, constructor) TEST_BODY(name)

#define TEST_BODY(name) static void name(__attribute__((unused)) void **state)
#define TEST_LISTED(condition, name, before, after, when)                                 \
    static void name(void **);                                                            \
    __attribute__((when)) static void list_##name(void)                                   \
    {                                                                                     \
        if (condition)                                                                    \
            test_list((struct CMUnitTest){#name, name, before, after, NULL});             \
    }

/* Support/dump.c. In every program that has pools. */
extern __attribute__((weak)) void dump_pools(void);
extern __attribute__((weak)) bool threads_left(void);

static inline void dump_and_end(int what)
{
    signal(SIGALRM, SIG_DFL);
    alarm(10); /* a lock of theirs may be held for ever */
    fflush(stdout);
    if (dump_pools != NULL)
        dump_pools();
    raise(what);
}

/* From now on `signal` ends the process only when its pools have been looked at. */
static inline void dump_before(int signal)
{
    struct sigaction action = {.sa_handler = dump_and_end, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};

    sigaction(signal, &action, NULL);
}

/* What fails, and a signal that ends the process, is an abort of cmocka's; a test that is skipped is none. */
#undef skip
#define skip() (unsetenv("CMOCKA_TEST_ABORT"), _skip(__FILE__, __LINE__))

static inline int run_tests_named(const char *program, const char *name)
{
    bool found = false;

    for (struct CMUnitTest *test = tests_listed; test < tests_listed + tests_count; test++) {
        if (fnmatch(name, test->name, 0) != 0)
            continue;
        found = true;
        setenv("CMOCKA_TEST_ABORT", "1", true);
        if (_cmocka_run_group_tests(program, test, 1, NULL, NULL) != 0 || (threads_left != NULL && threads_left()))
            abort(); /* a fixture says so, or it left its pool behind */
    }
    if (!found)
        fprintf(stderr, "%s: there is no test %s\n", program, name);
    return found ? EX_OK : EX_USAGE;
}

static inline int run_listed(const char *program, int count, char **names)
{
    int status = EX_OK;

    dump_before(SIGABRT);
    for (int i = 1; i < count && status == EX_OK; i++)
        status = run_tests_named(program, names[i]);
    return count > 1 ? status : run_tests_named(program, "*");
}

#define TEST_PROGRAM                                                                      \
    int main(int count, char **names) { return run_listed(__FILE__, count, names); }

/* A forked child of a process with threads may start threads of its own: that is tested. */
#define CHILDREN_MAY_START_THREADS                                                        \
    const char *__tsan_default_options(void);                                             \
    const char *__tsan_default_options(void) { return "die_after_fork=0"; }

#endif
