// graph.h — an execution graph: events, program order, reads-from, modification order.
//
// The graph holds a prefix of an execution that is consistent with RC11. It knows how to grow
// by one event, how to be cut back, and which places and sources coherence and atomicity
// leave open; what the SC axiom says is in sc_axiom.h.
#pragma once

#include <vector>

#include "event.h"

namespace model {

// The accesses of one word. Index 0 of the modification order is the initial value.
struct Word {
    uint64_t initial = 0;
    bool uninitialised = false;
    uint8_t writes = 0;
    uint8_t reads = 0;
    Id write[kWritesPerWord + 1]; // 1..writes
    Id read[kReadsPerWord];

    Word() = default;
    Word(const Word &other) { *this = other; }
    Word &operator=(const Word &other);
    bool idle() const { return writes == 0 && reads == 0; }
};

class Graph {
public:
    std::vector<Event> events[kThreads];
    std::vector<Word> words;
    uint32_t stamps = 0;
    Clock all_threads_end; // what the verifying thread starts with
    unsigned verifier = kThreads; // its number

    void clear();
    unsigned length(unsigned thread) const { return (unsigned)events[thread].size(); }
    Event &at(Id id) { return events[thread_of(id)][pos_of(id) - 1]; }
    const Event &at(Id id) const { return events[thread_of(id)][pos_of(id) - 1]; }

    // Places in modification order: of the store a read reads from, or of a store.
    unsigned mo_of(Id store) const { return store == kInit ? 0 : at(store).mo; }
    Id store_at(const Word &word, unsigned mo) const { return mo == 0 ? kInit : word.write[mo]; }
    uint64_t value_of(const Word &word, Id store) const
    {
        return store == kInit ? word.initial : at(store).value;
    }

    // The oldest place in modification order that an access of `thread` with happens-before
    // clock `before` may still read from; a store goes behind it.
    unsigned oldest_visible(const Word &word, const Clock &before) const;
    Clock clock_before(Id id) const;

    // Appends an event to its thread. A read has its source in rf; a store its place in mo.
    Id append(unsigned thread, const Event &event);
    // Appends the second half of a read-modify-write behind the store that `read` read.
    Id append_update(Id read);
    void set_source(Id read, Id store);
    void move_store(Id store, unsigned mo);

    // False when two read-modify-writes read from one store, or a store sits between a
    // read-modify-write and its source; `store` is the one just placed.
    bool atomic_around(Id store) const;

    // Keeps the first length[t] events of each thread.
    void keep(const unsigned length[kThreads]);
    void keep_until(uint32_t stamp);
    // What remains when `store` becomes the source of `read`: all older than `read`, and
    // all that `store` depends on.
    void keep_for_revisit(Id read, Id store);

    // Whether everything that a revisit would remove was added in the one canonical way, so
    // that no two branches of the search make the same revisit.
    bool may_revisit(Id read, Id store) const;

    // Finds a relaxed load and a store that depends on what its thread did later, while
    // nothing in the program orders the two: see README.md, "Load buffering".
    template <class Hint> bool overtaken(const Hint &is_hint, Id *read, Id *store) const
    {
        for (size_t word = 0; word < words.size(); word++)
            if (!is_hint((int)word) && overtaken_in(words[word], read, store))
                return true;
        return false;
    }

private:
    void compute_clocks(Id id);
    void insert_store(Word &word, Id id, unsigned mo);
    void renumber(Word &word, unsigned from);
    bool canonical(Id id, Id store) const;
    bool discarded(Id read) const;
    bool overtaken_in(const Word &word, Id *read, Id *store) const;
};

} // namespace model
