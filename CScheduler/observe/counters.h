/* counters.h — event counters of one worker, written by this worker only.
 *
 * One writer per counter makes counting a load and a store, without a locked instruction. Sums are exact
 * while no job runs, and close otherwise.
 */
#ifndef ODI_OBSERVE_COUNTERS_H
#define ODI_OBSERVE_COUNTERS_H

#include <stdint.h>

#include "base/atomic.h"

#pragma GCC visibility push(hidden)

/* Distance of a steal: the worker's own node, the nearest node with CPUs, or farther. */
enum { ODI_DISTANCE_CLASSES = 3 };

typedef odi_atomic(uint64_t) odi_counter;

typedef struct {
    odi_counter stolen[ODI_DISTANCE_CLASSES]; /* jobs taken from others, by distance */
    odi_counter steals[ODI_DISTANCE_CLASSES]; /* successful steals, by distance */
    odi_counter failed_steals;                /* searches of all workers that found nothing */
    odi_counter injector_jobs;                /* jobs taken from injectors */
    odi_counter injector_claims;              /* batches in which they were taken */
    odi_counter parks;                        /* number of sleeps */
    odi_counter useful_wakes;                 /* wakes that found work */
    odi_counter spurious_wakes;               /* wakes that found none */
    odi_counter diverted;                     /* jobs placed in a queue's wait queue */
} odi_counters;

/* Owner only. relaxed, both: one writer, and readers accept a stale value. */
static inline void odi_count(odi_counter *counter, uint64_t n)
{
    odi_store_relaxed(counter, odi_load_relaxed(counter) + n);
}

static inline uint64_t odi_counted(odi_counter *counter)
{
    return odi_load_relaxed(counter); /* relaxed: one writer, see odi_count */
}

#pragma GCC visibility pop

#endif
