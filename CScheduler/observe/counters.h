/* counters.h — what a worker did, counted by the worker alone.
 *
 * Each counter has one writer, so counting is a load and a store, never a locked instruction.
 * Sums are exact when nothing runs, and close while something does.
 */
#ifndef ODI_OBSERVE_COUNTERS_H
#define ODI_OBSERVE_COUNTERS_H

#include <stdint.h>

#include "base/atomic.h"

#pragma GCC visibility push(hidden)

/* How far a thief went: its own node, the nearest of the others with CPUs, farther. */
enum { ODI_DISTANCE_CLASSES = 3 };

typedef odi_atomic(uint64_t) odi_counter;

typedef struct {
    odi_counter stolen[ODI_DISTANCE_CLASSES]; /* jobs taken from others, by distance */
    odi_counter steals[ODI_DISTANCE_CLASSES]; /* successful steals, by distance */
    odi_counter failed_steals;                /* sweeps over all others that found nothing */
    odi_counter injector_jobs;                /* jobs taken from injectors */
    odi_counter injector_claims;              /* batches they came in */
    odi_counter parks;                        /* times it went to sleep */
    odi_counter useful_wakes;                 /* wakes that found work */
    odi_counter spurious_wakes;               /* wakes that found none */
    odi_counter diverted;                     /* jobs handed to a queue's line */
} odi_counters;

/* Owner only. relaxed, both: one writer, readers take what they get. */
static inline void odi_count(odi_counter *counter, uint64_t n)
{
    odi_store_relaxed(counter, odi_load_relaxed(counter) + n);
}

static inline uint64_t odi_counted(odi_counter *counter)
{
    return odi_load_relaxed(counter); /* relaxed: see above */
}

#pragma GCC visibility pop

#endif
