// search.h — the order in which all executions are visited, each once.
//
// The algorithm is TruSt: Kokologiannakis, Marmanis, Gladstein & Vafeiadis, "Truly stateless,
// optimal dynamic partial order reduction" (POPL 2022). README.md retells it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph.h"
#include "machine.h"

namespace model {

struct Limits {
    uint64_t executions = ~uint64_t{0};
    double seconds = 1e9;
};

struct Counts {
    uint64_t complete = 0;
    uint64_t blocked = 0;      // cut by an assumption, or asleep
    uint64_t inconsistent = 0; // graphs refused before they ran
    uint64_t runs = 0;
    uint64_t events = 0; // of complete executions
    double seconds = 0;
};

enum class Verdict { Passed, Failed, Incomplete };

// An outcome that the scenario names, and by how many executions.
struct Reached {
    std::string condition;
    uint64_t executions = 0;
};

class Search {
public:
    Verdict explore(const model_scenario *scenario, const Limits &limits);
    void extend(unsigned thread, const Request &request);

    const Counts &counts() const { return counts_; }
    // Empty where it is no single execution that failed.
    bool has_failing_graph() const { return !frames_.empty(); }
    const Graph &failing_graph() const { return *frames_.back()->graph_ptr(); }
    const std::vector<Reached> &reached() const { return reached_; }
    const std::set<std::vector<int64_t>> &outcomes() const { return outcomes_; }

private:
    struct Alternative {
        enum Type : uint8_t { Source, Place, Revisit, Value } type;
        uint32_t stamp; // of the event it is about
        Id event;
        uint16_t what; // a store, a place, a read, or a value
    };
    struct Frame {
        Graph graph;
        std::vector<Alternative> alternatives;
        Graph *graph_ptr() { return &graph; }
    };

    bool take(const Alternative &alternative); // false: nothing to run
    bool take_source(Graph &graph, const Alternative &alternative);
    bool take_place(Graph &graph, const Alternative &alternative);
    bool take_revisit(const Alternative &alternative);
    bool complete_update(Id read);
    void add_revisits(Id store);
    void push_frame();
    std::string missed(bool has_one_end) const;

    std::vector<std::unique_ptr<Frame>> frames_;
    std::vector<std::unique_ptr<Frame>> spare_;
    Counts counts_;
    std::set<std::vector<int64_t>> outcomes_;
    std::vector<Reached> reached_;
};

Search &search();

// Adds the requested event with the possibility that a replay names.
void scripted_extend(Graph &graph, unsigned thread, const Request &request, unsigned choice);

// Adds the requested event as if all that was stored has arrived: the latest store, or the last place.
void newest_extend(Graph &graph, unsigned thread, const Request &request);

} // namespace model
