#include "machine.h"

#include <cstdio>

#include "options.h"
#include "report.h"
#include "search.h"

namespace model {

Machine &machine()
{
    static Machine *the = new Machine;
    return *the;
}

namespace {

// What the thread looked at last, before it waited.
int word_awaited(const std::vector<Event> &events, unsigned length)
{
    for (unsigned pos = length; pos > 0; pos--)
        if (events[pos - 1].kind == Kind::Read && !will_write(events[pos - 1]))
            return events[pos - 1].word;
    return -1;
}

} // namespace

void Machine::start(const model_scenario *scenario)
{
    scenario_ = scenario;
    threads_count_ = 0;
    while (threads_count_ < MODEL_MAX_THREADS && scenario->threads[threads_count_] != nullptr)
        threads_count_++;
    for (unsigned t = 0; t <= threads_count_; t++) {
        threads_[t].fiber.prepare(memory.stack_of(t), Memory::kStack);
        threads_[t].body = t < threads_count_ ? scenario->threads[t] : verify_and_look;
    }
    memory.restore_pristine();
    forget_locals();
    self_ = kThreads;
    if (scenario->prepare != nullptr)
        scenario->prepare();
    memory.remember_prepared();
}

void Machine::enter(void *argument)
{
    auto *thread = static_cast<Thread *>(argument);

    thread->body();
    machine().pause(State::Finished);
    broken("a finished thread was resumed");
}

void Machine::verify_and_look()
{
    const model_scenario *scenario = machine().scenario_;

    if (scenario->verify != nullptr)
        scenario->verify();
    if (scenario->reached != nullptr)
        machine().reached_ = scenario->reached();
}

void Machine::resume(unsigned thread)
{
    self_ = thread;
    threads_[thread].fiber.resume();
    self_ = kThreads;
}

void Machine::pause(State state)
{
    Thread &thread = threads_[self_];

    thread.state = state;
    thread.fiber.yield();
}

bool Machine::everything_ended() const
{
    for (unsigned t = 0; t < threads_count_; t++)
        if (threads_[t].state != State::Finished)
            return false;
    return true;
}

void Machine::replay(unsigned threads)
{
    replaying_ = true;
    for (bool progress = true; progress && failure_.empty();) {
        progress = false;
        for (unsigned t = 0; t < threads && failure_.empty(); t++) {
            Thread &thread = threads_[t];
            if (thread.state != State::Ready && thread.state != State::Waiting)
                continue;
            unsigned before = thread.pos;
            resume(t);
            progress |= thread.pos != before || thread.state != State::Waiting;
        }
    }
    replaying_ = false;
}

void Machine::go_on(unsigned threads)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (unsigned t = 0; t < threads && failure_.empty(); t++)
            if (threads_[t].state == State::AtEnd ||
                (script != nullptr && threads_[t].state == State::Blocked && threads_[t].why != Why::Assumption)) {
                unsigned before = threads_[t].pos;
                resume(t);
                progress |= script != nullptr && threads_[t].pos != before;
            }
    }
}

End Machine::run(Graph &graph)
{
    unsigned threads = threads_count_;

    graph_ = &graph;
    graph.verifier = threads;
    memory.restore_prepared();
    failure_.clear();
    outcomes_ = 0;
    reached_ = 0;
    for (unsigned t = 0; t <= threads; t++) {
        threads_[t].pos = 0;
        threads_[t].state = State::Ready;
        threads_[t].why = Why::None;
        threads_[t].turn = Turn::None;
        threads_[t].has_written = false;
        threads_[t].fiber.restart(enter, &threads_[t]);
    }
    replay(threads);
    go_on(threads);
    if (!failure_.empty())
        return End::Failed;
    if (!everything_ended()) {
        for (unsigned t = 0; t < threads; t++)
            if (threads_[t].state == State::AtEnd)
                return End::Scripted;
            else if (threads_[t].state != State::Finished && threads_[t].why == Why::None)
                broken("thread %u is stuck in its replay", t);
        switch (what_remains()) {
        case Rest::Cut: return End::Blocked;
        case Rest::Lost: return End::Failed;
        case Rest::Asleep: break;
        }
    }
    if (scenario_->verify != nullptr || scenario_->reached != nullptr) {
        Clock end;
        for (unsigned t = 0; t < threads; t++) {
            if (graph.length(t) > 0)
                end.join(graph.events[t].back().hb);
        }
        // One past the last event: the plain accesses behind it are over too.
        for (unsigned t = 0; t < threads; t++)
            end.at[t] = (uint8_t)(graph.length(t) + 1);
        graph.all_threads_end = end;
        replay(threads + 1);
        go_on(threads + 1);
        if (!failure_.empty())
            return End::Failed;
        if (threads_[threads].state == State::AtEnd)
            return End::Scripted;
        if (threads_[threads].state == State::Blocked)
            return threads_[threads].why != Why::Assumption &&
                           come_to_rest(threads, threads + 1) == Rest::Lost
                       ? End::Failed : End::Blocked;
    }
    return options().load_buffering && load_overtaken() ? End::Failed : End::Complete;
}

