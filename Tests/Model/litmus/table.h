// table.h — the litmus tests and their known outcomes.
#pragma once

namespace litmus {

struct Test {
    const char *name;
    const char *program;
    const char *finals;
    // The outcomes that exist, as lists separated by commas. ALL_BUT: every combination of 0
    // and 1, without those listed. KEY: those listed exist; after a '/', those that must not.
    enum Mode { ONLY, ALL_BUT, KEY } mode;
    const char *outcomes;
};

extern const Test tests[];
extern const int test_count;

} // namespace litmus
