#include "trace.h"

#include <cstdlib>
#include <cstring>

namespace model {

namespace {

// The events in an order in which every load comes after its store; the two halves of a
// read-modify-write stay together.
std::vector<Id> in_order(const Graph &graph)
{
    std::vector<Id> order;
    unsigned done[kThreads] = {};

    for (;;) {
        int best = -1;
        for (unsigned t = 0; t < kThreads; t++) {
            if (done[t] == graph.length(t))
                continue;
            const Event &event = graph.events[t][done[t]];
            if (event.kind == Kind::Read && event.rf != kInit && done[thread_of(event.rf)] < pos_of(event.rf))
                continue;
            if (best < 0 || event.stamp < graph.events[best][done[best]].stamp)
                best = (int)t;
        }
        if (best < 0)
            return order;
        auto t = (unsigned)best;
        order.push_back(make_id(t, ++done[t]));
        if (done[t] < graph.length(t) && graph.events[t][done[t]].kind == Kind::Write &&
            graph.events[t][done[t]].updates)
            order.push_back(make_id(t, ++done[t]));
    }
}

const char *order_name(uint8_t order)
{
    static const char *const names[] = {"relaxed", "acquire", "release", "acq_rel",
                                        "seq_cst", "light",   "heavy",   "nothing"};
    return names[order];
}

std::string value_text(uint64_t value)
{
    std::string name;
    char text[64];

    if (value >= 0x10000 && value < uint64_t{1} << 48)
        name = machine().memory.name_of((uintptr_t)value);
    if (!name.empty() && name.compare(0, 2, "0x") != 0)
        return "&" + name;
    snprintf(text, sizeof text, value > 0xffff ? "%#llx" : "%llu", (unsigned long long)value);
    return text;
}

std::string id_text(const Graph &graph, Id id)
{
    if (id == kInit)
        return "the initial value";
    return (thread_of(id) == graph.verifier ? "V" : "T" + std::to_string(thread_of(id))) + "." +
           std::to_string(pos_of(id));
}

} // namespace

void print_trace(FILE *out, const Graph &graph)
{
    for (Id id : in_order(graph)) {
        const Event &event = graph.at(id);
        const model_site &site = *event.site;
        const char *file = strrchr(site.file, '/');
        std::string what;

        if (event.kind == Kind::Fence) {
            what = site.op;
        } else if (event.kind == Kind::Choice) {
            what = "chooses " + std::to_string(event.value);
        } else {
            const WordPlace &place = machine().memory.place(event.word);
            what = std::string(site.op) + " " + machine().memory.name_of(place.address);
            what += event.kind == Kind::Read ? " -> " : " := ";
            what += value_text(event.value);
        }
        fprintf(out, "  %-6s %-34s %-56s %-8s %s%s", id_text(graph, id).c_str(),
                (std::string(file ? file + 1 : site.file) + ":" + std::to_string(site.line) +
                 " " + site.function).c_str(),
                what.c_str(), event.kind == Kind::Choice ? "" : order_name(event.order),
                strcmp(site.edge, "none") == 0 ? "" : site.edge,
                site.edge[0] && strcmp(site.edge, "none") != 0 ? "  " : "");
        if (event.kind == Kind::Read) {
            fprintf(out, "from %s", id_text(graph, event.rf).c_str());
            unsigned newer = graph.words[event.word].writes - graph.mo_of(event.rf);
            for (unsigned i = 0; i < newer; i++)
                if (thread_of(graph.words[event.word].write[graph.mo_of(event.rf) + 1 + i]) ==
                        thread_of(id) && graph.at(graph.words[event.word]
                                 .write[graph.mo_of(event.rf) + 1 + i]).updates) {
                    newer--;
                    break;
                }
            if (newer > 0)
                fprintf(out, " (%u newer)", newer);
        } else if (event.kind == Kind::Write) {
            fprintf(out, "store %u of %u", event.mo, graph.words[event.word].writes);
        }
        fputc('\n', out);
    }
}

// thread.choice pairs: for a load, which of the stores made so far (0: the initial value);
// for a store, its place among them; for a choice, the value; for a fence, 0.
std::string replay_string(const Graph &graph)
{
    std::string text;
    std::vector<Id> done;
    auto stores_until = [&](uint16_t word, unsigned mo) {
        unsigned count = 0;
        for (Id id : done)
            count += graph.at(id).kind == Kind::Write && graph.at(id).word == word &&
                     graph.at(id).mo <= mo;
        return count;
    };

    for (Id id : in_order(graph)) {
        const Event &event = graph.at(id);
        unsigned choice = 0;

        done.push_back(id);
        if (event.kind == Kind::Write && event.updates)
            continue; // comes with its first half
        if (event.kind == Kind::Read)
            choice = stores_until(event.word, graph.mo_of(event.rf));
        else if (event.kind == Kind::Write)
            choice = stores_until(event.word, event.mo);
        else if (event.kind == Kind::Choice)
            choice = (unsigned)event.value;
        text += (text.empty() ? "" : ",") + std::to_string(thread_of(id)) + "." +
                std::to_string(choice);
    }
    return text;
}

bool parse_replay(const char *text, std::vector<Step> *steps)
{
    while (*text) {
        char *end;
        Step step;

        step.thread = (unsigned)strtoul(text, &end, 10);
        if (*end != '.')
            return false;
        step.choice = (unsigned)strtoul(end + 1, &end, 10);
        steps->push_back(step);
        if (*end != 0 && *end != ',')
            return false;
        text = *end ? end + 1 : end;
    }
    return true;
}

} // namespace model
