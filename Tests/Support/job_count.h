/* job_count.h — counting on a record as a submitter does that was late, or whose job is never pushed. */
#ifndef TEST_JOB_COUNT_H
#define TEST_JOB_COUNT_H

#include "job/record.h"

/* False: the record is closed, and the caller takes the count back. */
static inline bool add_to_counts(odi_record *record)
{
    return !(odi_add_acquire(&record->counts, 1, L5) & ODI_COUNTS_CLOSED);
}

#endif
