#include "Random/features.h"

#include "Random/shared.h"

static const struct {
    const char *word;
    int family;
} features[] = {
#define RANDOM_FEATURE(name, word, family) {word, family},
    RANDOM_FEATURES(RANDOM_FEATURE)
#undef RANDOM_FEATURE
};

static atomic_ullong happened;

void feature_met(feature it)
{
    if (!(atomic_load_explicit(&happened, memory_order_relaxed) >> it & 1))
        atomic_fetch_or_explicit(&happened, 1ull << it, memory_order_relaxed);
}

void features_close(void)
{
    unsigned long long all = atomic_exchange(&happened, 0);

    for (int i = 0; i < FEATURES; i++) {
        for (int j = 0; j <= i; j++) {
            if (all >> i & all >> j & 1)
                atomic_fetch_add_explicit(&random_shared->met[i][j], 1, memory_order_relaxed);
        }
    }
}

/* A stop may discard a closure. A program with a stop therefore has no wait without end for a closure, and neither
 * branches nor children. */
static bool is_of_a_stop(int it) { return it == STOPPED || it == STOPPED_IN_TIME; }
static bool is_without_a_stop(int it) { return it == HAND_SHAKEN || it == BRANCHED || it == PROCESS_FORKED; }

static bool may_meet(int one, int other)
{
    if ((is_without_a_stop(one) && is_of_a_stop(other)) || (is_without_a_stop(other) && is_of_a_stop(one)))
        return false;
    return one == other || features[one].family == 0 || features[one].family != features[other].family;
}

int features_report(unsigned least, FILE *file)
{
    unsigned rarest = ~0u;
    int pairs = 0, holes = 0;

    for (int i = 0; i < FEATURES; i++) {
        for (int j = 0; j <= i; j++) {
            unsigned met = atomic_load(&random_shared->met[i][j]);

            if (!may_meet(i, j))
                continue;
            pairs++;
            rarest = met < rarest ? met : rarest;
            if (met >= least)
                continue;
            holes++;
            if (holes <= 40)
                fprintf(file, "hole: %s and %s met %u times\n", features[i].word, features[j].word, met);
        }
    }
    fprintf(file, "%d pairs of features, the rarest met %u times, %d fewer than %u\n", pairs, rarest,
            holes, least);
    return holes;
}
