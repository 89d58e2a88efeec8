/* loop_clock_test.c — what loops measure their parts by (include/od_fork.h) on a processor without a
 * clock that user programs may read. */
#include <unistd.h>

#include "Support/check.h"

#define OD_LOOP_SYSTEM_CLOCK
#include "od_loop.h"

/* A loop of many numbers runs alone until half a unit has passed: once the ticks stood still here,
 * and it ran alone to its end. */
TEST(a_unit_passes_without_a_clock_of_the_processors)
{
    alarm(60);
    uint64_t began = od_loop_ticks(), before = began, now;

    do {
        now = od_loop_ticks();
        assert_true(now >= before);
        before = now;
    } while (now - began < od_loop_unit());
    alarm(0);
}

/* Half a unit is something, and four of them are no overflow. */
TEST(a_unit_is_a_few_microseconds) { assert_in_range(od_loop_unit(), 1000, 10000); }

TEST_PROGRAM
