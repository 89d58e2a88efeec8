// OpenMP by gcc's libgomp: tasks in one parallel region; for loops the default schedule, which is static, and the guided one
// where iterations differ.
//
// Beware of its figures for tasks: above 64 tasks per thread libgomp runs a new one at once instead
// of queueing it, and one lock per team stands around its queue.
#include <algorithm>
#include <atomic>
#include <omp.h>

#include "shapes.hpp"

namespace {

// Whether the workload's iterations differ.
bool is_uneven;

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
        if (is_uneven) {
#pragma omp parallel for schedule(guided)
            for (uint64_t i = 0; i < count; i++) f(i);
            return;
        }
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

// ---- graphs: tasks that depend on what others leave behind ----

// Tasks in a row, each depending on the one before.
void dag_chain() {
    const int64_t n = harness_value("n", 1000);
    shapes::measure([n] {
        int64_t ran = 0;
#pragma omp parallel
#pragma omp single
        for (int64_t i = 0; i < n; i++) {
#pragma omp task depend(inout : ran) shared(ran)
            ran += ran == i;
        }
        return static_cast<uint64_t>(ran);
    });
}

// A binary tree of tasks, each after both its children; those that have none come first.
void dag_tree() {
    const int64_t n = harness_value("n", 1023);
    // What a node and all below it have counted; behind the last, zeros for the children of leaves.
    std::vector<uint64_t> counts(static_cast<size_t>(2 * n + 1));
    shapes::measure([&] { std::fill(counts.begin(), counts.end(), 0); }, [&] {
        uint64_t *const node = counts.data();
#pragma omp parallel
#pragma omp single
        for (int64_t i = n - 1; i >= 0; i--) {
#pragma omp task depend(in : node[2 * i + 1], node[2 * i + 2]) depend(out : node[i]) firstprivate(i)
            node[i] += 1 + node[2 * i + 1] + node[2 * i + 2];
        }
        return counts[0];
    });
}

// A square of cells, each after its upper and left neighbours.
void wavefront() {
    const int64_t side = harness_value("side", 64), width = side + 1;
    const uint64_t steps = static_cast<uint64_t>(harness_value("steps", 100));
    // With a row above and a column before, which are 1; the others are cleared, or what the last sample left would hide a
    // neighbour that came too late.
    std::vector<uint64_t> cells(static_cast<size_t>(width * width), 1);
    const auto clear = [&] {
        for (int64_t row = 1; row <= side; row++) {
            std::fill_n(cells.begin() + static_cast<std::ptrdiff_t>(row * width + 1), side, 0);
        }
    };
    shapes::measure(clear, [&] {
        uint64_t *const cell = cells.data();
#pragma omp parallel
#pragma omp single
        for (int64_t row = 1; row <= side; row++) {
            for (int64_t at = row * width + 1; at <= row * width + side; at++) {
#pragma omp task depend(in : cell[at - width], cell[at - 1]) depend(out : cell[at]) firstprivate(at)
                cell[at] = wl_spin(cell[at - width] + cell[at - 1], steps);
            }
        }
        return cells.back();
    });
}

// A graph. Tasks cannot be run again: each sample makes them.
void graph() {
    shapes::graph([](const wl_graph &graph) {
        const wl_graph *const shape = &graph;
#pragma omp parallel
#pragma omp single
        for (int64_t i = 0; i < shape->count; i++) {
            const int32_t first = shape->rows[i], end = shape->rows[i + 1];
#pragma omp task depend(iterator(int32_t k = first : end), in : shape->values[shape->before[k]]) depend(out : shape->values[i]) firstprivate(i)
            wl_graph_run(shape, i);
        }
    });
}

const harness_entry entries[] = {SHAPES_TREES(OpenMP),   SHAPES_LOOPS(OpenMP),   {"spawn-inside", spawn_inside},
                                 {"dag-chain", dag_chain}, {"dag-tree", dag_tree}, {"wavefront", wavefront}, {"graph", graph}};

}  // namespace

int main(int argc, char **argv) {
    // Files are of 1 to 64 KiB.
    is_uneven = argc > 1 && (strcmp(argv[1], "loop-imbalanced") == 0 || strcmp(argv[1], "files") == 0);
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "workers=", 8) == 0) omp_set_num_threads(atoi(argv[i] + 8));
    }
    return harness_main(argc, argv, entries, sizeof entries / sizeof *entries);
}
