/* shrink.h — a program that fails, made as small as it still does. */
#ifndef RANDOM_SHRINK_H
#define RANDOM_SHRINK_H

#include "Random/program.h"

/* Marks what the program of `seed` does not need to fail, trying for `limit_ns`. `gone` has OPS of them.
 * Returns how many operations are left. */
int shrink(uint64_t seed, bool *gone, int64_t limit_ns);

#endif
