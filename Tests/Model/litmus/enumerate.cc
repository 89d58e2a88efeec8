// enumerate.cc — RC11 by brute force: all reads-from maps, all modification orders, and the
// axioms as they are written, on relations that are boolean matrices.
//
// Deliberately shares nothing with the explorer: it is what the explorer is compared with.
// The axioms are those of Lahav et al. (PLDI 2017, section 3), with C++20's release sequences
// and the asymmetric fences of README.md.
#include <algorithm>

#include "model/runtime.h"
#include "program.h"
#include "report.h"

namespace litmus {

namespace {

constexpr int kMost = 40;
int size; // events of the program at hand; relations are this large

struct Relation {
    uint64_t row[kMost] = {};

    bool has(int a, int b) const { return row[a] >> b & 1; }
    void add(int a, int b) { row[a] |= uint64_t{1} << b; }
    Relation operator|(const Relation &other) const
    {
        Relation r = *this;
        for (int i = 0; i < size; i++)
            r.row[i] |= other.row[i];
        return r;
    }
    Relation operator*(const Relation &then) const
    {
        Relation r;
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++)
                if (has(a, b))
                    r.row[a] |= then.row[b];
        return r;
    }
    Relation inverse() const
    {
        Relation r;
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++)
                if (has(a, b))
                    r.add(b, a);
        return r;
    }
    Relation plus() const
    {
        Relation r = *this;
        for (int k = 0; k < size; k++)
            for (int a = 0; a < size; a++)
                if (r.has(a, k))
                    r.row[a] |= r.row[k];
        return r;
    }
    bool irreflexive() const
    {
        for (int a = 0; a < size; a++)
            if (has(a, a))
                return false;
        return true;
    }
    template <class Keep> Relation where(const Keep &keep) const
    {
        Relation r;
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++)
                if (has(a, b) && keep(a, b))
                    r.add(a, b);
        return r;
    }
};

template <class In> Relation identity_on(const In &in)
{
    Relation r;
    for (int a = 0; a < size; a++)
        if (in(a))
            r.add(a, a);
    return r;
}

struct Ev {
    enum Type { Init, Read, Write, Fence } type;
    int thread = -1, word = -1;
    uint8_t order = 0;
    int64_t value = 0;
    int rmw_of = -1; // Write: its read half
    int op = -1;     // index among all operations
};

class Enumerator {
public:
    explicit Enumerator(const Program &program) : program_(program)
    {
        for (size_t t = 0; t < program.threads.size(); t++)
            for (const Op &op : program.threads[t]) {
                ops_.push_back(op);
                thread_.push_back((int)t);
            }
        source_.assign(ops_.size(), -2);
    }
    Result run()
    {
        choose_sources(0);
        return result_;
    }

private:
    void choose_sources(size_t index);
    bool evaluate();
    bool value_written(size_t op, int64_t *value, int depth);
    bool value_read(size_t op, int64_t *value, int depth);
    bool swaps(size_t op, int64_t read) const
    {
        return ops_[op].kind != 'C' || read == ops_[op].expected;
    }
    void build();
    void choose_orders(int word);
    bool consistent() const;
    void record();

    const Program &program_;
    std::vector<Op> ops_;
    std::vector<int> thread_;
    std::vector<int> source_; // of a reading op: the op it reads from; -1: initial value
    std::vector<int64_t> read_, written_;
    std::vector<Ev> events_;
    std::vector<int> read_event_, write_event_;
    std::vector<std::vector<int>> order_; // per word, without the initial store
    Relation sb_, rf_, rmw_;
    Result result_;
};

void Enumerator::choose_sources(size_t index)
{
    while (index < ops_.size() && !reads(ops_[index]))
        index++;
    if (index == ops_.size()) {
        if (evaluate()) {
            build();
            if ((sb_ | rf_).plus().irreflexive())
                choose_orders(0);
        }
        return;
    }
    source_[index] = -1;
    choose_sources(index + 1);
    for (size_t w = 0; w < ops_.size(); w++)
        if ((ops_[w].kind == 'W' || is_rmw(ops_[w])) && ops_[w].word == ops_[index].word && w != index) {
            source_[index] = (int)w;
            choose_sources(index + 1);
        }
}

