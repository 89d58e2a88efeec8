// memory.h — the memory of the program under test, and who touched each byte of it.
//
// Plain accesses happen for real, in an order that respects happens-before; their shadow here
// finds the ones that nothing orders. The last values of atomic words live in the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "event.h"

namespace model {

// Who is accessing, for the checks: epoch is the position of the thread's event, or of the
// next one for a plain access between two events.
struct Accessor {
    unsigned thread;
    unsigned epoch;
    const Clock *clock;
};

// A shared word, known by address; its index is the same in every execution.
struct WordPlace {
    uintptr_t address;
    unsigned size;
    bool hint = false; // see model_hint
};

class Memory {
public:
    static constexpr unsigned kPreparing = kThreads; // an accessor that checks nothing

    void map();                  // once, before anything else
    void remember_pristine();    // global variables as the program starts with them
    void restore_pristine();     // before a scenario's prepare
    void remember_prepared();    // after it
    void restore_prepared();     // before each execution
    char *stack_of(unsigned thread);
    static constexpr size_t kStack = 256 * 1024;

    void *allocate(unsigned thread, size_t bytes, size_t alignment, bool zeroed, const Accessor *by);
    // Both return an error, or "".
    std::string release(uintptr_t address, const Accessor &by, const char *verb);
    std::string plain(uintptr_t address, size_t bytes, bool store, const Accessor &by,
                      bool may_be_uninitialised = false);
    std::string atomic(uintptr_t address, size_t bytes, bool store, const Accessor &by);
    // A copy of bytes that need not be initialised (padding): they stay what they are.
    std::string plain_copy(uintptr_t to, uintptr_t from, size_t bytes, const Accessor &by);

    // The word that holds these bytes (it may be larger); -1: overlaps another one.
    int word_at(uintptr_t address, unsigned size);
    int hidden_word(uintptr_t key); // a word of the explorer's own
    const WordPlace &place(int word) const { return words_[(size_t)word]; }
    void mark_hint(int word) { words_[(size_t)word].hint = true; }
    bool is_hint(int word) const { return words_[(size_t)word].hint; }
    size_t words() const { return words_.size(); }
    // The value that a word has before any atomic access.
    uint64_t initial_value(int word, bool *uninitialised) const;
    std::string name_of(uintptr_t address) const;

private:
    struct Cell { // one byte's history in this execution
        uint32_t execution;
        uint16_t word; // index + 1; valid in all executions
        uint8_t writer;
        uint8_t epoch;
        Clock reads;
    };
    static_assert(sizeof(Cell) == 16);
    struct Block {
        uintptr_t start;
        size_t bytes;
        const char *gone; // how it went, or null
    };
    struct Arena {
        std::vector<Block> blocks;
        size_t used = 0;
        uint16_t *block_of; // per granule: index + 1
    };
    struct Range { // memory with shadow
        uintptr_t start, end;
        Cell *cells;
    };

    Cell *cell(uintptr_t address);
    Cell &fresh(Cell &cell);
    bool initialised(uintptr_t address) const;
    Block *block(uintptr_t address);
    std::string check_block(uintptr_t address, size_t bytes);
    std::string mixed(uintptr_t address, bool store, const Accessor &by);

    Range ranges_[3] = {}; // heap and stacks, .bss, .data of the code under test
    Arena arenas_[kThreads + 1];
    char *heap_ = nullptr;
    char *initialised_ = nullptr; // per heap byte, set while preparing
    uint32_t execution_ = 0;
    std::vector<char> pristine_[2], prepared_[2], prepared_heap_;
    size_t prepared_blocks_ = 0;
    std::vector<WordPlace> words_;
    std::vector<uintptr_t> hidden_;
};

} // namespace model
