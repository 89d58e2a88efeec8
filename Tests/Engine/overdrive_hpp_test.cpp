/* overdrive_hpp_test.cpp — join, parallel_for and task_group of overdrive.hpp, with exceptions and without. It prints
 * the summary of a cmocka program. */
#include "overdrive.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

static int failures;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

static long fib(int n)
{
    if (n < 2)
        return n;
    long left = 0, right = 0;
    overdrive::join([&] { left = fib(n - 1); }, [&] { right = fib(n - 2); });
    return left + right;
}

static void join_runs_both_branches()
{
    CHECK(fib(20) == 6765);
}

static void parallel_for_visits_each_number_once()
{
    for (int count : {0, 1, 2, 1000, 200000}) {
        std::vector<int> visits(static_cast<size_t>(count));

        overdrive::parallel_for(0, count, [&](int i) { visits[static_cast<size_t>(i)]++; });
        for (int visit : visits)
            CHECK(visit == 1);
    }
    std::atomic<int> sum{0};
    overdrive::parallel_for<signed char>(-128, 127, [&](signed char i) { sum += i; });
    CHECK(sum == -255);
    overdrive::parallel_for(SIZE_MAX - 3, SIZE_MAX, [&](size_t) { sum++; });
    CHECK(sum == -252);
}

static long visit_below(int depth)
{
    std::atomic<long> nodes{1};
    overdrive::task_group group;

    for (int child = 0; child < depth; child++)
        group.run([&nodes, child] { nodes += visit_below(child); });
    group.wait();
    return nodes;
}

static void group_joins_all_branches()
{
    CHECK(visit_below(12) == 4096);
    overdrive::task_group many;
    std::atomic<int> runs{0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10000; i++)
            many.run([&runs] { runs++; });
        many.wait();
        CHECK(runs == 10000 * (round + 1));
    }
}

#if defined(__cpp_exceptions)
/* Runs `joins`, whose exception has this text. */
template <class Function> static bool throws(const char *text, Function joins)
{
    try {
        joins();
    } catch (const std::runtime_error &error) {
        return std::strcmp(error.what(), text) == 0;
    }
    return false;
}

static void exception_of_either_branch_reaches_the_joiner()
{
    for (int round = 0; round < 50; round++) {
        std::atomic<bool> begun{false}, ended{false};
        const auto wait_for = [](const std::atomic<bool> &flag) {
            while (!flag)
                ;
        };

        CHECK(throws("first", [&] {
            overdrive::join([] { throw std::runtime_error("first"); }, [] { fib(5); });
        }));
        CHECK(throws("second", [] {
            overdrive::join([] { fib(5); }, [] { throw std::runtime_error("second"); });
        }));
        /* Another thread runs the second branch. */
        CHECK(throws("second", [&] {
            overdrive::join([&] { wait_for(begun); }, [&] { begun = true; throw std::runtime_error("second"); });
        }));
        begun = false;
        CHECK(throws("first", [&] {
            overdrive::join([&] { wait_for(begun); throw std::runtime_error("first"); },
                            [&] { begun = true; fib(10); ended = true; });
        }));
        CHECK(ended);
    }
    CHECK(fib(15) == 610); /* every fork is joined */
}

static void exception_of_a_loop_reaches_its_caller()
{
    for (int round = 0; round < 20; round++) {
        std::atomic<int> visits{0};

        CHECK(throws("777", [&] {
            overdrive::parallel_for(0, 10000, [&](int i) {
                visits++;
                if (i == 777)
                    throw std::runtime_error("777");
            });
        }));
        CHECK(visits > 0 && visits <= 10000);
    }
    CHECK(fib(15) == 610);
}

static void group_throws_the_exception_that_was_run_first()
{
    for (int round = 0; round < 20; round++) {
        overdrive::task_group group;
        std::atomic<int> runs{0};

        for (int i = 0; i < 20; i++) {
            group.run([&runs, i] {
                runs++;
                if (i % 7 == 5)
                    throw std::runtime_error(i == 5 ? "5" : "later");
            });
        }
        CHECK(throws("5", [&] { group.wait(); }));
        CHECK(runs == 20);
        group.run([&runs] { runs++; });
        group.wait();
        CHECK(runs == 21);
    }
}

static void exception_past_a_group_joins_its_branches()
{
    std::atomic<int> begun{0}, ended{0};

    CHECK(throws("past", [&] {
        overdrive::task_group group;
        for (int i = 0; i < 20; i++)
            group.run([&] { begun++; fib(10); ended++; });
        while (begun == 0)
            ;
        throw std::runtime_error("past");
    }));
    CHECK(begun > 0 && begun == ended);
    CHECK(fib(15) == 610);
}
#endif

int main()
{
    int tests = 0;

    setenv("OVERDRIVE_WORKERS", "3", 1);
    for (auto test : {
             join_runs_both_branches, parallel_for_visits_each_number_once, group_joins_all_branches,
#if defined(__cpp_exceptions)
             exception_of_either_branch_reaches_the_joiner, exception_of_a_loop_reaches_its_caller,
             group_throws_the_exception_that_was_run_first, exception_past_a_group_joins_its_branches,
#endif
         }) {
        test();
        tests++;
    }
    std::printf("[  %s  ] %d test(s).\n", failures == 0 ? "PASSED" : "FAILED", tests);
    return failures == 0 ? 0 : 1;
}
