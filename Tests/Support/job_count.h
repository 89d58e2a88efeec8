/* job_count.h — counts on a record like a late submitter, or one whose job is never pushed. */
#ifndef TEST_JOB_COUNT_H
#define TEST_JOB_COUNT_H

#include "job/record.h"

/* Returns false if the record is closed; the caller then takes the count back. */
static inline bool add_to_counts(odi_record *record)
{
    return !(odi_add_acquire(&record->counts, 1, L5) & ODI_COUNTS_CLOSED);
}

#endif
