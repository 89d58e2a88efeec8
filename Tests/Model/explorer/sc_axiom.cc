// The definitions are those of Lahav, Vafeiadis, Kang, Hur & Dreyer, "Repairing sequential
// consistency in C/C++11" (PLDI 2017, section 3):
//
//   scb     = sb | sb'; hb; sb' | hb on one word | mo | rb      (sb': sb to another word)
//   psc_base = ([accesses] | [fences]; hb?); scb; ([accesses] | hb?; [fences])
//   psc_F   = [fences]; (hb | hb; eco; hb); [fences]
//
// and psc, their union, must be acyclic. Nodes are numbered so that a set of them is one
// machine word. What happens after an event is a suffix of every thread, and what happens
// before it a prefix, so sets of fences before or after an event are table look-ups.
#include "sc_axiom.h"

#include <new>

#include "report.h"

namespace model {

namespace {

using Set = uint64_t;

struct Axiom {
    const Graph &graph;
    unsigned nodes = 0;
    Id id[64];
    Set edge[64] = {};
    Set accesses = 0, light = 0, heavy = 0;
    Set fences_until[kThreads][kPerThread + 2];  // fences of the thread at or before pos
    Set fences_from[kThreads][kPerThread + 2];   // fences that (t, pos) happens before, or is
    Set accesses_from[kThreads][kPerThread + 2]; // accesses of the thread at or after pos
    uint8_t number[kThreads][kPerThread + 1];    // of an access; 0xff: not a node

    explicit Axiom(const Graph &g) : graph(g) {}

    void collect();
    void tabulate();
    void communicate(const Word &word);
    void follow_program(unsigned node);
    void follow_word(unsigned node);
    bool acyclic();

