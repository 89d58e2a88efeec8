/* check.h — what every test program includes first: cmocka, and which sanitizer watches.
 *
 * cmocka's assertions jump out of the test, so they belong to the main thread alone. Jobs
 * and threads count what they see, and the main thread asserts on the counts.
 */
#ifndef SUPPORT_CHECK_H
#define SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a job, a thread or a double is given is another's to decide: not each has a use for it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Said at once: cmocka tells it when the test's tear-down has ended, and whoever uses what stood on the
 * failed test's stack may keep that from ever ending. */
static inline bool check_holds(bool holds, const char *condition, const char *file, int line)
{
    if (!holds)
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    return holds;
}

#define assert_holds(holds, condition)                                                    \
    _assert_true(check_holds(holds, condition, __FILE__, __LINE__), condition, __FILE__, __LINE__)

#undef assert_true
#define assert_true(condition) assert_holds(!!(condition), #condition)

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
#define TEST_WITH(name, before, after) TEST_LISTED(true, name, before, after, name, constructor) TEST_BODY(name)
#define TEST_FIRST(name, before, after) TEST_LISTED(true, name, before, after, name, constructor(1000)) TEST_BODY(name)
/* A sanitizer has an allocator, shadow memory and stacks of its own: of those this test says nothing. */
#define TEST_UNSANITIZED(name, before, after)                                             \
    TEST_LISTED(!SANITIZED, name, before, after, name, constructor) TEST_BODY(name)
/* The test below once more, between other functions. */
#define TEST_ALSO(name, before, after) TEST_LISTED(true, name, before, after, name##_too, constructor)

#define TEST_BODY(name) static void name(__attribute__((unused)) void **state)
#define TEST_LISTED(condition, name, before, after, entry, when)                          \
    static void name(void **);                                                            \
    __attribute__((when)) static void list_##entry(void)                                  \
    {                                                                                     \
        if (condition)                                                                    \
            test_list((struct CMUnitTest){#name, name, before, after, NULL});             \
    }

static inline int run_listed(const char *program, CMFixtureFunction before, CMFixtureFunction after)
{
    return _cmocka_run_group_tests(program, tests_listed, tests_count, before, after);
}

#define TEST_PROGRAM                                                                      \
    int main(void) { return run_listed(__FILE__, NULL, NULL); }

/* A forked child of a process with threads may start threads of its own: that is tested. */
#define CHILDREN_MAY_START_THREADS                                                        \
    const char *__tsan_default_options(void);                                             \
    const char *__tsan_default_options(void) { return "die_after_fork=0"; }

#endif
