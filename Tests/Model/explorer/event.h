// event.h — one access to shared memory, and the clocks that say what happened before it.
#pragma once

#include <cstdint>
#include <cstring>

#include "futex.h"
#include "model/runtime.h"

namespace model {

constexpr unsigned kThreads = 8;   // the scenario's (at most 6), and the one that verifies
constexpr unsigned kPerThread = 250;
constexpr unsigned kWritesPerWord = 64;
constexpr unsigned kReadsPerWord = 160;

// How far into each thread something reaches: event `pos` of thread t is covered when
// at[t] >= pos. Positions count from 1 and fit a byte, so that a clock is one machine word.
struct Clock {
    uint8_t at[kThreads] = {};

    void join(const Clock &other)
    {
        for (unsigned t = 0; t < kThreads; t++)
            at[t] = at[t] > other.at[t] ? at[t] : other.at[t];
    }
    bool empty() const
    {
        uint64_t all;
        memcpy(&all, at, sizeof all);
        return all == 0;
    }
};

// An event's name: thread and position. The store that a word starts with has none.
using Id = uint16_t;
constexpr Id kInit = 0xffff;
inline Id make_id(unsigned thread, unsigned pos) { return (Id)(thread << 8 | pos); }
inline unsigned thread_of(Id id) { return id >> 8; }
inline unsigned pos_of(Id id) { return id & 0xff; }
inline bool covers(const Clock &clock, Id id) { return clock.at[thread_of(id)] >= pos_of(id); }

enum class Kind : uint8_t { Read, Write, Fence, Choice };

struct Event {
    Kind kind = Kind::Read;
    uint8_t order = MODEL_RELAXED;   // as executed: a CAS that failed has its failure order
    uint8_t success = MODEL_RELAXED; // of a read-modify-write
    uint8_t failure = MODEL_RELAXED;
    bool updates = false; // Read: the first half of a read-modify-write; Write: the second
    uint8_t rmw = 0;      // model_rmw_kind
    uint8_t mo = 0;       // Write: place in its word's modification order, from 1
    uint8_t size = 0;
    uint16_t word = 0;
    Id rf = kInit;     // Read: the store it reads from
    uint32_t stamp = 0; // when it was added to the graph
    uint64_t value = 0; // read, written, or chosen
    uint64_t operand = 0;
    uint64_t expected = 0;
    const model_site *site = nullptr;

    Clock hb;      // what happens before it, itself included
    Clock porf;    // what it depends on through program order and reads-from
    Clock release; // Write: what its readers acquire
    Clock fenced;  // the thread's clock at its last release fence
    Clock pending; // what an acquire fence would acquire
};

inline bool acquires(uint8_t order)
{
    return order == MODEL_ACQUIRE || order == MODEL_ACQREL || order == MODEL_SEQCST ||
           order == MODEL_HEAVY;
}
inline bool releases(uint8_t order)
{
    return order == MODEL_RELEASE || order == MODEL_ACQREL || order == MODEL_SEQCST ||
           order == MODEL_HEAVY;
}

// Whether `read` is a read-modify-write that goes through with the value it got, and what
// it then writes.
inline bool will_write(const Event &read)
{
    if (!read.updates)
        return false;
    if (read.rmw >= kFutexLock)
        return futex_is_free(read.value);
    return read.rmw != MODEL_CAS || read.value == read.expected;
}
uint64_t written_by(const Event &read);

inline uint64_t truncate_to(unsigned size, uint64_t value)
{
    return size >= 8 ? value : value & ((uint64_t{1} << (8 * size)) - 1);
}

} // namespace model
