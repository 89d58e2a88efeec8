/* rng.h — a small random generator to spread choices; not for secrets.
 *
 * The algorithm is xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016, section 3). The state is one word that one thread owns.
 */
#ifndef ODI_BASE_RNG_H
#define ODI_BASE_RNG_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Accepts any seed; zero is replaced, because zero is the generator's fixed point. */
static inline uint64_t odi_rng_seed(uint64_t seed)
{
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    seed ^= seed >> 31;
    return seed ? seed : 1;
}

static inline uint64_t odi_rng_next(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}

/* Returns a number below `bound` (not zero) by multiply and shift, without a division. */
static inline uint32_t odi_rng_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((odi_rng_next(state) >> 32) * bound) >> 32);
}

#pragma GCC visibility pop

#endif
