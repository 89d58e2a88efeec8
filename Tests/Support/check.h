/* check.h — the first include of every test program: cmocka, and the active sanitizer.
 *
 * cmocka's assertions use the current test, so only the main thread may call them. Jobs and threads count
 * events, and the main thread asserts on the counts.
 *
 * A failure ends the program after a dump of its pools, because other threads may use the failed test's
 * stack. The program's arguments are the tests to run, in that order, with the patterns *, ? and [].
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

/* A job, thread or mock may ignore parameters that its caller defines. */
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

/* Large counts shrink under a sanitizer, which makes everything about 10× slower. */
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

/* A program's tests, in the order of their definitions; those of TEST_FIRST come before the others. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, before, after) TEST_LISTED(true, name, before, after, constructor) TEST_BODY(name)
#define TEST_FIRST(name, before, after) TEST_LISTED(true, name, before, after, constructor(1000)) TEST_BODY(name)
/* For tests whose result means nothing under a sanitizer, which has its own allocator, shadow memory and
 * stacks. */
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

/* Support/dump.c, which every program with pools contains. */
extern __attribute__((weak)) void dump_pools(void);
extern __attribute__((weak)) bool threads_left(void);

static inline void dump_and_end(int what)
{
    signal(SIGALRM, SIG_DFL);
    alarm(10); /* a lock of the pools may be held for ever */
    fflush(stdout);
    if (dump_pools != NULL)
        dump_pools();
    raise(what);
}

/* Makes `signal` end the process only after a dump of its pools. */
static inline void dump_before(int signal)
{
    struct sigaction action = {.sa_handler = dump_and_end, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};

    sigaction(signal, &action, NULL);
}

/* A failure, or a fatal signal, aborts through cmocka; a skipped test does not. */
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
            abort(); /* a fixture failed, or the test left a pool's threads */
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

/* A forked child of a process with threads may start its own threads; tests rely on this. */
#define CHILDREN_MAY_START_THREADS                                                        \
    const char *__tsan_default_options(void);                                             \
    const char *__tsan_default_options(void) { return "die_after_fork=0"; }

#endif
