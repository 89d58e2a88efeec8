/* prng.h — random choices of one thread of a test, derived from the run's seed. */
#ifndef SUPPORT_PRNG_H
#define SUPPORT_PRNG_H

#include <stdbool.h>

#include "base/rng.h"

typedef struct {
    uint64_t state;
} prng;

static inline prng prng_for(uint64_t seed, uint64_t stream)
{
    return (prng){odi_rng_seed(seed ^ (stream + 1) * 0x9e3779b97f4a7c15u)};
}

/* Returns a number below `bound`. */
static inline uint32_t prng_below(prng *it, uint32_t bound)
{
    return odi_rng_below(&it->state, bound);
}

/* Returns true once in `chances` calls on average. */
static inline bool prng_one_in(prng *it, uint32_t chances)
{
    return prng_below(it, chances) == 0;
}

#endif
