// main.cc — proves the explorer: known litmus outcomes, and random programs against the
// brute-force enumeration.
//
//   litmus [--random N] [--seed S] [--quiet]
//
// Of each program the two must agree on the set of outcomes and on the number of consistent
// executions: a missed execution, one that is visited twice, and one too many all show.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "machine.h"
#include "options.h"
#include "program.h"
#include "report.h"
#include "table.h"
#include "waits.h"

using namespace litmus;

namespace {

std::set<Outcome> parse_outcomes(const std::string &text)
{
    std::set<Outcome> set;
    std::stringstream lists(text);

    for (std::string list; std::getline(lists, list, ',');) {
        std::stringstream in(list);
        Outcome outcome;
        for (int64_t value; in >> value;)
            outcome.push_back(value);
        if (!outcome.empty())
            set.insert(outcome);
    }
    return set;
}

std::string text_of(const std::set<Outcome> &set)
{
    std::string text;

    for (const Outcome &outcome : set) {
        text += text.empty() ? "" : ", ";
        for (size_t i = 0; i < outcome.size(); i++)
            text += (i ? " " : "") + std::to_string(outcome[i]);
    }
    return text;
}

bool as_stated(const Test &test, const std::set<Outcome> &seen)
{
    std::string text = test.outcomes;

    if (test.mode == Test::ONLY)
        return seen == parse_outcomes(text);
    if (test.mode == Test::KEY) {
        size_t slash = text.find('/');
        for (const Outcome &outcome : parse_outcomes(text.substr(0, slash)))
            if (!seen.count(outcome))
                return false;
        for (const Outcome &outcome : parse_outcomes(text.substr(slash + 1)))
            if (seen.count(outcome))
                return false;
        return true;
    }
    std::set<Outcome> expected, forbidden = parse_outcomes(text);
    size_t slots = seen.begin()->size();
    for (unsigned bits = 0; bits < 1u << slots; bits++) {
        Outcome outcome;
        for (size_t i = 0; i < slots; i++)
            outcome.push_back(bits >> i & 1);
        if (!forbidden.count(outcome))
            expected.insert(outcome);
    }
    return seen == expected;
}

bool agree(const Program &program, const Result &explored)
{
    Result enumerated = by_enumeration(program);

    if (explored == enumerated)
        return true;
    printf("DISAGREE   %s\n", print(program).c_str());
    printf("  explored:   %llu executions: %s\n", (unsigned long long)explored.executions,
           text_of(explored.outcomes).c_str());
    printf("  enumerated: %llu executions: %s\n", (unsigned long long)enumerated.executions,
           text_of(enumerated.outcomes).c_str());
    return false;
}

uint64_t random_state;
unsigned below(unsigned bound)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * 0x2545f4914f6cdd1du >> 33) % bound);
}

Program random_program()
{
    static const uint8_t load_orders[] = {MODEL_RELAXED, MODEL_ACQUIRE, MODEL_SEQCST};
    static const uint8_t store_orders[] = {MODEL_RELAXED, MODEL_RELEASE, MODEL_SEQCST};
    static const uint8_t rmw_orders[] = {MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELEASE,
                                         MODEL_ACQREL, MODEL_SEQCST};
    static const uint8_t fence_orders[] = {MODEL_ACQUIRE, MODEL_RELEASE, MODEL_ACQREL,
                                           MODEL_SEQCST,  MODEL_LIGHT,   MODEL_HEAVY};
    Program program;
    unsigned threads = 2 + below(2), words = 2 + below(2);
    unsigned flavour = below(4); // 0: anything; 1: mostly seq_cst; 2: many RMWs; 3: fences
    int64_t next = 1;

    for (unsigned t = 0; t < threads; t++) {
        program.threads.emplace_back();
        unsigned length = threads == 2 ? 2 + below(3) : 2 + below(2);
        for (unsigned i = 0; i < length; i++) {
            Op op;
            op.word = (int)below(words);
            op.operand = next;
            unsigned dice = below(flavour == 2 ? 10 : 7 + (flavour == 3 ? 4 : 1));
            if (dice < 3) {
                op.kind = 'W';
                op.order = store_orders[flavour == 1 && below(3) ? 2 : below(3)];
                next++;
            } else if (dice < 6) {
                op.kind = 'R';
                op.order = load_orders[flavour == 1 && below(3) ? 2 : below(3)];
            } else if (flavour != 2 && dice >= 7) {
                op.kind = 'F';
                op.order = fence_orders[below(6)];
            } else {
                op.kind = "AXCC"[below(4)];
                op.operand = op.kind == 'A' ? (int64_t)below(3) : next++;
                op.expected = below(2) ? 0 : below(3);
                op.order = rmw_orders[flavour == 1 && below(3) ? 4 : below(5)];
                op.failure = load_orders[below(3)];
            }
            program.threads.back().push_back(op);
        }
    }
    program.finals = std::string("xyz").substr(0, words);
    return program;
}

} // namespace

int main(int argc, char **argv)
{
    unsigned long random = 4000, seed = 1, wrong = 0;
    bool quiet = false;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--random") == 0 && i + 1 < argc)
            random = strtoul(argv[++i], nullptr, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoul(argv[++i], nullptr, 10);
        else if (strcmp(argv[i], "--quiet") == 0)
            quiet = true;
        else
            model::broken("usage: litmus [--random N] [--seed S] [--quiet]");

    model::options().load_buffering = false; // litmus tests buffer loads on purpose
    model::machine().memory.map();
    model::machine().memory.remember_pristine();
    for (int i = 0; i < test_count; i++) {
        const Test &test = tests[i];
        Program program = parse(test.program, test.finals);
        Result result = by_explorer(program);
        bool right = as_stated(test, result.outcomes);
        bool same = agree(program, result);

        if (!quiet || !right)
            printf("%-8s %-28s %4llu executions, %zu outcomes\n", right ? "right" : "WRONG",
                   test.name, (unsigned long long)result.executions, result.outcomes.size());
        if (!right)
            printf("  stated: %s\n  seen:   %s\n", test.outcomes, text_of(result.outcomes).c_str());
        wrong += !right || !same;
    }
    printf("%d litmus tests, %lu wrong\n", test_count, wrong);
    wrong += check_waits();

    unsigned long different = 0;
    unsigned long long executions = 0;
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
    for (unsigned long i = 0; i < random; i++) {
        Program program = random_program();
        Result result = by_explorer(program);
        executions += result.executions;
        different += !agree(program, result);
        if (different == 10)
            break;
    }
    printf("%lu random programs, %llu executions, %lu differ from the enumeration\n", random,
           executions, different);
    return wrong || different ? 1 : 0;
}
