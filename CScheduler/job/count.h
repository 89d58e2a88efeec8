/* count.h — counting jobs on their record: a submission before it can be found, its end after
 * everything else; and who is told of a record's last.
 *
 * Threads  anyone. No lock is held that is a queue's or a group's.
 * Edges    see record.h
 */
#ifndef ODI_JOB_COUNT_H
#define ODI_JOB_COUNT_H

#include "job/record.h"
#include "os/membarrier.h"

#pragma GCC visibility push(hidden)

bool odi_record_count_slowly(odi_record *record, uint64_t before, void *queue,
                             struct odi_group *group, uint64_t jobs);

/* Counts submissions to the queue and group that the record was looked up for. False: it is closed or
 * has changed hands, nothing is counted, and the caller looks up the queue's next record. Otherwise
 * the caller looks at the flags (L2's fence is behind it). No lock is held that is a queue's or a
 * group's. */
static inline bool odi_record_count(odi_record *record, void *queue, struct odi_group *group,
                                    uint64_t jobs)
{
    /* L5: whoever finds a new generation's job count finds that generation's queue and group too. */
    uint64_t before = odi_add_acquire(&record->counts, jobs, L5);

    odi_fence_light(L2);
    if (ODI_LIKELY((before & (ODI_COUNTS_CLOSED | ODI_COUNTS_KNOWN)) == ODI_COUNTS_KNOWN &&
                   odi_record_is(record, queue, group)))
        return true;
    return odi_record_count_slowly(record, before, queue, group, jobs);
}

/* Counts `jobs` as done (or discarded). True: they were the last of a watched record, and
 * the caller owes it odi_record_drained, outside of any lock. */
static inline bool odi_record_subtract(odi_record *record, uint64_t jobs)
{
    uint64_t before = odi_add_acqrel(&record->counts, (uint64_t)0 - jobs, L1);

    return (before & (ODI_COUNTS_WATCHED | ODI_COUNTS_OUTSTANDING)) ==
           (ODI_COUNTS_WATCHED | jobs);
}

/* Whom a record's last job has to wake. Noted before its job count is told, while outstanding
 * jobs keep the record what it is: afterwards it may be reaped and serve another queue. */
typedef struct {
    const odi_record_owner *owner;
    void *queue;
    struct odi_group *group;
} odi_watchers;

static inline odi_watchers odi_record_watchers(odi_record *record)
{
    /* relaxed, both: L5 has shown them to whoever has a job of the record */
    return (odi_watchers){record->owner, odi_load_relaxed(&record->queue),
                          odi_load_relaxed(&record->group)};
}

/* Wakes who watches a record whose last job is done. */
void odi_record_drained(odi_record *record, odi_watchers watchers);

static inline void odi_record_complete(odi_record *record, uint64_t jobs)
{
    odi_watchers watchers = odi_record_watchers(record);

    if (ODI_UNLIKELY(odi_record_subtract(record, jobs)))
        odi_record_drained(record, watchers);
}

#pragma GCC visibility pop

#endif