bool Machine::load_overtaken()
{
    Id read, store;

    auto hint = [this](int word) { return memory.is_hint(word); };
    if (!graph_->overtaken(hint, &read, &store))
        return false;
    auto name = [](Id id) {
        return std::to_string(thread_of(id)) + "." + std::to_string(pos_of(id));
    };
    failure_ = "load buffering: nothing keeps the load T" + name(read) +
               " from reading the store T" + name(store) +
               ", which depends on what the loading thread did later";
    return true;
}

// Whether the thread sleeps on a futex, or is not born, by the newest state of the word.
bool Machine::sleeps_on(unsigned thread) const
{
    const Event &last = graph_->events[thread].back();

    return threads_[thread].why != Why::Waiting &&
           graph_->mo_of(last.rf) == graph_->words[last.word].writes;
}

// One more round of a thread that waits. False: the scenario has failed.
bool Machine::looks_again(unsigned t, bool *moved)
{
    Thread &thread = threads_[t];
    const std::vector<Event> &events = graph_->events[t];
    const unsigned before = thread.pos;
    const model_site *site = thread.site;
    const int awaited = word_awaited(events, before);
    bool read = false, wrote = false, got = false;

    // A pause within a pause is no round: there is nothing that it has looked at.
    for (int pauses = 0; !read && thread.state == State::Blocked; pauses++) {
        if (thread.why == Why::Assumption)
            return true;
        if (pauses == 100) {
            failure_ = "a waiting round of thread " + std::to_string(t) + " reads nothing";
            return false;
        }
        resume(t);
        if (!failure_.empty())
            return false;
        for (unsigned pos = before; pos < thread.pos; pos++) {
            read |= events[pos].kind == Kind::Read;
            wrote |= events[pos].kind == Kind::Write;
            got |= events[pos].kind == Kind::Write && events[pos].word == awaited;
        }
    }
    bool same = thread.state == State::Blocked && thread.site == site;
    // One round that writes behind others that did not is explored as the first: it has read what is newer.
    if (wrote && same && !got && site != nullptr && thread.has_written) {
        failure_ = "a waiting round of thread " + std::to_string(t) + " at " + place_of(site) +
                   " writes, and the next one too: the rounds after the first are not explored";
        return false;
    }
    thread.has_written = wrote && same && !got;
    *moved |= wrote || !same;
    return true;
}

// Nobody can run any more, as far as they have looked. Here those who wait look again, and read what is
// newest, until nobody writes any more: who waits then waits for ever.
Machine::Rest Machine::come_to_rest(unsigned first, unsigned last)
{
    resting_ = true;
    bool moved = true;
    for (int round = 0; moved && failure_.empty(); round++) {
        moved = false;
        for (unsigned t = first; t < last && failure_.empty(); t++) {
            if (threads_[t].state == State::Finished)
                continue;
            if (threads_[t].why == Why::Assumption || !looks_again(t, &moved)) {
                resting_ = false;
                return failure_.empty() ? Rest::Cut : Rest::Lost;
            }
        }
        if (round == 100)
            failure_ = "those who wait never come to rest";
    }
    resting_ = false;
    if (!failure_.empty())
        return Rest::Lost;
    for (unsigned t = first; t < last; t++)
        if (threads_[t].state != State::Finished && threads_[t].why == Why::Waiting) {
            failure_ = "thread " + std::to_string(t) + " waits for ever at " +
                       place_of(threads_[t].site) +
                       ": what it read last is the newest, and nobody is left to change it";
            return Rest::Lost;
        }
    return Rest::Cut;
}

// Nobody can run any more. When every thread either ended, or sleeps on a futex whose last
// state still has it asleep, nothing is left that could wake the sleepers.
Machine::Rest Machine::what_remains()
{
    for (unsigned t = 0; t < threads_count_; t++)
        if (threads_[t].state != State::Finished && threads_[t].why == Why::Assumption)
            return Rest::Cut;
    for (unsigned t = 0; t < threads_count_; t++)
        if (threads_[t].state != State::Finished && !sleeps_on(t))
            return options().liveness ? come_to_rest(0, threads_count_) : Rest::Cut;
    for (unsigned t = 0; t < threads_count_; t++)
        if (threads_[t].state != State::Finished && threads_[t].why == Why::Futex &&
            !(scenario_->may_sleep >> t & 1)) {
            failure_ = "lost wake-up: thread " + std::to_string(t) +
                       " sleeps on a futex and nobody is left to wake it";
            return Rest::Lost;
        }
    return Rest::Asleep;
}

