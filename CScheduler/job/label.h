/* label.h — a job with its record's tag on it. A job that does not take one travels in a wrapping, whose tag says
 * so.
 *
 * Threads  anyone.
 */
#ifndef ODI_JOB_LABEL_H
#define ODI_JOB_LABEL_H

#include "job/record.h"

#pragma GCC visibility push(hidden)

bool odi_record_wrap(odi_record *record, odi_entry job, odi_entry *labelled);

/* The job with its record's tag, or wrapped. False: memory is short, nothing happened. */
static inline bool odi_record_label(odi_record *record, odi_entry job, odi_entry *labelled)
{
    if (ODI_UNLIKELY(!odi_job_takes_tag(job, record->tag)))
        return odi_record_wrap(record, job, labelled);
    *labelled = odi_job_with_tag(job, record->tag);
    return true;
}

/* The record that a labelled job is of; the job stays labelled. NULL: of none. */
odi_record *odi_record_of_job(odi_entry job);

/* Undoes odi_record_label: the record that a labelled job is of, and the job as it was. */
odi_record *odi_record_unlabel(odi_entry *job);

#pragma GCC visibility pop

#endif
