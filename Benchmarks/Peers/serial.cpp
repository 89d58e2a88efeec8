// The workloads without a scheduler: the same source, and every fork a call.
#include "shapes.hpp"

namespace {

struct Serial {
    template <class F, class G> static void two(F f, G g) { f(), g(); }
    template <class F> static void many(int count, F f) {
        for (int i = 0; i < count; i++) f(i);
    }
    template <class F> static void loop(uint64_t count, F f) {
        for (uint64_t i = 0; i < count; i++) f(i);
    }
    template <class F> static void root(F f) { f(); }
};

// The nodes of a graph in an order that respects its edges.
void graph() {
    shapes::graph([](const wl_graph &graph) {
        for (int64_t i = 0; i < graph.count; i++) wl_graph_run(&graph, i);
    });
}

const harness_entry entries[] = {SHAPES_TREES(Serial), SHAPES_LOOPS(Serial), {"graph", graph}};

}  // namespace

int main(int argc, char **argv) { return harness_main(argc, argv, entries, sizeof entries / sizeof *entries); }
