// main.cc — the command line of a scenario binary.
//
//   BINARY [NAME...]             explores the named scenarios, or all
//     --list                     names them
//     --max-executions N         gives up after N runs
//     --time-limit SECONDS       gives up after so much CPU time, per scenario
//     --weaken EDGE:END          END is store, load, rmw or fence
//     --at FILE:LINE             only there
//     --met                      says which tagged operations were met
//     --assumptions              says which model_assume and which waits were met
//     --no-liveness              does not ask whether those who wait are left waiting for ever
//     --no-spurious              a futex wait never returns for nothing
//     --no-load-buffering        does not look for loads that only RC11 keeps in place
//     --outcomes                 prints the outcomes that were seen, and how often those that it names
//     --replay STRING            runs one execution of the one named scenario
//
// Exit status: 0 all passed; 1 a failing execution was found; 2 something was not explored to
// the end; 3 the explorer could not do its work.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "machine.h"
#include "options.h"
#include "report.h"
#include "search.h"
#include "trace.h"

namespace model {

namespace {

model_scenario *first_scenario, **last_scenario = &first_scenario;

void print_counts(const Counts &counts)
{
    printf("%llu executions (%llu more cut short, %llu graphs refused), %.1f events each, "
           "%.2f s",
           (unsigned long long)counts.complete, (unsigned long long)counts.blocked,
           (unsigned long long)counts.inconsistent,
           counts.complete ? (double)counts.events / (double)counts.complete : 0.0,
           counts.seconds);
}

void print_outcomes()
{
    for (const Reached &it : search().reached())
        printf("     %llu reach %s\n", (unsigned long long)it.executions, it.condition.c_str());
    for (const auto &outcome : search().outcomes()) {
        printf("    ");
        for (int64_t value : outcome)
            printf(" %lld", (long long)value);
        printf("\n");
    }
}

int explore(const model_scenario *scenario, const Limits &limits, bool outcomes)
{
    Verdict verdict = search().explore(scenario, limits);

    printf("%-10s %-32s ",
           verdict == Verdict::Passed   ? "passed"
           : verdict == Verdict::Failed ? "FAILED"
                                        : "INCOMPLETE",
           scenario->name);
    print_counts(search().counts());
    printf("\n");
    if (outcomes)
        print_outcomes();
    if (verdict == Verdict::Passed && search().counts().complete == 0) {
        printf("  no execution was complete: this proves nothing\n");
        return 2; // not 1: nothing failed either, and a mutant is not killed by it
    }
    if (verdict == Verdict::Failed) {
        printf("  %s\n", machine().failure().c_str());
        if (search().has_failing_graph()) {
            const Graph &graph = search().failing_graph();
            print_trace(stdout, graph);
            printf("  replay: %s --replay %s\n", scenario->name, replay_string(graph).c_str());
        }
    }
    fflush(stdout);
    return verdict == Verdict::Passed ? 0 : verdict == Verdict::Failed ? 1 : 2;
}

int replay(const model_scenario *scenario, const char *text)
{
    std::vector<Step> steps;
    Graph graph;

    if (!parse_replay(text, &steps))
        broken("cannot read the replay string");
    machine().start(scenario);
    machine().script = &steps;
    End end = machine().run(graph);
    print_trace(stdout, graph);
    if (end == End::Failed) {
        printf("FAILED     %s\n  %s\n", scenario->name, machine().failure().c_str());
        return 1;
    }
    printf("%s %s\n", end == End::Complete ? "passed    " : "cut short ", scenario->name);
    return 0;
}

int end_number(const char *name)
{
    static const char *const names[] = {"none", "store", "load", "rmw", "fence"};

    for (int i = 1; i < 5; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    broken("no such end of an edge: %s", name);
}

} // namespace

} // namespace model

using namespace model;

extern "C" void model_register(model_scenario *scenario)
{
    *last_scenario = scenario;
    last_scenario = &scenario->next;
}

extern "C" model_scenario *model_named(const char *name)
{
    for (model_scenario *s = first_scenario; s != nullptr; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    broken("no such scenario: %s", name);
}

int main(int argc, char **argv)
{
    Limits limits;
    bool outcomes = false, list = false, assumptions = false;
    const char *replay_text = nullptr;
    std::vector<const char *> names;

    machine().memory.map();
    machine().memory.remember_pristine();
    for (int i = 1; i < argc; i++) {
        std::string option = argv[i];
        auto value = [&] {
            if (++i == argc)
                broken("%s needs a value", option.c_str());
            return argv[i];
        };
        if (option == "--list") {
            list = true;
        } else if (option == "--max-executions") {
            limits.executions = strtoull(value(), nullptr, 10);
        } else if (option == "--time-limit") {
            limits.seconds = strtod(value(), nullptr);
        } else if (option == "--weaken") {
            std::string edge = value();
            size_t colon = edge.find(':');
            if (colon == std::string::npos)
                broken("--weaken wants EDGE:END");
            options().weaken_edge = edge.substr(0, colon);
            options().weaken_end = end_number(edge.c_str() + colon + 1);
        } else if (option == "--at") {
            options().weaken_place = value();
        } else if (option == "--met") {
            options().met = true;
        } else if (option == "--assumptions") {
            assumptions = true;
        } else if (option == "--no-liveness") {
            options().liveness = false;
        } else if (option == "--no-spurious") {
            options().spurious = false;
        } else if (option == "--no-load-buffering") {
            options().load_buffering = false;
        } else if (option == "--outcomes") {
            outcomes = true;
        } else if (option == "--replay") {
            replay_text = value();
        } else if (option[0] == '-') {
            broken("no such option: %s", option.c_str());
        } else {
            names.push_back(argv[i]);
        }
    }
    int worst = 0;
    size_t matched = 0;
    for (model_scenario *s = first_scenario; s != nullptr; s = s->next) {
        bool wanted = names.empty();
        for (const char *name : names)
            wanted |= strcmp(name, s->name) == 0;
        if (!wanted)
            continue;
        matched++;
        if (list) {
            printf("%s\n", s->name);
            continue;
        }
        int status = replay_text ? replay(s, replay_text) : explore(s, limits, outcomes);
        worst = status > 0 && (worst == 0 || status < worst) ? status : worst;
    }
    print_met();
    if (assumptions)
        print_assumptions();
    if (matched == 0 || (!names.empty() && matched < names.size()))
        broken("no such scenario");
    return worst;
}