    Set before(const Event &event) const
    {
        Set set = 0;
        for (unsigned t = 0; t < kThreads; t++)
            set |= fences_until[t][event.hb.at[t]];
        return set;
    }
    Set after(Id e) const { return fences_from[thread_of(e)][pos_of(e)]; }
    Set as_node(Id e) const
    {
        uint8_t n = number[thread_of(e)][pos_of(e)];
        return n == 0xff ? 0 : Set{1} << n;
    }
    void link(Set sources, Set targets)
    {
        if (targets != 0)
            for (; sources != 0; sources &= sources - 1)
                edge[__builtin_ctzll(sources)] |= targets;
    }
};

void Axiom::collect()
{
    for (unsigned t = 0; t < kThreads; t++)
        for (unsigned pos = 1; pos <= graph.length(t); pos++) {
            const Event &event = graph.events[t][pos - 1];
            bool fence = event.kind == Kind::Fence;

            number[t][pos] = 0xff;
            if (event.order != MODEL_SEQCST && event.order != MODEL_LIGHT && event.order != MODEL_HEAVY)
                continue;
            if (nodes == 64)
                out_of_room("seq_cst events");
            Set bit = Set{1} << nodes;
            id[nodes] = make_id(t, pos);
            if (!fence) {
                number[t][pos] = (uint8_t)nodes;
                accesses |= bit;
            }
            light |= event.order == MODEL_LIGHT ? bit : 0;
            heavy |= event.order == MODEL_HEAVY ? bit : 0;
            nodes++;
        }
}

void Axiom::tabulate()
{
    for (unsigned t = 0; t < kThreads; t++) {
        unsigned n = graph.length(t);
        memset(fences_until[t], 0, sizeof(Set) * (n + 2));
        memset(fences_from[t], 0, sizeof(Set) * (n + 2));
        memset(accesses_from[t], 0, sizeof(Set) * (n + 2));
    }
    for (unsigned node = 0; node < nodes; node++) {
        Set bit = Set{1} << node;
        unsigned t = thread_of(id[node]), pos = pos_of(id[node]);
        if (accesses & bit) {
            accesses_from[t][pos] |= bit;
            continue;
        }
        const Clock &hb = graph.at(id[node]).hb;
        fences_until[t][pos] |= bit;
        for (unsigned u = 0; u < kThreads; u++)
            fences_from[u][hb.at[u]] |= bit;
    }
    for (unsigned t = 0; t < kThreads; t++) {
        unsigned n = graph.length(t);
        for (unsigned pos = 1; pos <= n; pos++)
            fences_until[t][pos] |= fences_until[t][pos - 1];
        fences_until[t][n + 1] = fences_until[t][n]; // a clock may reach past the end
        for (unsigned pos = n; pos > 0; pos--) {
            fences_from[t][pos] |= fences_from[t][pos + 1];
            accesses_from[t][pos] |= accesses_from[t][pos + 1];
        }
    }
}

// Edges that one word's reads-from, modification order and reads-before make, from the last
// store back to the first.
void Axiom::communicate(const Word &word)
{
    Set later = 0;          // fences after any access behind the current store
    Set later_stores = 0;   // fences after a store behind it
    Set later_accesses = 0; // seq_cst stores behind it

    for (unsigned mo = word.writes;; mo--) {
        Set readers = 0;

        for (unsigned i = 0; i < word.reads; i++) {
            const Event &read = graph.at(word.read[i]);
            if (graph.mo_of(read.rf) != mo)
                continue;
            readers |= after(word.read[i]);
            link(before(read), later | later_accesses);
            link(as_node(word.read[i]), later_stores | later_accesses);
        }
        if (mo == 0)
            break;
        Id store = word.write[mo];
        link(before(graph.at(store)), readers | later | later_accesses);
        link(as_node(store), later_stores | later_accesses);
        later |= readers | after(store);
        later_stores |= after(store);
        later_accesses |= as_node(store);
    }
}

// Edges of a seq_cst access along its thread, and along hb between other words.
void Axiom::follow_program(unsigned node)
{
    unsigned t = thread_of(id[node]), pos = pos_of(id[node]);
    Set bit = Set{1} << node;

    edge[node] |= accesses_from[t][pos + 1];
    if (pos < graph.length(t))
        edge[node] |= fences_from[t][pos + 1];
    if (pos > 1)
        link(before(graph.events[t][pos - 2]), bit);

    auto word_at = [&](unsigned u, unsigned p) {
        const Event &event = graph.events[u][p - 1];
        return event.kind == Kind::Read || event.kind == Kind::Write ? (int)event.word : -1;
    };
    unsigned leave = pos + 1; // the first event of the thread on another word
    while (leave <= graph.length(t) && word_at(t, leave) == word_at(t, pos))
        leave++;
    if (leave > graph.length(t))
        return;
    for (unsigned u = 0; u < kThreads; u++) {
        unsigned n = graph.length(u);
        if (u == t || n == 0 || graph.events[u][n - 1].hb.at[t] < leave)
            continue;
        unsigned arrive = n;
        while (arrive > 1 && graph.events[u][arrive - 2].hb.at[t] >= leave)
            arrive--;
        unsigned target = arrive + 1;
        while (target <= n && word_at(u, arrive) >= 0 && word_at(u, target) == word_at(u, arrive))
            target++;
        if (target <= n)
            edge[node] |= accesses_from[u][target];
    }
}

// Edges of a seq_cst access along hb within its word.
void Axiom::follow_word(unsigned node)
{
    Id self = id[node];
    const Event &access = graph.at(self);
    const Word &word = graph.words[access.word];

    auto relate = [&](Id other) {
        if (other == self)
            return;
        const Event &event = graph.at(other);
        if (covers(event.hb, self))
            edge[node] |= after(other) | as_node(other);
        else if (covers(access.hb, other))
            link(before(event), Set{1} << node);
    };
    for (unsigned i = 0; i < word.reads; i++)
        relate(word.read[i]);
    for (unsigned mo = 1; mo <= word.writes; mo++)
        relate(word.write[mo]);
}

bool Axiom::acyclic()
{
    Set left = nodes == 64 ? ~Set{0} : (Set{1} << nodes) - 1;

    for (bool removed = true; removed && left != 0;) {
        removed = false;
        for (Set rest = left; rest != 0; rest &= rest - 1) {
            unsigned node = (unsigned)__builtin_ctzll(rest);
            if ((edge[node] & left) == 0) {
                left &= ~(Set{1} << node);
                removed = true;
            }
        }
    }
    return left == 0;
}

} // namespace

bool sc_consistent(const Graph &graph)
{
    static Axiom *storage = static_cast<Axiom *>(operator new(sizeof(Axiom)));
    Axiom &axiom = *new (storage) Axiom(graph);

    axiom.collect();
    if (axiom.nodes == 0)
        return true;
    axiom.tabulate();
    for (const Word &word : graph.words)
        if (!word.idle())
            axiom.communicate(word);
    for (unsigned node = 0; node < axiom.nodes; node++) {
        Set bit = Set{1} << node;
        if (axiom.accesses & bit) {
            axiom.follow_program(node);
            axiom.follow_word(node);
        } else {
            // hb between fences.
            axiom.edge[node] |= axiom.after(axiom.id[node]) & ~bit;
        }
    }
    // An asymmetric fence: what only a light fence would order, with anything but a heavy
    // one, is not ordered.
    for (unsigned node = 0; node < axiom.nodes; node++) {
        Set bit = Set{1} << node;
        if (axiom.light & bit)
            axiom.edge[node] &= axiom.heavy;
        else if (!(axiom.heavy & bit))
            axiom.edge[node] &= ~axiom.light;
    }
    return axiom.acyclic();
}

} // namespace model
