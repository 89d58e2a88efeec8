// options.h — what the command line of a scenario asks for.
#pragma once

#include <string>

namespace model {

struct Options {
    bool pauses_wait = true;  // odi_spin_pause cuts the loop it stands in
    bool load_buffering = true; // look for loads that only RC11 keeps in place
    std::string weaken_edge;  // weaken this edge's operations
    int weaken_end = -1;      // of this kind (model_end)
    int weaken_line = 0;      // only at this line, unless 0
    bool met = false;         // note every edge that is met
};

Options &options();

bool is_weakened_slow(const char *edge, int end);
inline bool is_weakened(const char *edge, int end)
{
    return __builtin_expect(options().weaken_end >= 0 || options().met, 0) &&
           is_weakened_slow(edge, end);
}

void print_met(); // a line "met EDGE:END" for each

} // namespace model
