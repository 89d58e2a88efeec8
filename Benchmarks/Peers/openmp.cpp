// OpenMP by gcc's libgomp: tasks in one parallel region, and the default schedule for loops.
//
// Beware of its figures for tasks: above 64 tasks per thread libgomp runs a new one at once instead
// of queueing it, and one lock per team stands around its queue.
#include <atomic>
#include <omp.h>

#include "shapes.hpp"

namespace {

struct OpenMP {
    template <class F, class G> static void two(F f, G g) {
#pragma omp task shared(f)
        f();
        g();
#pragma omp taskwait
    }
    template <class F> static void many(int count, F f) {
        for (int i = 0; i < count - 1; i++) {
#pragma omp task shared(f) firstprivate(i)
            f(i);
        }
        f(count - 1);
#pragma omp taskwait
    }
    template <class F> static void loop(uint64_t count, F f) {
#pragma omp parallel for
        for (uint64_t i = 0; i < count; i++) f(i);
    }
    template <class F> static void root(F f) {
#pragma omp parallel
#pragma omp single
        f();
    }
};

// A running task submits empty ones and the region's end waits for them.
void spawn_inside() {
    const int64_t n = harness_value("n", 100000);
    shapes::measure([n] {
#pragma omp parallel
#pragma omp single
        for (int64_t i = 0; i < n; i++) {
#pragma omp task
            wl_nothing(0);
        }
        return static_cast<uint64_t>(0);
    });
    std::atomic<uint64_t> ran{0};
#pragma omp parallel
#pragma omp single
    for (int64_t i = 0; i < n; i++) {
#pragma omp task shared(ran)
        ran.fetch_add(1, std::memory_order_relaxed);
    }
    printf("check %" PRIu64 "\n", ran.load());
}

const harness_entry entries[] = {SHAPES_TREES(OpenMP), SHAPES_LOOPS(OpenMP), {"spawn-inside", spawn_inside}};

}  // namespace

int main(int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "workers=", 8) == 0) omp_set_num_threads(atoi(argv[i] + 8));
    }
    return harness_main(argc, argv, entries, sizeof entries / sizeof *entries);
}
