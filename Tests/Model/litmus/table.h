// table.h — the litmus tests and their known outcomes.
#pragma once

namespace litmus {

struct Test {
    const char *name;
    const char *program;
    const char *outcomes; // lists, separated by commas
    // ALL_BUT: every combination of 0 and 1 exists, without those listed. KEY: those listed exist; after a '/',
    // those that must not.
    enum Mode { ONLY, ALL_BUT, KEY } mode = ALL_BUT;
    const char *finals = ""; // words that are read when all is over
};

extern const Test tests[];
extern const int test_count;

} // namespace litmus
