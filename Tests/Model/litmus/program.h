// program.h — a tiny program: straight-line threads over four words.
//
// Written as text, threads separated by '|', operations by ';':
//     W x 1 rel        store            R x acq          load
//     A x 1 ar         fetch_add        X x 1 rlx        exchange
//     C x 0 1 ar acq   compare-and-swap, success and failure order
//     F sc             fence (acq, rel, ar, sc, light, heavy)
// An outcome lists what every load and read-modify-write read, in program text order, and
// then the last values of the words that the test names.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace litmus {

struct Op {
    char kind = 0; // W R A X C F
    int word = 0;
    int64_t operand = 0, expected = 0;
    uint8_t order = 0, failure = 0;
};

struct Program {
    std::vector<std::vector<Op>> threads;
    std::string finals; // words whose last values belong to the outcome
};

using Outcome = std::vector<int64_t>;

struct Result {
    std::set<Outcome> outcomes;
    uint64_t executions = 0;
    bool operator==(const Result &other) const
    {
        return outcomes == other.outcomes && executions == other.executions;
    }
};

Program parse(const std::string &text, const std::string &finals);
std::string print(const Program &program);
inline bool reads(const Op &op) { return op.kind != 'W' && op.kind != 'F'; }
inline bool is_rmw(const Op &op) { return op.kind == 'A' || op.kind == 'X' || op.kind == 'C'; }

Result by_explorer(const Program &program); // the algorithm under test
Result by_enumeration(const Program &program); // the definitions, by brute force

} // namespace litmus
