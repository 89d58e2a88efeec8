/* count.h — counts jobs on their record (the completion counter of a queue, group and band), and notifies
 * watchers of an empty record.
 *
 * A submission is counted before it can be found. Its end is counted after everything else. Any thread may
 * call these functions, without holding a lock of a queue or group. The edges are in record.h.
 */
#ifndef ODI_JOB_COUNT_H
#define ODI_JOB_COUNT_H

#include "job/record.h"
#include "os/membarrier.h"

#pragma GCC visibility push(hidden)

bool odi_record_count_slowly(odi_record *record, uint64_t before, void *queue,
                             struct odi_group *group, uint64_t jobs);

/* Counts submissions to the queue and group for which the record was looked up. Returns false if the record
 * is closed or belongs to another queue by now. Nothing is counted then, and the caller looks up the queue's
 * next record. After true, the caller reads the flags (L2's fence is behind it). The caller holds no lock of
 * a queue or group. */
static inline bool odi_record_count(odi_record *record, void *queue, struct odi_group *group,
                                    uint64_t jobs)
{
    /* L5: a thread that reads a new generation's job count also reads that generation's queue and group. */
    uint64_t before = odi_add_acquire(&record->counts, jobs, L5);

    odi_fence_light(L2);
    if (ODI_LIKELY((before & (ODI_COUNTS_CLOSED | ODI_COUNTS_KNOWN)) == ODI_COUNTS_KNOWN &&
                   odi_record_is(record, queue, group)))
        return true;
    return odi_record_count_slowly(record, before, queue, group, jobs);
}

/* Counts `jobs` as finished or discarded. Returns true if they were the last of a watched record. The caller
 * then calls odi_record_drained without holding any lock. */
static inline bool odi_record_subtract(odi_record *record, uint64_t jobs)
{
    uint64_t before = odi_add_acqrel(&record->counts, (uint64_t)0 - jobs, L1);

    return (before & (ODI_COUNTS_WATCHED | ODI_COUNTS_OUTSTANDING)) ==
           (ODI_COUNTS_WATCHED | jobs);
}

/* The queue and group to notify when a record becomes empty. The caller notes them before its job count
 * changes, while its jobs keep the record in place. Afterwards the record may be freed and serve another
 * queue. */
typedef struct {
    const odi_record_owner *owner;
    void *queue;
    struct odi_group *group;
} odi_watchers;

static inline odi_watchers odi_record_watchers(odi_record *record)
{
    /* relaxed, both: L5 has shown them to every holder of a job of the record */
    return (odi_watchers){record->owner, odi_load_relaxed(&record->queue),
                          odi_load_relaxed(&record->group)};
}

/* Notifies the watchers of a record whose last job has finished. */
void odi_record_drained(odi_record *record, odi_watchers watchers);

static inline void odi_record_complete(odi_record *record, uint64_t jobs)
{
    odi_watchers watchers = odi_record_watchers(record);

    if (ODI_UNLIKELY(odi_record_subtract(record, jobs)))
        odi_record_drained(record, watchers);
}

#pragma GCC visibility pop

#endif
