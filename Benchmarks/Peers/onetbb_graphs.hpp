// What oneTBB has for tasks that depend on tasks: a flow graph, a node for each, which runs when all before it have sent their
// message. Nodes and edges are made within what is measured, as everywhere.
#ifndef ONETBB_GRAPHS_HPP
#define ONETBB_GRAPHS_HPP

#include <deque>

#include <tbb/flow_graph.h>
#include <tbb/parallel_pipeline.h>

#include "shapes.hpp"

namespace onetbb_graphs {

using Message = tbb::flow::continue_msg;

struct Graph {
    tbb::flow::graph graph;
    std::deque<tbb::flow::continue_node<Message>> nodes;  // their addresses are their edges'

    explicit Graph(tbb::task_group_context &context) : graph(context) {}

    template <class Body> void add(Body body) { nodes.emplace_back(graph, [body](const Message &) { body(); }); }
    void order(int64_t before, int64_t after) { tbb::flow::make_edge(at(before), at(after)); }
    void start(int64_t node) { at(node).try_put(Message()); }
    void wait() { graph.wait_for_all(); }

  private:
    tbb::flow::continue_node<Message> &at(int64_t node) { return nodes[static_cast<size_t>(node)]; }
};

// Tasks in a row, each depending on the one before.
inline void chain(tbb::task_group_context &context) {
    const int64_t n = harness_value("n", 1000);
    int64_t ran = 0;
    shapes::measure([&] { ran = 0; }, [&] {
        Graph graph(context);
        for (int64_t i = 0; i < n; i++) graph.add([&ran, i] { ran += ran == i; });
        for (int64_t i = 1; i < n; i++) graph.order(i - 1, i);
        graph.start(0);
        graph.wait();
        return static_cast<uint64_t>(ran);
    });
}

// A binary tree of tasks, each after both its children.
inline void tree(tbb::task_group_context &context) {
    const int64_t n = harness_value("n", 1023);
    // What a node and all below it have counted; behind the last, zeros for the children of leaves.
    std::vector<uint64_t> counts(static_cast<size_t>(2 * n + 1));
    shapes::measure([&] { std::fill(counts.begin(), counts.end(), 0); }, [&] {
        Graph graph(context);
        uint64_t *const node = counts.data();
        for (int64_t i = 0; i < n; i++) graph.add([node, i] { node[i] += 1 + node[2 * i + 1] + node[2 * i + 2]; });
        for (int64_t i = 1; i < n; i++) graph.order(i, (i - 1) / 2);
        for (int64_t i = n / 2; i < n; i++) graph.start(i);
        graph.wait();
        return counts[0];
    });
}

// A square of cells, each after its upper and left neighbours.
inline void wavefront(tbb::task_group_context &context) {
    const int64_t side = harness_value("side", 64);
    const uint64_t steps = static_cast<uint64_t>(harness_value("steps", 100));
    std::vector<uint64_t> cells(static_cast<size_t>(side * side));
    // Cleared, or what the last sample left would hide a neighbour that came too late.
    shapes::measure([&] { std::fill(cells.begin(), cells.end(), 0); }, [&] {
        Graph graph(context);
        uint64_t *const cell = cells.data();
        for (int64_t i = 0; i < side * side; i++) {
            graph.add([cell, side, steps, i] {
                cell[i] = wl_spin((i >= side ? cell[i - side] : 1) + (i % side > 0 ? cell[i - 1] : 1), steps);
            });
        }
        for (int64_t i = 0; i < side * side; i++) {
            if (i % side > 0) graph.order(i - 1, i);
            if (i >= side) graph.order(i - side, i);
        }
        graph.start(0);
        graph.wait();
        return cells.back();
    });
}

// A graph of wl_graph_make, made once with again=1, else within what is measured.
inline std::unique_ptr<Graph> made(tbb::task_group_context &context, const wl_graph *shape) {
    auto graph = std::make_unique<Graph>(context);
    for (int64_t i = 0; i < shape->count; i++) graph->add([shape, i] { wl_graph_run(shape, i); });
    for (int64_t i = 0; i < shape->count; i++) {
        for (int32_t k = shape->rows[i]; k < shape->rows[i + 1]; k++) graph->order(shape->before[k], i);
    }
    return graph;
}

inline void run(Graph &graph, const wl_graph *shape) {
    for (int64_t i = 0; i < shape->count; i++) {
        if (shape->rows[i] == shape->rows[i + 1]) graph.start(i);
    }
    graph.wait();
}

inline void graph(tbb::task_group_context &context) {
    std::unique_ptr<Graph> graph;
    shapes::graph([&](const wl_graph &shape) {
        if (!graph || harness_value("again", 0) == 0) graph = made(context, &shape);
        run(*graph, &shape);
        if (harness_value("again", 0) == 0) graph.reset();
    });
}

// Resident memory of a graph that has run once: the sample is bytes.
inline void graph_memory(tbb::task_group_context &context) {
    const auto shape = shapes::named_graph();
    {
        Graph first(context);  // the library and its threads are there
        first.add([] {});
        first.start(0);
        first.wait();
    }
    const double before = harness_resident();
    const auto graph = made(context, shape.get());
    run(*graph, shape.get());
    harness_sample(static_cast<int64_t>(harness_resident() - before), wl_graph_answer(shape.get()));
}

// Numbers that go through a source, a parallel filter and a filter in order, which adds them up.
inline void pipeline(tbb::task_group_context &context) {
    const int64_t n = harness_value("n", 100000);
    const auto tokens = static_cast<size_t>(harness_value("tokens", 16));
    int64_t next = 0;
    uint64_t sum = 0;
    const auto source = tbb::make_filter<void, int64_t>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control &control) {
        if (next == n) control.stop();
        return next == n ? 0 : next++;
    });
    const auto middle = tbb::make_filter<int64_t, int64_t>(tbb::filter_mode::parallel, [](int64_t number) { return number + 1; });
    const auto sink = tbb::make_filter<int64_t, void>(tbb::filter_mode::serial_in_order, [&](int64_t number) { sum += static_cast<uint64_t>(number); });
    shapes::measure([&] { next = 0, sum = 0; }, [&] {
        tbb::parallel_pipeline(tokens, source & middle & sink, context);
        return sum;
    });
}

}  // namespace onetbb_graphs

#endif