bool Enumerator::value_read(size_t op, int64_t *value, int depth)
{
    if (source_[op] >= 0)
        return value_written((size_t)source_[op], value, depth + 1);
    *value = 0;
    return true;
}

// False when the store does not exist, or its value depends on itself.
bool Enumerator::value_written(size_t op, int64_t *value, int depth)
{
    *value = ops_[op].operand;
    if (ops_[op].kind == 'W')
        return true;
    int64_t before;
    if (depth > (int)ops_.size() || !value_read(op, &before, depth) || !swaps(op, before))
        return false;
    if (ops_[op].kind == 'A')
        *value += before;
    return true;
}

bool Enumerator::evaluate()
{
    read_.assign(ops_.size(), 0);
    written_.assign(ops_.size(), 0);
    for (size_t i = 0; i < ops_.size(); i++) {
        if (reads(ops_[i]) && !value_read(i, &read_[i], 0))
            return false;
        if (ops_[i].kind == 'W' || (is_rmw(ops_[i]) && swaps(i, read_[i])))
            if (!value_written(i, &written_[i], 0))
                return false;
    }
    return true;
}

void Enumerator::build()
{
    events_.clear();
    sb_ = rf_ = rmw_ = Relation();
    read_event_.assign(ops_.size(), -1);
    write_event_.assign(ops_.size(), -1);
    order_.assign(4, {});
    for (int word = 0; word < 4; word++) {
        events_.push_back({Ev::Init});
        events_.back().word = word;
    }
    auto add = [&](Ev::Type type, size_t op, uint8_t order, int64_t value) {
        Ev event;
        event.type = type;
        event.thread = thread_[op];
        event.word = type == Ev::Fence ? -1 : ops_[op].word;
        event.order = order;
        event.value = value;
        event.op = (int)op;
        if (events_.size() == kMost)
            model::broken("a litmus test is too long for the enumerator");
        events_.push_back(event);
        return (int)events_.size() - 1;
    };
    for (size_t i = 0; i < ops_.size(); i++) {
        const Op &op = ops_[i];
        if (op.kind == 'F')
            add(Ev::Fence, i, op.order, 0);
        bool swap = is_rmw(op) && swaps(i, read_[i]);
        if (reads(op))
            read_event_[i] =
                add(Ev::Read, i, op.kind == 'C' && !swap ? op.failure : op.order, read_[i]);
        if (op.kind == 'W' || swap) {
            write_event_[i] = add(Ev::Write, i, op.order, written_[i]);
            order_[(size_t)op.word].push_back(write_event_[i]);
            if (swap) {
                events_.back().rmw_of = read_event_[i];
                rmw_.add(read_event_[i], write_event_[i]);
            }
        }
    }
    size = (int)events_.size();
    for (size_t a = 0; a < events_.size(); a++)
        for (size_t b = 0; b < events_.size(); b++)
            if (b >= 4 && (a < 4 || (a < b && events_[a].thread == events_[b].thread)))
                sb_.add((int)a, (int)b);
    for (size_t i = 0; i < ops_.size(); i++)
        if (read_event_[i] >= 0)
            rf_.add(source_[i] < 0 ? ops_[i].word : write_event_[(size_t)source_[i]], read_event_[i]);
}

void Enumerator::choose_orders(int word)
{
    if (word == 4) {
        if (consistent())
            record();
        return;
    }
    auto &order = order_[(size_t)word];
    std::sort(order.begin(), order.end());
    do {
        choose_orders(word + 1);
    } while (std::next_permutation(order.begin(), order.end()));
}

