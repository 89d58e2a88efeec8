#include "search.h"

#include <ctime>

#include "report.h"
#include "sc_axiom.h"

namespace model {

Search &search()
{
    static Search *the = new Search;
    return *the;
}

void Search::push_frame()
{
    if (spare_.empty())
        spare_.push_back(std::make_unique<Frame>());
    frames_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    frames_.back()->alternatives.clear();
}

namespace {

double seconds_since(clock_t start) { return (double)(clock() - start) / CLOCKS_PER_SEC; }

// The conditions that a scenario names: between the commas that stand in no brackets.
std::vector<Reached> named_by(const model_scenario *scenario)
{
    std::vector<Reached> list(scenario->outcomes != nullptr);
    int depth = 0;

    for (const char *c = scenario->outcomes; c != nullptr && *c != 0; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (*c == ',' && depth == 0)
            list.emplace_back();
        else if (*c != ' ' || !list.back().condition.empty())
            list.back().condition += *c;
    }
    return list;
}

} // namespace

// Which of the outcomes that the scenario names is none, now that all is explored; or "".
std::string Search::missed(bool has_one_end) const
{
    for (const Reached &it : reached_) {
        bool by_all = it.executions == counts_.complete;
        if (it.executions == 0)
            return "never reached: " + it.condition;
        if (by_all != has_one_end)
            return (by_all ? "reached by every execution: " : "not the only end: ") + it.condition;
    }
    return "";
}

Verdict Search::explore(const model_scenario *scenario, const Limits &limits)
{
    const clock_t start = clock(); // what this process has used: other programs do not end a search
    Verdict verdict = Verdict::Passed;

    counts_ = Counts();
    outcomes_.clear();
    reached_ = named_by(scenario);
    while (!frames_.empty()) {
        spare_.push_back(std::move(frames_.back()));
        frames_.pop_back();
    }
    machine().start(scenario);
    push_frame();
    frames_.back()->graph.clear();

    for (bool run = true;;) {
        if (run) {
            Graph &graph = frames_.back()->graph;
            counts_.runs++;
            switch (machine().run(graph)) {
            case End::Complete:
                counts_.complete++;
                for (const auto &thread : graph.events)
                    counts_.events += thread.size();
                for (size_t i = 0; i < reached_.size(); i++)
                    reached_[i].executions += machine().reached() >> i & 1;
                if (machine().outcomes() > 0)
                    outcomes_.insert(std::vector<int64_t>(
                        machine().outcome(), machine().outcome() + machine().outcomes()));
                break;
            case End::Blocked: counts_.blocked++; break;
            case End::Scripted: broken("a scripted end in a search");
            case End::Failed: verdict = Verdict::Failed; break;
            }
            if (verdict == Verdict::Failed)
                break;
        }
        while (!frames_.empty() && frames_.back()->alternatives.empty()) {
            spare_.push_back(std::move(frames_.back()));
            frames_.pop_back();
        }
        if (frames_.empty())
            break;
        if (counts_.runs >= limits.executions ||
            ((counts_.runs & 0xff) == 0 && seconds_since(start) > limits.seconds)) {
            verdict = Verdict::Incomplete;
            break;
        }
        auto alternative = frames_.back()->alternatives.back();
        frames_.back()->alternatives.pop_back();
        run = take(alternative);
        if (!run)
            counts_.inconsistent++;
    }
    if (verdict == Verdict::Passed && counts_.complete > 0 && !missed(scenario->has_one_end).empty()) {
        machine().fail_at_the_end(missed(scenario->has_one_end));
        verdict = Verdict::Failed;
    }
    counts_.seconds = seconds_since(start);
    return verdict;
}

// A new event at the end of its thread. The choice made at once is the latest store, or the
// last place: it can contradict nothing. The others are left for later.
void Search::extend(unsigned thread, const Request &request)
{
    Frame &frame = *frames_.back();
    Graph &graph = frame.graph;
    Event event = request.event;
    const Clock before = graph.clock_before(make_id(thread, graph.length(thread) + 1));

    switch (event.kind) {
    case Kind::Read: {
        const Word &word = graph.words[event.word];
        unsigned oldest = graph.oldest_visible(word, before);
        event.rf = graph.store_at(word, word.writes);
        Id id = graph.append(thread, event);
        uint32_t stamp = graph.at(id).stamp;
        for (unsigned mo = oldest; mo < word.writes; mo++)
            frame.alternatives.push_back({Alternative::Source, stamp, id, graph.store_at(word, mo)});
        if (will_write(graph.at(id)))
            add_revisits(graph.append_update(id));
        break;
    }
    case Kind::Write: {
        const Word &word = graph.words[event.word];
        unsigned oldest = graph.oldest_visible(word, before);
        event.mo = (uint8_t)(word.writes + 1);
        Id id = graph.append(thread, event);
        uint32_t stamp = graph.at(id).stamp;
        for (unsigned mo = oldest + 1; mo < word.writes; mo++)
            if (!graph.at(word.write[mo]).updates)
                frame.alternatives.push_back({Alternative::Place, stamp, id, (uint16_t)mo});
        add_revisits(id);
        break;
    }
    case Kind::Fence: graph.append(thread, event); break;
    case Kind::Choice: {
        Id id = graph.append(thread, event);
        for (unsigned value = request.choices - 1; value > 0; value--)
            frame.alternatives.push_back({Alternative::Value, graph.at(id).stamp, id, (uint16_t)value});
        break;
    }
    }
}

// A new store may also be what an older load reads, if that load does not lead to the store.
void Search::add_revisits(Id store)
{
    Frame &frame = *frames_.back();
    const Graph &graph = frame.graph;
    const Word &word = graph.words[graph.at(store).word];

    for (unsigned i = 0; i < word.reads; i++)
        if (graph.may_revisit(word.read[i], store))
            frame.alternatives.push_back({Alternative::Revisit, graph.at(store).stamp, store, word.read[i]});
}

// The second half of a read-modify-write, which belongs directly behind the first. False:
// another one has the same source; then only the revisits go on, where the other is undone.
bool Search::complete_update(Id read)
{
    Graph &graph = frames_.back()->graph;

    if (!will_write(graph.at(read)))
        return true;
    Id update = graph.append_update(read);
    add_revisits(update);
    if (!graph.atomic_around(update))
        return false;
    return graph.at(update).mo == graph.words[graph.at(update).word].writes ||
           sc_consistent(graph);
}

bool Search::take(const Alternative &alternative)
{
    Graph &graph = frames_.back()->graph;

    graph.keep_until(alternative.stamp);
    switch (alternative.type) {
    case Alternative::Source: return take_source(graph, alternative);
    case Alternative::Place: return take_place(graph, alternative);
    case Alternative::Revisit: return take_revisit(alternative);
    case Alternative::Value: graph.at(alternative.event).value = alternative.what; return true;
    }
    return false;
}

bool Search::take_source(Graph &graph, const Alternative &alternative)
{
    graph.set_source(alternative.event, alternative.what);
    return sc_consistent(graph) && complete_update(alternative.event);
}

bool Search::take_place(Graph &graph, const Alternative &alternative)
{
    Id store = alternative.event;
    const Word &word = graph.words[graph.at(store).word];

    graph.move_store(store, alternative.what);
    if (!graph.atomic_around(store))
        return false;
    // In a revisit's frame one load reads from the store already.
    Id reader = kInit;
    for (unsigned i = 0; i < word.reads; i++)
        if (graph.at(word.read[i]).rf == store)
            reader = word.read[i];
    if (reader != kInit && graph.oldest_visible(word, graph.clock_before(reader)) > graph.at(store).mo)
        return false;
    if (!sc_consistent(graph))
        return false;
    return reader == kInit || complete_update(reader);
}

bool Search::take_revisit(const Alternative &alternative)
{
    const Graph &old = frames_.back()->graph;
    Id store = alternative.event, read = alternative.what;

    push_frame();
    Frame &frame = *frames_.back();
    Graph &graph = frame.graph;
    graph = old;
    graph.keep_for_revisit(read, store);
    graph.set_source(read, store);

    const Event &event = graph.at(store);
    const Word &word = graph.words[event.word];
    if (event.updates) {
        if (!graph.atomic_around(store) || graph.oldest_visible(word, graph.clock_before(read)) > event.mo)
            return false;
        if (event.mo != word.writes && !sc_consistent(graph))
            return false;
    } else {
        graph.move_store(store, word.writes);
        unsigned oldest = graph.oldest_visible(word, graph.clock_before(store));
        for (unsigned mo = oldest + 1; mo < word.writes; mo++)
            if (!graph.at(word.write[mo]).updates)
                frame.alternatives.push_back({Alternative::Place, event.stamp, store, (uint16_t)mo});
    }
    return complete_update(read);
}

void newest_extend(Graph &graph, unsigned thread, const Request &request)
{
    unsigned newest = 0;

    if (request.event.kind == Kind::Read)
        newest = graph.words[request.event.word].writes;
    else if (request.event.kind == Kind::Write)
        newest = graph.words[request.event.word].writes + 1u;
    scripted_extend(graph, thread, request, newest);
}

void scripted_extend(Graph &graph, unsigned thread, const Request &request, unsigned choice)
{
    Event event = request.event;

    if (event.kind == Kind::Read) {
        const Word &word = graph.words[event.word];
        if (choice > word.writes)
            broken("this replay does not belong to this scenario");
        event.rf = graph.store_at(word, choice);
        Id id = graph.append(thread, event);
        if (will_write(graph.at(id)))
            graph.append_update(id);
    } else {
        if (event.kind == Kind::Write)
            event.mo = (uint8_t)choice;
        if (event.kind == Kind::Choice)
            event.value = choice;
        graph.append(thread, event);
    }
}

} // namespace model
