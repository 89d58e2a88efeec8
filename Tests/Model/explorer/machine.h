// machine.h — runs the scenario's threads along an execution graph, and beyond its end.
//
// First every thread replays its events of the graph, taking the recorded values; a load
// waits until its store has been replayed, so that plain memory is written in an order that
// respects happens-before. Then the threads run on, one after the other, and each new event
// is given to the search, which decides its source or place.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fiber.h"
#include "graph.h"
#include "memory.h"
#include "model/scenario.h"

namespace model {

// What a thread asks for: an event that has no stamp, source or place yet.
struct Request {
    Event event;
    unsigned choices = 0; // of a Choice
};

enum class End { Complete, Blocked, Failed, Scripted };
enum class Why : uint8_t { None, Assumption, Waiting, Futex, Unborn };

enum class Turn : uint8_t { None, Taken, Left }; // of a wait that is bounded by itself

// One step of a replay: which thread, and which of its possibilities.
struct Step {
    unsigned thread;
    unsigned choice;
};

class Machine {
public:
    Memory memory;

    void start(const model_scenario *scenario);
    End run(Graph &graph);

    // Called by the threads.
    const Event &perform(const Request &request);
    // Returns where the execution is brought to its rest, for another look.
    void block(Why why, const model_site *site = nullptr);
    [[noreturn]] void fail(const std::string &what);
    Accessor accessor() const;
    unsigned length_of_self() const { return threads_[self_].pos; }
    unsigned self() const { return self_; }
    model_spins spins() const { return scenario_->spins; }
    bool woken_only() const { return scenario_->woken_only >> self_ & 1; }
    void set_turn(Turn turn) { threads_[self_].turn = turn; }
    Turn turn() const { return threads_[self_].turn; }
    bool preparing() const { return self_ == kThreads; }
    void check(const std::string &error)
    {
        if (__builtin_expect(!error.empty(), 0))
            fail(error);
    }

    // Whether all executed accesses of a word happen before the accessor.
    bool ordered_before(int word, const Accessor &by) const;
    const std::string &failure() const { return failure_; }
    const int64_t *outcome() const { return outcome_; }
    unsigned outcomes() const { return outcomes_; }
    void set_outcome(unsigned slot, int64_t value);
    unsigned reached() const { return reached_; } // which of its outcomes, by this execution
    void fail_at_the_end(const std::string &what) { failure_ = what; }
    unsigned thread_count() const { return threads_count_; }
    Graph &graph() { return *graph_; }
    Word &word_in_graph(int word);

    // Replays: the steps to take, instead of asking the search.
    const std::vector<Step> *script = nullptr;
    size_t script_next = 0;

private:
    enum class State : uint8_t { Ready, Waiting, AtEnd, Finished, Blocked };
    struct Thread {
        Fiber fiber;
        void (*body)() = nullptr;
        unsigned pos = 0; // events taken so far
        State state = State::Ready;
        Why why = Why::None;
        const model_site *site = nullptr; // where it waits
        Turn turn = Turn::None;
        bool has_written = false; // in its last round of a wait, to something that it does not wait for
    };
    static void enter(void *thread);
    static void verify_and_look();
    void resume(unsigned thread);
    void pause(State state);
    bool everything_ended() const;
    void replay(unsigned threads);
    void go_on(unsigned threads);
    bool load_overtaken();
    enum class Rest { Cut, Lost, Asleep };
    Rest what_remains();
    bool sleeps_on(unsigned thread) const;
    bool looks_again(unsigned thread, bool *moved);
    Rest come_to_rest(unsigned first, unsigned last);
    bool executed(Id id) const { return threads_[thread_of(id)].pos >= pos_of(id); }

    const model_scenario *scenario_ = nullptr;
    Thread threads_[kThreads];
    unsigned threads_count_ = 0;
    unsigned self_ = kThreads;
    Graph *graph_ = nullptr;
    bool replaying_ = false;
    bool resting_ = false; // threads that wait look again, and read what is newest
    std::string failure_;
    unsigned reached_ = 0;
    int64_t outcome_[16];
    unsigned outcomes_ = 0;
};

Machine &machine();

// "function+offset" or a variable's name, for messages.
std::string symbol_of(uintptr_t address);
std::string place_of(const model_site *site);

} // namespace model
