/* shrink.c — delta debugging (Zeller's and Hildebrandt's ddmin, TSE 2002) on the tree of operations: halves
 * of what is left are taken away, then quarters, as long as it still fails. Which are tried, and in which
 * order, is the same each time; whether one fails is the machine's choice, so each has many tries. */
#include "Random/shrink.h"

#include <string.h>

#include "Random/watch.h"
#include "Random/world.h"
#include "Support/clock.h"

enum { TRIES = 400 };

static int64_t deadline;

static bool fails(uint64_t seed, const bool *gone)
{
    task it = {.first = seed, .count = 1, .times = TRIES, .cpu_ns = SECONDS(2), .gone = gone, .run = run_program};

    return watch(&it).outcome == FOUND;
}

/* What is left, by number. */
static int list_left(uint64_t seed, const bool *gone, int *left)
{
    static program program;
    int count = 0;

    program_generate(&program, seed);
    for (int i = 0; i < program.ops; i++)
        program.op[i].gone |= gone[i];
    (void)program_prune(&program);
    for (int i = 0; i < program.ops; i++) {
        if (!program.op[i].gone)
            left[count++] = i;
    }
    return count;
}

static bool take_away(uint64_t seed, bool *gone, const int *left, int from, int to)
{
    bool before[OPS];

    memcpy(before, gone, sizeof before);
    for (int i = from; i < to; i++)
        gone[left[i]] = true;
    if (fails(seed, gone))
        return true;
    memcpy(gone, before, sizeof before);
    return false;
}

int shrink(uint64_t seed, bool *gone, int64_t limit_ns)
{
    int left[OPS], count = list_left(seed, gone, left);

    deadline = odi_clock_now() + limit_ns;
    for (int size = (count + 1) / 2; size >= 1 && count > 1; size = size == 1 ? 0 : (size + 1) / 2) {
        bool again = true;

        while (again && odi_clock_now() < deadline) {
            again = false;
            for (int from = 0; from < count && odi_clock_now() < deadline;) {
                int to = from + size < count ? from + size : count;

                if (take_away(seed, gone, left, from, to)) {
                    again = size == 1;
                    count = list_left(seed, gone, left);
                } else
                    from = to;
            }
        }
    }
    return count;
}