bool Enumerator::consistent() const
{
    const int n = (int)events_.size();
    auto ev = [&](int a) -> const Ev & { return events_[(size_t)a]; };
    auto in = [&](int a) { return a < n; };
    auto is_fence = [&](int a) { return in(a) && ev(a).type == Ev::Fence; };
    auto order = [&](int a) { return ev(a).order; };
    auto rel = [&](int a) {
        return in(a) && (order(a) == MODEL_RELEASE || order(a) == MODEL_ACQREL ||
                         order(a) == MODEL_SEQCST || order(a) == MODEL_HEAVY);
    };
    auto acq = [&](int a) {
        return in(a) && (order(a) == MODEL_ACQUIRE || order(a) == MODEL_ACQREL ||
                         order(a) == MODEL_SEQCST || order(a) == MODEL_HEAVY);
    };
    auto same_word = [&](int a, int b) { return ev(a).word >= 0 && ev(a).word == ev(b).word; };

    Relation mo;
    for (int word = 0; word < 4; word++)
        for (size_t i = 0; i < order_[(size_t)word].size(); i++) {
            mo.add(word, order_[(size_t)word][i]);
            for (size_t j = i + 1; j < order_[(size_t)word].size(); j++)
                mo.add(order_[(size_t)word][i], order_[(size_t)word][j]);
        }
    const Relation all = identity_on(in);
    const Relation rb = rf_.inverse() * mo;
    const Relation eco = (rf_ | mo | rb).plus();
    const Relation rs =
        identity_on([&](int a) { return in(a) && ev(a).type != Ev::Fence; }) *
        (all | (rf_ * rmw_).plus());
    const Relation fences = identity_on(is_fence);
    const Relation release = identity_on(rel) *
                             (identity_on([&](int a) { return rel(a) && !is_fence(a); }) |
                              fences * sb_ * identity_on([&](int a) {
                                  return in(a) && ev(a).type == Ev::Write;
                              }));
    const Relation acquire =
        (identity_on([&](int a) { return acq(a) && ev(a).type == Ev::Read; }) |
         identity_on([&](int a) { return in(a) && ev(a).type == Ev::Read; }) * sb_ * fences) *
        identity_on(acq);
    const Relation sw = release * rs * rf_ * acquire;
    const Relation hb = (sb_ | sw).plus();

    if (!hb.irreflexive() || !(hb * eco).irreflexive())
        return false;
    const Relation between = rb * mo;
    for (int a = 0; a < n; a++)
        if (rmw_.row[a] & between.row[a])
            return false;

    auto sc = [&](int a) { return in(a) && order(a) == MODEL_SEQCST; };
    auto light = [&](int a) { return order(a) == MODEL_LIGHT; };
    auto heavy = [&](int a) { return order(a) == MODEL_HEAVY; };
    const Relation sc_access = identity_on([&](int a) { return sc(a) && !is_fence(a); });
    const Relation sc_fence = identity_on([&](int a) { return is_fence(a) && (sc(a) || light(a) || heavy(a)); });
    const Relation sb_apart = sb_.where([&](int a, int b) { return !same_word(a, b); });
    const Relation scb = sb_ | sb_apart * hb * sb_apart | hb.where(same_word) | mo | rb;
    const Relation maybe_hb = hb | all;
    const Relation psc_base =
        (sc_access | sc_fence * maybe_hb) * scb * (sc_access | maybe_hb * sc_fence);
    const Relation psc_fences = sc_fence * (hb | hb * eco * hb) * sc_fence;
    const Relation psc = (psc_base | psc_fences).where([&](int a, int b) {
        return !(light(a) && !heavy(b)) && !(light(b) && !heavy(a));
    });
    return psc.plus().irreflexive();
}

void Enumerator::record()
{
    Outcome outcome;

    for (size_t i = 0; i < ops_.size(); i++)
        if (reads(ops_[i]))
            outcome.push_back(read_[i]);
    for (char name : program_.finals) {
        const auto &order = order_[(size_t)(name == 'w' ? 3 : name - 'x')];
        outcome.push_back(order.empty() ? 0 : events_[(size_t)order.back()].value);
    }
    result_.outcomes.insert(outcome);
    result_.executions++;
}

} // namespace

Result by_enumeration(const Program &program) { return Enumerator(program).run(); }

} // namespace litmus
