// The outcomes were worked out from the axioms by hand; table_test compares them with what
// the explorer finds, and with what the brute-force enumeration finds.
#include "table.h"

namespace litmus {

const Test tests[] = {
    // Message passing: the flag, then the data. Weak: flag seen, data not.
    {"MP", "W x 1 rlx; W y 1 rlx | R y rlx; R x rlx", ""},
    {"MP+rel+acq", "W x 1 rlx; W y 1 rel | R y acq; R x rlx", "1 0"},
    {"MP+rel+rlx", "W x 1 rlx; W y 1 rel | R y rlx; R x rlx", ""},
    {"MP+rlx+acq", "W x 1 rlx; W y 1 rlx | R y acq; R x rlx", ""},
    {"MP+sc+sc", "W x 1 rlx; W y 1 sc | R y sc; R x rlx", "1 0"},
    {"MP+Frel+acq", "W x 1 rlx; F rel; W y 1 rlx | R y acq; R x rlx", "1 0"},
    {"MP+rel+Facq", "W x 1 rlx; W y 1 rel | R y rlx; F acq; R x rlx", "1 0"},
    {"MP+Frel+Facq", "W x 1 rlx; F rel; W y 1 rlx | R y rlx; F acq; R x rlx", "1 0"},
    {"MP+Fsc+Fsc", "W x 1 rlx; F sc; W y 1 rlx | R y rlx; F sc; R x rlx", "1 0"},
    {"MP+Far+none", "W x 1 rlx; F ar; W y 1 rlx | R y rlx; R x rlx", ""},
    {"MP+Facq+Frel", "W x 1 rlx; F acq; W y 1 rlx | R y rlx; F rel; R x rlx", ""},
    {"MP+Flight+Fheavy", "W x 1 rlx; F light; W y 1 rlx | R y rlx; F heavy; R x rlx", "1 0"},
    {"MP+Flight+Facq", "W x 1 rlx; F light; W y 1 rlx | R y rlx; F acq; R x rlx", ""},

    // Store buffering: both miss the other's store.
    {"SB", "W x 1 rlx; R y rlx | W y 1 rlx; R x rlx", ""},
    {"SB+rel+acq", "W x 1 rel; R y acq | W y 1 rel; R x acq", ""},
    {"SB+sc", "W x 1 sc; R y sc | W y 1 sc; R x sc", "0 0"},
    {"SB+sc-one-relaxed", "W x 1 sc; R y sc | W y 1 sc; R x rlx", ""},
    {"SB+Fsc", "W x 1 rlx; F sc; R y rlx | W y 1 rlx; F sc; R x rlx", "0 0"},
    {"SB+Fsc+none", "W x 1 rlx; F sc; R y rlx | W y 1 rlx; R x rlx", ""},
    {"SB+Fsc+sc", "W x 1 rlx; F sc; R y rlx | W y 1 sc; R x sc", "0 0"},
    {"SB+Far", "W x 1 rlx; F ar; R y rlx | W y 1 rlx; F ar; R x rlx", ""},
    {"SB+swap-sc", "X x 1 sc; R y sc | X y 1 sc; R x sc", "0 0 0 1, 0 1 0 0, 0 1 0 1", Test::ONLY},
    {"SB+add-as-fence", "W x 1 rlx; A w 0 ar; R y rlx | W y 1 rlx; A w 0 ar; R x rlx",
     "0 0 0 1, 0 1 0 0, 0 1 0 1", Test::ONLY},
    {"SB+Flight+Fheavy", "W x 1 rlx; F light; R y rlx | W y 1 rlx; F heavy; R x rlx", "0 0"},
    {"SB+Flight+Flight", "W x 1 rlx; F light; R y rlx | W y 1 rlx; F light; R x rlx", ""},
    {"SB+Fheavy+Fheavy", "W x 1 rlx; F heavy; R y rlx | W y 1 rlx; F heavy; R x rlx", "0 0"},
    {"SB+Flight+Fsc", "W x 1 rlx; F light; R y rlx | W y 1 rlx; F sc; R x rlx", ""},
    {"SB+Fheavy+Fsc", "W x 1 rlx; F heavy; R y rlx | W y 1 rlx; F sc; R x rlx", "0 0"},
    {"SB3+Flight+Flight+Fheavy", "W x 1 rlx; F light; R y rlx | W y 1 rlx; F light; R z rlx | "
     "W z 1 rlx; F heavy; R x rlx", ""},
    {"SB3+Fsc", "W x 1 rlx; F sc; R y rlx | W y 1 rlx; F sc; R z rlx | W z 1 rlx; F sc; R x rlx", "0 0 0"},
    {"SB4+light-heavy-light-heavy", "W x 1 rlx; F light; R y rlx | W y 1 rlx; F heavy; R z rlx | "
     "W z 1 rlx; F light; R w rlx | W w 1 rlx; F heavy; R x rlx", "0 0 0 0"},

    // Load buffering. RC11 forbids it at every order; see README.md, "Limits".
    {"LB", "R x rlx; W y 1 rlx | R y rlx; W x 1 rlx", "1 1"},
    {"LB+acq+rel", "R x acq; W y 1 rel | R y acq; W x 1 rel", "1 1"},
    {"LB+add", "A x 1 rlx; W y 1 rlx | R y rlx; W x 1 rlx", "1 1"},

    // One word.
    {"CoRR", "W x 1 rlx | R x rlx; R x rlx", "1 0"},
    {"CoRR2", "W x 1 rlx | W x 2 rlx | R x rlx; R x rlx | R x rlx; R x rlx",
     "1 2 1 2, 2 1 2 1, 1 2 2 2 / 1 2 2 1, 2 1 1 2, 1 0 0 0", Test::KEY},
    {"CoWR", "W x 1 rlx; R x rlx | W x 2 rlx", "1 1, 1 2, 2 2", Test::ONLY, "x"},
    {"CoRW", "R x rlx; W x 1 rlx | W x 2 rlx", "0 1, 0 2, 2 1", Test::ONLY, "x"},
    {"CoWW", "W x 1 rlx; W x 2 rlx | R x rlx", "0 2, 1 2, 2 2", Test::ONLY, "x"},
    {"CoRR-through-hb", "W x 1 rlx | R x rlx; W y 1 rel | R y acq; R x rlx", "1 1 0"},

    // Write cycles.
    {"2+2W", "W x 1 rlx; W y 2 rlx | W y 1 rlx; W x 2 rlx", "1 1, 1 2, 2 1, 2 2", Test::ONLY, "xy"},
    {"2+2W+rel", "W x 1 rel; W y 2 rel | W y 1 rel; W x 2 rel", "1 1, 1 2, 2 1, 2 2", Test::ONLY, "xy"},
    {"2+2W+sc", "W x 1 sc; W y 2 sc | W y 1 sc; W x 2 sc", "1 2, 2 1, 2 2", Test::ONLY, "xy"},
    {"2+2W+Fsc", "W x 1 rlx; F sc; W y 2 rlx | W y 1 rlx; F sc; W x 2 rlx", "1 2, 2 1, 2 2", Test::ONLY, "xy"},
    {"2+2W+Flight+Fheavy", "W x 1 rlx; F light; W y 2 rlx | W y 1 rlx; F heavy; W x 2 rlx",
     "1 2, 2 1, 2 2", Test::ONLY, "xy"},
    {"S", "W x 2 rlx; W y 1 rlx | R y rlx; W x 1 rlx", "0 1, 0 2, 1 1, 1 2", Test::ONLY, "x"},
    {"S+rel+acq", "W x 2 rlx; W y 1 rel | R y acq; W x 1 rlx", "0 1, 0 2, 1 1", Test::ONLY, "x"},
    {"S+Fsc+Fsc", "W x 2 rlx; F sc; W y 1 rlx | R y rlx; F sc; W x 1 rlx", "0 1, 0 2, 1 1", Test::ONLY, "x"},
    {"R", "W x 1 rlx; W y 1 rlx | W y 2 rlx; R x rlx", "0 1, 0 2, 1 1, 1 2", Test::ONLY, "y"},
    {"R+rel+acq", "W x 1 rel; W y 1 rel | W y 2 rel; R x acq", "0 1, 0 2, 1 1, 1 2", Test::ONLY, "y"},
    {"R+sc", "W x 1 sc; W y 1 sc | W y 2 sc; R x sc", "0 1, 1 1, 1 2", Test::ONLY, "y"},
    {"R+Fsc", "W x 1 rlx; F sc; W y 1 rlx | W y 2 rlx; F sc; R x rlx", "0 1, 1 1, 1 2", Test::ONLY, "y"},

    // Three threads and four.
    {"WRC", "W x 1 rlx | R x rlx; W y 1 rlx | R y rlx; R x rlx", ""},
    {"WRC+rel+acq", "W x 1 rel | R x acq; W y 1 rel | R y acq; R x acq", "1 1 0"},
    {"WRC+Fsc", "W x 1 rlx | R x rlx; F sc; W y 1 rlx | R y rlx; F sc; R x rlx", "1 1 0"},
    {"ISA2", "W x 1 rlx; W y 1 rel | R y acq; W z 1 rel | R z acq; R x rlx", "1 1 0"},
    {"ISA2+rlx", "W x 1 rlx; W y 1 rel | R y rlx; W z 1 rel | R z acq; R x rlx", ""},
    {"IRIW", "W x 1 rlx | W y 1 rlx | R x rlx; R y rlx | R y rlx; R x rlx", ""},
    {"IRIW+rel+acq", "W x 1 rel | W y 1 rel | R x acq; R y acq | R y acq; R x acq", ""},
    {"IRIW+sc", "W x 1 sc | W y 1 sc | R x sc; R y sc | R y sc; R x sc", "1 0 1 0"},
    {"IRIW+Fsc", "W x 1 rlx | W y 1 rlx | R x rlx; F sc; R y rlx | R y rlx; F sc; R x rlx", "1 0 1 0"},
    {"IRIW+Flight+Fheavy", "W x 1 rlx | W y 1 rlx | R x rlx; F light; R y rlx | R y rlx; F heavy; R x rlx",
     "1 0 1 0"},
    {"RWC+rel+acq", "W x 1 rel | R x acq; R y acq | W y 1 rel; R x acq", ""},
    {"RWC+Fsc", "W x 1 rlx | R x rlx; F sc; R y rlx | W y 1 rlx; F sc; R x rlx", "1 0 0"},
    {"W+RWC", "W x 1 rlx; W z 1 rel | R z acq; F sc; R y rlx | W y 1 rlx; F sc; R x rlx", "1 0 0"},
    {"W+RWC+rlx", "W x 1 rlx; W z 1 rlx | R z acq; F sc; R y rlx | W y 1 rlx; F sc; R x rlx", ""},
    // The example that made RC11 weaken C11: mixing seq_cst with release on one word.
    {"Z6.U", "W x 1 sc; W y 1 rel | A y 1 sc; R y rlx | W y 3 sc; R x sc",
     "1 3 0, 1 2 1, 3 1 0 / 1 0 0, 1 1 0, 3 3 0", Test::KEY},

    // Read-modify-writes.
    {"add-add", "A x 1 rlx | A x 1 rlx", "0 1 2, 1 0 2", Test::ONLY, "x"},
    {"add-add-add", "A x 1 rlx | A x 1 rlx | A x 1 rlx",
     "0 1 2 3, 0 2 1 3, 1 0 2 3, 1 2 0 3, 2 0 1 3, 2 1 0 3", Test::ONLY, "x"},
    {"cas-cas", "C x 0 1 rlx rlx | C x 0 2 rlx rlx", "0 1 1, 2 0 2", Test::ONLY, "x"},
    {"add-store", "A x 1 rlx | W x 5 rlx", "0 5, 0 5, 5 6", Test::ONLY, "x"},
    {"swap-as-lock", "X x 1 acq; R y rlx; W y 1 rlx; W x 0 rel | X x 1 acq; R y rlx",
     "0 0 0 1, 0 0 1 0, 1 0 0 0 / 0 0 0 0", Test::KEY},
    {"cas-failure-rlx", "W x 1 rlx; W y 1 rel | C y 0 5 ar rlx; R x rlx", ""},
    {"cas-failure-acq", "W x 1 rlx; W y 1 rel | C y 0 5 ar acq; R x rlx", "1 0"},
    {"cas-success-rlx", "W x 1 rlx; W y 1 rel | C y 1 5 rlx acq; R x rlx", ""},
    {"cas-success-acq", "W x 1 rlx; W y 1 rel | C y 1 5 acq rlx; R x rlx", "1 0"},
    {"cas-release-only", "W x 1 rlx; C y 0 1 rel rlx | R y acq; R x rlx", "0 0 0, 0 0 1, 0 1 1", Test::ONLY},
    {"add-acquires-only", "W x 1 rlx; A y 1 acq | R y acq; R x rlx", "0 0 0, 0 0 1, 0 1 0, 0 1 1", Test::ONLY},

    // Release sequences.
    {"RS+add", "W x 1 rlx; W y 1 rel | A y 1 rlx | R y acq; R x rlx", "1 2 1, 0 1 0, 1 1 1 / 1 2 0", Test::KEY},
    {"RS+add+add", "W x 1 rlx; W y 1 rel | A y 1 rlx | A y 1 rlx | R y acq; R x rlx",
     "1 2 3 1, 2 1 3 1 / 1 2 3 0, 2 1 3 0", Test::KEY},
    {"RS+other-store", "W x 1 rlx; W y 1 rel | W y 2 rlx | R y acq; R x rlx", "0 0, 0 1, 1 1, 2 0, 2 1", Test::ONLY},
    // C++20: a later store of the same thread is no longer part of the sequence.
    {"RS+own-store", "W x 1 rlx; W y 1 rel; W y 2 rlx | R y acq; R x rlx", "0 0, 0 1, 1 1, 2 0, 2 1", Test::ONLY},
    {"RS+Frel+add+Facq", "W x 1 rlx; F rel; A y 1 rlx | A y 1 rlx; F acq; R x rlx",
     "0 1 1, 1 0 0, 1 0 1", Test::ONLY},
    {"RS+Frel-two-stores", "W x 1 rlx; F rel; W y 1 rlx; W y 2 rlx | R y acq; R x rlx",
     "0 0, 0 1, 1 1, 2 1", Test::ONLY},
};

const int test_count = sizeof tests / sizeof *tests;

} // namespace litmus
