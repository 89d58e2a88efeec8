// trace.h — an execution as text, and as a string that brings it back.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "machine.h"

namespace model {

void print_trace(FILE *out, const Graph &graph);
std::string replay_string(const Graph &graph);
bool parse_replay(const char *text, std::vector<Step> *steps);

} // namespace model
