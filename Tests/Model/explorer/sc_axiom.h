// sc_axiom.h — RC11's rule for seq_cst accesses and fences: psc has no cycle.
#pragma once

#include "graph.h"

namespace model {

// Whether the graph keeps the rule. Needed after every step that gives an event an outgoing
// edge: a load of an overwritten value, or a store placed before another.
bool sc_consistent(const Graph &graph);

} // namespace model
