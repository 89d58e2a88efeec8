/* lanes.h — programs of many seeds, several at a time. */
#ifndef RANDOM_LANES_H
#define RANDOM_LANES_H

#include "Random/watch.h"

/* Runs programs of the seeds from `first` on, each once, in so many processes, until these have used so much
 * processor time, or one has found something: that is returned, and the others end. What they count is added
 * to random_shared. Whoever ends this process ends them all. */
verdict run_lanes(uint64_t first, int lanes, int64_t cpu_ns, void (*run)(const program *));

#endif
