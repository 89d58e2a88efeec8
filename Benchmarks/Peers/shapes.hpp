// shapes.hpp — the workloads of contenders in C++, once for all of them.
//
// A contender is a type S with
//   S::two(f, g)              f may run elsewhere while g runs here; both are done on return
//   S::many(count, f)         f(0) … f(count - 1), all done on return; all but the last may run elsewhere
//   S::loop(count, f)         f(i) for each i of a loop, by the library's own partitioner
//   S::root(f)                runs f where two, many and loop may be called
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "harness.h"
#include "workloads.h"

namespace shapes {

template <class Once> void measure(Once once) {
    harness_measure(nullptr, [](void *context) { return (*static_cast<Once *>(context))(); }, &once);
}

template <class Prepare, class Once> void measure(Prepare prepare, Once once) {
    std::pair<Prepare *, Once *> both{&prepare, &once};
    harness_measure([](void *context) { (*static_cast<decltype(both) *>(context)->first)(); },
                    [](void *context) { return (*static_cast<decltype(both) *>(context)->second)(); }, &both);
}

// The graph that the arguments name.
inline std::unique_ptr<wl_graph, void (*)(wl_graph *)> named_graph() {
    return {wl_graph_make(static_cast<wl_shape>(harness_value("shape", 0)), harness_value("n", 1000),
                          static_cast<uint64_t>(harness_value("steps", 0))),
            wl_graph_free};
}

// A graph, each node after those that it waits for: `once` runs all.
template <class Once> void graph(Once once) {
    const auto graph = named_graph();
    measure([&] { wl_graph_clear(graph.get()); }, [&] {
        once(*graph);
        return wl_graph_answer(graph.get());
    });
}

// ---- trees ----

template <class S> uint64_t fib(int64_t n) {
    if (n < 2) return static_cast<uint64_t>(n);
    uint64_t a, b;
    S::two([&] { a = fib<S>(n - 1); }, [&] { b = fib<S>(n - 2); });
    return a + b;
}

template <class S> uint64_t skynet(uint64_t first, uint64_t leaves) {
    if (leaves == 1) return first;
    uint64_t sums[10];
    S::many(10, [&](int i) { sums[i] = skynet<S>(first + static_cast<uint64_t>(i) * (leaves / 10), leaves / 10); });
    uint64_t sum = 0;
    for (uint64_t part : sums) sum += part;
    return sum;
}

template <class S> uint64_t queens(int32_t row, int32_t n, const int8_t *board) {
    if (row == n) return 1;
    int8_t boards[WL_MOST_QUEENS][WL_MOST_QUEENS];
    uint64_t counts[WL_MOST_QUEENS];
    int32_t safe = 0;
    for (int8_t column = 0; column < n; column++) {
        memcpy(boards[safe], board, static_cast<size_t>(row));
        boards[safe][row] = column;
        if (wl_queen_is_safe(row, boards[safe])) safe++;
    }
    if (safe == 0) return 0;
    S::many(safe, [&](int i) { counts[i] = queens<S>(row + 1, n, boards[i]); });
    uint64_t count = 0;
    for (int32_t i = 0; i < safe; i++) count += counts[i];
    return count;
}

template <class S> void matmul(const double *a, const double *b, double *c, size_t n, size_t stride) {
    if (n <= WL_MATMUL_LEAF) return wl_matmul_leaf(a, b, c, stride);
    const size_t h = n / 2, down = h * stride;
    const auto quarters = [&](size_t k) {  // each quarter of c takes the k-th half of the products
        S::many(4, [&, k](int q) {
            const size_t row = q & 2 ? down : 0, column = q & 1 ? h : 0;
            matmul<S>(a + row + k * h, b + k * down + column, c + row + column, h, stride);
        });
    };
    quarters(0);
    quarters(1);
}

template <class S> uint64_t uts(const wl_uts_tree &tree, const wl_uts_node &node) {
    const int32_t children = wl_uts_children(&tree, &node);
    if (children == 0) return 1;
    // On the heap where there are many: the root of a binomial tree has 2,000 children.
    uint64_t few[8];
    std::unique_ptr<uint64_t[]> more(children > 8 ? new uint64_t[static_cast<size_t>(children)] : nullptr);
    uint64_t *counts = more ? more.get() : few;
    S::many(children, [&tree, &node, counts](int i) { counts[i] = uts<S>(tree, wl_uts_child(&node, i)); });
    uint64_t count = 1;
    for (int32_t i = 0; i < children; i++) count += counts[i];
    return count;
}

template <class S> double integrate(double x1, double y1, double x2, double y2, double area, double epsilon) {
    const wl_halves h = wl_halve(x1, y1, x2, y2, area, epsilon);
    if (h.close) return h.left + h.right;
    double left, right;
    S::two([&] { left = integrate<S>(x1, y1, h.middle, h.height, h.left, epsilon); },
           [&] { right = integrate<S>(h.middle, h.height, x2, y2, h.right, epsilon); });
    return left + right;
}

template <class S> void mergesort(int32_t *values, int32_t *room, size_t count) {
    if (count <= WL_SORT_LEAF) return wl_sort_leaf(values, room, count);
    const size_t h = count / 2;
    S::two([&] { mergesort<S>(values, room, h); }, [&] { mergesort<S>(values + h, room + h, count - h); });
    S::two([&] { wl_merge_front(values, h, values + h, count - h, room, h); },
           [&] { wl_merge_back(values, h, values + h, count - h, room, count - h); });
    S::two([&] { memcpy(values, room, h * sizeof *values); },
           [&] { memcpy(values + h, room + h, (count - h) * sizeof *values); });
}

template <class S> void quicksort(int32_t *values, int32_t *room, size_t count) {
    if (count <= WL_SORT_LEAF) return wl_sort_leaf(values, room, count);
    const size_t k = wl_partition(values, count);
    S::two([&] { quicksort<S>(values, room, k); }, [&] { quicksort<S>(values + k, room + k, count - k); });
}

template <class S> int64_t tree_sum(const wl_tree_node *node) {
    if (node == nullptr) return 0;
    int64_t left, right;
    S::two([&] { left = tree_sum<S>(node->left); }, [&] { right = tree_sum<S>(node->right); });
    return node->value + left + right;
}

// ---- what is measured ----

template <class S> struct Run {
    static void fib() {
        measure([n = harness_value("n", 25)] {
            uint64_t result = 0;
            S::root([&] { result = shapes::fib<S>(n); });
            return result;
        });
    }
    static void skynet() {
        measure([leaves = static_cast<uint64_t>(harness_value("leaves", 100000))] {
            uint64_t result = 0;
            S::root([&] { result = shapes::skynet<S>(0, leaves); });
            return result;
        });
    }
    static void queens() {
        measure([n = static_cast<int32_t>(harness_value("n", 10))] {
            uint64_t result = 0;
            const int8_t board[WL_MOST_QUEENS] = {};
            S::root([&] { result = shapes::queens<S>(0, n, board); });
            return result;
        });
    }
    static void matmul() {
        const size_t n = static_cast<size_t>(harness_value("n", 512));
        std::vector<double> a(n * n), b(n * n), c(n * n);
        measure([&] { wl_matmul_fill(a.data(), b.data(), c.data(), n); },
                [&] {
                    S::root([&] { shapes::matmul<S>(a.data(), b.data(), c.data(), n, n); });
                    return static_cast<uint64_t>(0);
                });
        printf("check %" PRIu64 "\n", wl_matmul_answer(c.data(), n));
    }
    static void uts() {
        harness_deep([] {
            measure([tree = wl_uts_named(harness_value("tree", 0))] {
                uint64_t result = 0;
                S::root([&] { result = shapes::uts<S>(tree, wl_uts_root(&tree)); });
                return result;
            });
        });
    }
    static void integrate() {
        const double to = static_cast<double>(harness_value("to", 100));
        const double epsilon = 1.0 / static_cast<double>(harness_value("per_epsilon", 10000000));
        measure([=] {
            double result = 0;
            S::root([&] { result = shapes::integrate<S>(0, wl_integrand(0), to, wl_integrand(to), 0, epsilon); });
            uint64_t bits;
            memcpy(&bits, &result, sizeof bits);
            return bits;
        });
    }
    template <class Sort> static void sort(Sort body) {
        const size_t n = static_cast<size_t>(harness_value("n", 1000000));
        std::vector<int32_t> values(n), room(n);
        measure([&] { wl_sort_fill(values.data(), n); },
                [&] {
                    S::root([&] { body(values.data(), room.data(), n); });
                    return static_cast<uint64_t>(0);
                });
        printf("check %" PRIu64 "\n", wl_sort_answer(values.data(), n));
    }
    static void mergesort() { sort([](auto... all) { shapes::mergesort<S>(all...); }); }
    static void quicksort() { sort([](auto... all) { shapes::quicksort<S>(all...); }); }
    static void tree_sum() {
        wl_tree_node *tree = wl_tree_make(static_cast<size_t>(harness_value("nodes", 1023)));
        measure([&] {
            int64_t result = 0;
            S::root([&] { result = shapes::tree_sum<S>(tree); });
            return static_cast<uint64_t>(result);
        });
        free(tree);
    }

    // Loops: a pass that marks every index comes after the timed ones.
    template <class Body> static void loop(uint64_t n, Body body) {
        measure([&] {
            S::loop(n, body);
            return static_cast<uint64_t>(0);
        });
        std::vector<uint8_t> marks(n);
        S::loop(n, [&](uint64_t i) { marks[i]++; });
        uint64_t once = 0;
        for (uint8_t mark : marks) once += mark == 1;
        printf("check %" PRIu64 "\n", once);
    }
    static void loop_flops() {
        const uint64_t n = static_cast<uint64_t>(harness_value("n", 1000000));
        std::vector<double> x(n), y(n);
        for (uint64_t i = 0; i < n; i++) x[i] = static_cast<double>(i % 1024);
        loop(n, [from = x.data(), to = y.data()](uint64_t i) { to[i] = wl_flops(from[i]); });
        for (uint64_t i = 0; i < n; i++) {
            if (y[i] != wl_flops(x[i])) abort();
        }
    }
    static void loop_empty() { loop(static_cast<uint64_t>(harness_value("n", 1000000)), [](uint64_t i) { wl_nothing(i); }); }
    static void loop_imbalanced() {
        const uint64_t n = static_cast<uint64_t>(harness_value("n", 20000));
        loop(n, [n](uint64_t i) { wl_nothing(wl_spin(i, wl_imbalanced_steps(i, n))); });
    }
    static void loop_grain() {
        const uint64_t n = static_cast<uint64_t>(harness_value("n", 10000));
        const uint64_t steps = static_cast<uint64_t>(harness_value("steps", 1000));
        loop(n, [steps](uint64_t i) { wl_nothing(wl_spin(i, steps)); });
    }

    // ---- the job: each file of a tree is read and summed up ----
    static void files() {
        const int64_t n = harness_value("n", 500);
        std::vector<uint64_t> sums(static_cast<size_t>(n));
        wl_files tree;
        if (!wl_files_make(&tree, n)) abort();
        measure([&] {
            S::loop(static_cast<uint64_t>(n), [&](uint64_t i) { sums[i] = wl_file_checksum(&tree, static_cast<int64_t>(i)); });
            uint64_t sum = 0;
            for (uint64_t part : sums) sum += part;
            return sum;
        });
        wl_files_remove(&tree);
    }
};

}  // namespace shapes

// The names of the workloads that every S can do.
#define SHAPES_TREES(S)                                                                        \
    {"fib", shapes::Run<S>::fib}, {"skynet", shapes::Run<S>::skynet},                          \
    {"nqueens", shapes::Run<S>::queens}, {"matmul", shapes::Run<S>::matmul},                   \
    {"uts", shapes::Run<S>::uts}, {"integrate", shapes::Run<S>::integrate},                    \
    {"mergesort", shapes::Run<S>::mergesort}, {"quicksort", shapes::Run<S>::quicksort},        \
    {"tree-sum", shapes::Run<S>::tree_sum}
#define SHAPES_LOOPS(S)                                                                        \
    {"loop-flops", shapes::Run<S>::loop_flops}, {"loop-empty", shapes::Run<S>::loop_empty},    \
    {"loop-imbalanced", shapes::Run<S>::loop_imbalanced}, {"loop-grain", shapes::Run<S>::loop_grain}, \
    {"files", shapes::Run<S>::files}
