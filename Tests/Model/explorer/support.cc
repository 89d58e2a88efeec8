// support.cc — options, names of addresses, and giving up.
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "machine.h"
#include "options.h"
#include "report.h"

namespace model {

Options &options()
{
    static Options the;
    return the;
}

static std::set<std::string> assumptions;

void note_assumption(const char *condition, const char *file, int line)
{
    const char *name = strrchr(file, '/');

    assumptions.insert(std::string(name ? name + 1 : file) + ":" + std::to_string(line) + " " + condition);
}

static std::set<const model_site *> waits;

void note_wait(const model_site *site) { waits.insert(site); }

void print_assumptions()
{
    for (const model_site *site : waits)
        printf("waits   %s\n", place_of(site).c_str());
    for (const std::string &it : assumptions)
        printf("assumes %s\n", it.c_str());
}

static std::set<const model_site *> met;

static std::string line_of(const model_site *site) { return site->file + (":" + std::to_string(site->line)); }

void print_met()
{
    static const char *const names[] = {"none", "store", "load", "rmw", "fence"};
    std::set<std::string> lines;

    for (const model_site *site : met)
        if (strcmp(site->edge, "none") != 0)
            lines.insert(site->edge + (":" + std::string(names[site->end])) + " " + line_of(site));
    for (const std::string &line : lines)
        printf("met %s\n", line.c_str());
}

bool is_weakened_slow(const model_site *site)
{
    if (options().met)
        met.insert(site);
    return site->end == options().weaken_end && options().weaken_edge == site->edge &&
           (options().weaken_place.empty() || options().weaken_place == line_of(site));
}

std::string place_of(const model_site *site)
{
    const char *file = strrchr(site->file, '/');

    return (file ? file + 1 : site->file) + (":" + std::to_string(site->line)) + " " + site->function;
}

std::string symbol_of(uintptr_t address)
{
    static std::vector<std::pair<uintptr_t, std::string>> symbols = [] {
        std::vector<std::pair<uintptr_t, std::string>> list;
        char exe[512], line[1024], name[900], type;
        ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
        if (n <= 0)
            return list;
        exe[n] = 0;
        FILE *nm = popen((std::string("nm -n '") + exe + "' 2>/dev/null").c_str(), "r");
        unsigned long long value;
        while (nm != nullptr && fgets(line, sizeof line, nm))
            if (sscanf(line, "%llx %c %899s", &value, &type, name) == 3)
                list.emplace_back((uintptr_t)value, name);
        if (nm != nullptr)
            pclose(nm);
        return list;
    }();
    const std::pair<uintptr_t, std::string> *best = nullptr;
    char text[32];

    for (const auto &symbol : symbols)
        if (symbol.first <= address && address - symbol.first < 65536)
            best = &symbol;
    snprintf(text, sizeof text, best ? "+%zu" : "%#zx", (size_t)(best ? address - best->first : address));
    if (best == nullptr)
        return text;
    return address == best->first ? best->second : best->second + text;
}

void out_of_room(const char *what)
{
    fflush(stdout);
    fprintf(stderr, "model: the scenario has too many %s for the explorer's tables\n", what);
    _exit(3);
}

void broken(const char *format, ...)
{
    va_list list;

    fflush(stdout);
    va_start(list, format);
    fprintf(stderr, "model: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    _exit(3);
}

} // namespace model