Word &Machine::word_in_graph(int word)
{
    if (graph_->words.size() <= (size_t)word)
        graph_->words.resize((size_t)word + 1);
    return graph_->words[(size_t)word];
}

const Event &Machine::perform(const Request &request)
{
    Thread &thread = threads_[self_];

    for (;;) {
        std::vector<Event> &events = graph_->events[self_];
        if (thread.pos < events.size()) {
            Event &event = events[thread.pos];
            if (event.kind != request.event.kind || event.word != request.event.word ||
                event.site != request.event.site)
                broken("thread %u is not deterministic: event %u was %s at line %d and is "
                       "now %s at line %d", self_, thread.pos + 1, event.site->op,
                       event.site->line, request.event.site->op, request.event.site->line);
            if (event.kind == Kind::Read && event.rf != kInit && !executed(event.rf)) {
                pause(State::Waiting);
                continue;
            }
            thread.pos++;
            bool store = event.kind == Kind::Write;
            if (event.kind == Kind::Read && will_write(event)) {
                thread.pos++;
                store = true;
            }
            if (event.kind == Kind::Read || store) {
                const Event &last = events[thread.pos - 1];
                const WordPlace &place = memory.place(event.word);
                check(memory.atomic(place.address, place.size, store, {self_, thread.pos, &last.hb}));
                if (event.kind == Kind::Read && event.rf == kInit && graph_->words[event.word].uninitialised)
                    fail("load of uninitialised memory: " + memory.name_of(place.address));
            }
            return event;
        }
        if (replaying_) {
            pause(State::AtEnd);
            continue;
        }
        if (!resting_ && script != nullptr &&
            (script_next >= script->size() || (*script)[script_next].thread != self_)) {
            pause(State::AtEnd);
            continue;
        }
        if (request.event.kind == Kind::Read || request.event.kind == Kind::Write) {
            Word &word = word_in_graph(request.event.word);
            if (word.idle())
                word.initial = memory.initial_value(request.event.word, &word.uninitialised);
        }
        if (resting_)
            newest_extend(*graph_, self_, request);
        else if (script != nullptr)
            scripted_extend(*graph_, self_, request, (*script)[script_next++].choice);
        else
            search().extend(self_, request);
    }
}

void Machine::block(Why why, const model_site *site)
{
    threads_[self_].why = why;
    threads_[self_].site = site;
    for (;;) {
        if (!resting_ && script != nullptr && !replaying_ && script_next < script->size() &&
            (*script)[script_next].thread == self_ && why != Why::Assumption)
            return;
        pause(State::Blocked);
        if (why == Why::Assumption)
            broken("a thread was resumed behind an assumption that does not hold");
        if (resting_)
            return;
    }
}

void Machine::fail(const std::string &what)
{
    if (preparing())
        broken("while preparing: %s", what.c_str());
    failure_ = "thread " + std::to_string(self_) + ": " + what;
    if (self_ == threads_count_)
        failure_ = "verify: " + what;
    pause(State::Blocked);
    broken("a failed thread was resumed");
}

Accessor Machine::accessor() const
{
    static const Clock none;

    if (preparing())
        return {Memory::kPreparing, 0, &none};
    unsigned pos = threads_[self_].pos;
    if (pos > 0)
        return {self_, pos + 1, &graph_->events[self_][pos - 1].hb};
    return {self_, 1, self_ == graph_->verifier ? &graph_->all_threads_end : &none};
}

bool Machine::ordered_before(int index, const Accessor &by) const
{
    const Word &word = graph_->words[(size_t)index];
    auto ordered = [&](Id id) {
        return !executed(id) || thread_of(id) == by.thread || covers(*by.clock, id);
    };

    for (unsigned i = 0; i < word.reads; i++)
        if (!ordered(word.read[i]))
            return false;
    for (unsigned mo = 1; mo <= word.writes; mo++)
        if (!ordered(word.write[mo]))
            return false;
    return true;
}

void Machine::set_outcome(unsigned slot, int64_t value)
{
    if (slot >= 16)
        broken("outcome slot %u", slot);
    for (; outcomes_ <= slot; outcomes_++)
        outcome_[outcomes_] = 0;
    outcome_[slot] = value;
}

} // namespace model
