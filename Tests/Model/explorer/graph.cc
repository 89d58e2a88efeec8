#include "graph.h"

#include "report.h"

namespace model {

Word &Word::operator=(const Word &other)
{
    initial = other.initial;
    uninitialised = other.uninitialised;
    writes = other.writes;
    reads = other.reads;
    memcpy(write, other.write, sizeof(Id) * (writes + 1u));
    memcpy(read, other.read, sizeof(Id) * reads);
    return *this;
}

uint64_t written_by(const Event &read)
{
    uint64_t value = read.operand;

    switch (read.rmw) {
    case MODEL_ADD: value = read.value + read.operand; break;
    case MODEL_OR: value = read.value | read.operand; break;
    case MODEL_AND: value = read.value & read.operand; break;
    case kFutexLock:
    case kFutexWake:
    case kFutexLeave: return futex_written(read.rmw, read.value, read.operand);
    default: break;
    }
    return truncate_to(read.size, value);
}

void Graph::clear()
{
    for (auto &thread : events)
        thread.clear();
    words.clear();
    stamps = 0;
    all_threads_end = Clock();
}

unsigned Graph::oldest_visible(const Word &word, const Clock &before) const
{
    unsigned oldest = 0;

    for (unsigned mo = word.writes; mo > 0; mo--)
        if (covers(before, word.write[mo])) {
            oldest = mo;
            break;
        }
    for (unsigned i = 0; i < word.reads; i++)
        if (covers(before, word.read[i])) {
            unsigned mo = mo_of(at(word.read[i]).rf);
            oldest = mo > oldest ? mo : oldest;
        }
    return oldest;
}

Clock Graph::clock_before(Id id) const
{
    unsigned thread = thread_of(id), pos = pos_of(id);

    if (pos > 1)
        return events[thread][pos - 2].hb;
    return thread == verifier ? all_threads_end : Clock();
}

void Graph::compute_clocks(Id id)
{
    unsigned thread = thread_of(id), pos = pos_of(id);
    Event &event = at(id);

    if (pos > 1) {
        const Event &previous = events[thread][pos - 2];
        event.hb = previous.hb;
        event.porf = previous.porf;
        event.fenced = previous.fenced;
        event.pending = previous.pending;
    } else {
        event.hb = event.porf = thread == verifier ? all_threads_end : Clock();
        event.fenced = event.pending = Clock();
    }
    event.hb.at[thread] = event.porf.at[thread] = (uint8_t)pos;
    event.release = Clock();

    switch (event.kind) {
    case Kind::Read:
        if (event.updates)
            event.order = will_write(event) ? event.success : event.failure;
        if (event.rf != kInit) {
            const Event &source = at(event.rf);
            event.porf.join(source.porf);
            event.pending.join(source.release);
            if (acquires(event.order))
                event.hb.join(source.release);
        }
        break;
    case Kind::Write:
        // A release sequence is the store and the read-modify-writes that continue it; a
        // later plain store of the same thread does not (C++20's rule, the weaker one).
        event.release = releases(event.order) ? event.hb : event.fenced;
        if (event.updates) {
            Id source = events[thread][pos - 2].rf;
            if (source != kInit)
                event.release.join(at(source).release);
        }
        break;
    case Kind::Fence:
        if (acquires(event.order))
            event.hb.join(event.pending);
        if (releases(event.order))
            event.fenced = event.hb;
        break;
    case Kind::Choice: break;
    }
}

void Graph::renumber(Word &word, unsigned from)
{
    for (unsigned mo = from; mo <= word.writes; mo++)
        at(word.write[mo]).mo = (uint8_t)mo;
}

void Graph::insert_store(Word &word, Id id, unsigned mo)
{
    if (word.writes == kWritesPerWord)
        out_of_room("stores to one word");
    memmove(&word.write[mo + 1], &word.write[mo], sizeof(Id) * (word.writes + 1u - mo));
    word.write[mo] = id;
    word.writes++;
    renumber(word, mo);
}

Id Graph::append(unsigned thread, const Event &event)
{
    if (events[thread].size() == kPerThread)
        out_of_room("events of one thread; an unbounded loop needs model_assume");
    events[thread].push_back(event);

    Id id = make_id(thread, length(thread));
    Event &added = at(id);
    added.stamp = ++stamps;
    if (added.kind == Kind::Read) {
        Word &word = words[added.word];
        if (word.reads == kReadsPerWord)
            out_of_room("loads of one word");
        word.read[word.reads++] = id;
        added.value = value_of(word, added.rf);
    } else if (added.kind == Kind::Write) {
        insert_store(words[added.word], id, added.mo);
    }
    compute_clocks(id);
    return id;
}

Id Graph::append_update(Id read)
{
    const Event &first = at(read);
    Event second;

    second.kind = Kind::Write;
    second.updates = true;
    second.order = first.success;
    second.rmw = first.rmw;
    second.size = first.size;
    second.word = first.word;
    second.value = written_by(first);
    second.site = first.site;
    second.mo = (uint8_t)(mo_of(first.rf) + 1);
    return append(thread_of(read), second);
}

void Graph::set_source(Id read, Id store)
{
    Event &event = at(read);

    event.rf = store;
    event.value = value_of(words[event.word], store);
    compute_clocks(read);
}

void Graph::move_store(Id store, unsigned mo)
{
    Word &word = words[at(store).word];
    unsigned from = at(store).mo;

    memmove(&word.write[from], &word.write[from + 1], sizeof(Id) * (word.writes - from));
    word.writes--;
    renumber(word, from);
    insert_store(word, store, mo);
}

bool Graph::atomic_around(Id store) const
{
    const Event &event = at(store);
    const Word &word = words[event.word];

    // A read-modify-write is always next to its source, so one that follows `store` either
    // reads from it, or has just been pushed away from its source.
    if (event.mo == word.writes)
        return true;
    Id next = word.write[event.mo + 1];
    if (!at(next).updates)
        return true;
    return at(make_id(thread_of(next), pos_of(next) - 1)).rf == store;
}

void Graph::keep(const unsigned length[kThreads])
{
    bool cut = false;

    for (unsigned t = 0; t < kThreads; t++)
        if (events[t].size() > length[t]) {
            events[t].resize(length[t]);
            cut = true;
        }
    if (!cut)
        return;
    auto kept = [&](Id id) { return pos_of(id) <= length[thread_of(id)]; };
    for (Word &word : words) {
        unsigned n = 0;
        for (unsigned i = 0; i < word.reads; i++)
            if (kept(word.read[i]))
                word.read[n++] = word.read[i];
        word.reads = (uint8_t)n;
        n = 0;
        for (unsigned mo = 1; mo <= word.writes; mo++)
            if (kept(word.write[mo]))
                word.write[++n] = word.write[mo];
        word.writes = (uint8_t)n;
        renumber(word, 1);
    }
}

void Graph::keep_until(uint32_t stamp)
{
    unsigned length[kThreads];

    for (unsigned t = 0; t < kThreads; t++) {
        length[t] = this->length(t);
        while (length[t] > 0 && events[t][length[t] - 1].stamp > stamp)
            length[t]--;
    }
    keep(length);
    stamps = stamp;
}

void Graph::keep_for_revisit(Id read, Id store)
{
    unsigned length[kThreads];
    const uint32_t stamp = at(read).stamp;
    const Clock prefix = at(store).porf;

    for (unsigned t = 0; t < kThreads; t++) {
        length[t] = this->length(t);
        while (length[t] > prefix.at[t] && events[t][length[t] - 1].stamp > stamp)
            length[t]--;
    }
    keep(length);
}

bool Graph::canonical(Id id, Id store) const
{
    const Event &event = at(id);
    const Clock &prefix = at(store).porf;
    auto before = [&](Id other) {
        return other == kInit ||
               (other != store && (at(other).stamp <= event.stamp || covers(prefix, other)));
    };

    if (event.kind == Kind::Fence)
        return true;
    if (event.kind == Kind::Choice)
        return event.value == 0;

    const Word &word = words[event.word];
    Id source = event.kind == Kind::Read ? event.rf : id;
    if (!before(source))
        return false;
    for (unsigned mo = mo_of(source) + 1; mo <= word.writes; mo++)
        if (before(word.write[mo]))
            return false;
    // A store that some older read took as its source came in through a revisit.
    if (event.kind == Kind::Write)
        for (unsigned i = 0; i < word.reads; i++)
            if (at(word.read[i]).rf == id && before(word.read[i]))
                return false;
    return true;
}

bool Graph::may_revisit(Id read, Id store) const
{
    const Clock &prefix = at(store).porf;
    const uint32_t stamp = at(read).stamp;

    if (covers(prefix, read) || !canonical(read, store))
        return false;
    for (unsigned t = 0; t < kThreads; t++)
        for (unsigned pos = length(t); pos > prefix.at[t]; pos--) {
            const Event &event = events[t][pos - 1];
            if (event.stamp <= stamp)
                break;
            if (!canonical(make_id(t, pos), store))
                return false;
        }
    return true;
}

// Whether the next compare-and-swap of the thread failed: then what it had read ahead of it is
// thrown away, as everywhere in the engine.
bool Graph::discarded(Id read) const
{
    const std::vector<Event> &events = this->events[thread_of(read)];

    for (unsigned pos = pos_of(read); pos < events.size(); pos++)
        if (events[pos].kind == Kind::Read && events[pos].updates)
            return events[pos].rmw == MODEL_CAS && !will_write(events[pos]);
    return false;
}

bool Graph::overtaken_in(const Word &word, Id *read, Id *store) const
{
    for (unsigned i = 0; i < word.reads; i++) {
        Id r = word.read[i];
        if (acquires(at(r).order) || discarded(r))
            continue;
        // A read-modify-write that is not a compare-and-swap (which would find another value)
        // would be late as a whole: its own store neither keeps it in place nor is something
        // that the thread did later.
        bool whole = at(r).updates && at(r).rmw != MODEL_CAS;
        Id next = make_id(thread_of(r), pos_of(r) + (whole ? 2 : 0));
        for (unsigned mo = word.writes; mo > mo_of(at(r).rf); mo--) {
            Id x = word.write[mo];
            const Event &event = at(x);
            if (thread_of(x) == thread_of(r) || !covers(event.porf, next) || covers(event.hb, r))
                continue;
            // Coherence may still keep the load from reading `x`: a later access of the word
            // saw, or made, something older.
            auto keeps = [&](Id later, unsigned place) {
                bool own = later == r || (whole && pos_of(later) == pos_of(r) + 1 &&
                                          thread_of(later) == thread_of(r));
                return !own && place < mo && covers(at(later).hb, r);
            };
            bool kept = false;
            for (unsigned k = 0; k < word.reads && !kept; k++)
                kept = keeps(word.read[k], mo_of(at(word.read[k]).rf));
            for (unsigned k = 1; k < mo && !kept; k++)
                kept = keeps(word.write[k], k);
            if (!kept) {
                *read = r;
                *store = x;
                return true;
            }
        }
    }
    return false;
}

} // namespace model
