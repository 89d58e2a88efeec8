// options.h — what the command line of a scenario asks for.
#pragma once

#include <string>

#include "model/runtime.h"

namespace model {

struct Options {
    bool liveness = true;     // who is left waiting for ever fails
    bool spurious = true;     // a futex wait may return though nobody woke it
    bool load_buffering = true; // look for loads that only RC11 keeps in place
    std::string weaken_edge;  // weaken this edge's operations
    int weaken_end = -1;      // of this kind (model_end)
    std::string weaken_place; // only at this FILE:LINE, unless ""
    bool met = false;         // note every tagged operation that is met
};

Options &options();

bool is_weakened_slow(const model_site *site);
inline bool is_weakened(const model_site *site)
{
    return __builtin_expect(options().weaken_end >= 0 || options().met, 0) && is_weakened_slow(site);
}

void print_met(); // a line "met EDGE:END FILE:LINE" for each

void note_assumption(const char *condition, const char *file, int line);
void note_wait(const model_site *site);
void print_assumptions(); // "assumes FILE:LINE CONDITION", "waits FILE:LINE FUNCTION": each that was met

} // namespace model
