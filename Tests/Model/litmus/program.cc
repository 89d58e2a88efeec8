#include "program.h"

#include <sstream>

#include "machine.h"
#include "model/runtime.h"
#include "report.h"
#include "search.h"

namespace litmus {

namespace {

const char *const order_names[] = {"rlx", "acq", "rel", "ar", "sc", "light", "heavy"};

uint8_t parse_order(const std::string &name)
{
    for (uint8_t i = 0; i < 7; i++)
        if (name == order_names[i])
            return i;
    model::broken("no such order in a litmus test: %s", name.c_str());
}

std::vector<std::string> split(const std::string &text, char at)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);

    for (std::string part; std::getline(stream, part, at);)
        parts.push_back(part);
    return parts;
}

} // namespace

Program parse(const std::string &text, const std::string &finals)
{
    Program program;

    program.finals = finals;
    for (const std::string &thread : split(text, '|')) {
        program.threads.emplace_back();
        for (const std::string &part : split(thread, ';')) {
            std::stringstream in(part);
            std::string kind, word, order;
            Op op;

            in >> kind;
            op.kind = kind[0];
            if (op.kind != 'F') {
                in >> word;
                op.word = word[0] == 'w' ? 3 : word[0] - 'x';
            }
            if (op.kind == 'C')
                in >> op.expected;
            if (op.kind != 'F' && op.kind != 'R')
                in >> op.operand;
            in >> order;
            op.order = parse_order(order);
            if (op.kind == 'C') {
                in >> order;
                op.failure = parse_order(order);
            }
            program.threads.back().push_back(op);
        }
    }
    return program;
}

std::string print(const Program &program)
{
    std::stringstream out;

    for (size_t t = 0; t < program.threads.size(); t++) {
        out << (t ? " | " : "");
        for (size_t i = 0; i < program.threads[t].size(); i++) {
            const Op &op = program.threads[t][i];
            out << (i ? "; " : "") << op.kind;
            if (op.kind != 'F')
                out << ' ' << "xyzw"[op.word];
            if (op.kind == 'C')
                out << ' ' << op.expected;
            if (op.kind != 'F' && op.kind != 'R')
                out << ' ' << op.operand;
            out << ' ' << order_names[op.order];
            if (op.kind == 'C')
                out << ' ' << order_names[op.failure];
        }
    }
    return out.str();
}

// ---- the explorer's side: threads that interpret the program ----

namespace {

const Program *running;
std::vector<std::vector<model_site>> sites;
int64_t *words;

void prepare()
{
    words = static_cast<int64_t *>(model_calloc(4, sizeof *words));
}

void run_thread()
{
    unsigned self = model_thread();
    unsigned slot = 0;

    for (unsigned t = 0; t < self; t++)
        for (const Op &op : running->threads[t])
            slot += reads(op);
    for (size_t i = 0; i < running->threads[self].size(); i++) {
        const Op &op = running->threads[self][i];
        const model_site *site = &sites[self][i];
        int64_t *word = &words[op.word];
        uint64_t value = 0;

        switch (op.kind) {
        case 'W': model_store(word, 8, (uint64_t)op.operand, site); break;
        case 'R': value = model_load(word, 8, site); break;
        case 'A': value = model_rmw(word, 8, MODEL_ADD, (uint64_t)op.operand, site); break;
        case 'X': value = model_rmw(word, 8, MODEL_SWAP, (uint64_t)op.operand, site); break;
        case 'C':
            value = (uint64_t)op.expected;
            model_cas(word, 8, &value, (uint64_t)op.operand, site);
            break;
        default: model_fence(site); break;
        }
        if (reads(op))
            model_outcome(slot++, (int64_t)value);
    }
}

void read_finals()
{
    static const model_site site = {"", "", "final", "none", 0, 0, 0, 0, 0, 0};
    unsigned slot = 0;

    for (const auto &thread : running->threads)
        for (const Op &op : thread)
            slot += reads(op);
    for (char word : running->finals)
        model_outcome(slot++, (int64_t)model_load(&words[word == 'w' ? 3 : word - 'x'], 8, &site));
}

} // namespace

Result by_explorer(const Program &program)
{
    model_scenario scenario = {};
    Result result;

    running = &program;
    sites.clear();
    for (size_t t = 0; t < program.threads.size(); t++) {
        scenario.threads[t] = run_thread;
        sites.emplace_back();
        for (const Op &op : program.threads[t])
            sites.back().push_back({"litmus", "", "op", "none", 0, 0, op.order, op.order, op.failure, op.failure});
    }
    scenario.prepare = prepare;
    scenario.verify = read_finals;
    scenario.name = "litmus";
    if (model::search().explore(&scenario, model::Limits()) != model::Verdict::Passed)
        model::broken("a litmus test failed: %s", model::machine().failure().c_str());
    result.outcomes = model::search().outcomes();
    result.executions = model::search().counts().complete;
    return result;
}

} // namespace litmus
