/* label.h — sets and takes the record's tag of a job. A job that cannot hold the tag travels in an allocated
 * wrapper, which has a special tag. Any thread may call these functions. */
#ifndef ODI_JOB_LABEL_H
#define ODI_JOB_LABEL_H

#include "job/record.h"

#pragma GCC visibility push(hidden)

bool odi_record_wrap(odi_record *record, odi_entry job, odi_entry *labelled);

/* Sets the record's tag in the job, or wraps the job. Returns false, and changes nothing, if an allocation
 * fails. */
static inline bool odi_record_label(odi_record *record, odi_entry job, odi_entry *labelled)
{
    if (ODI_UNLIKELY(!odi_job_takes_tag(job, record->tag)))
        return odi_record_wrap(record, job, labelled);
    *labelled = odi_job_with_tag(job, record->tag);
    return true;
}

/* Returns the record of a tagged job, which stays tagged, or NULL if it has none. */
odi_record *odi_record_of_job(odi_entry job);

/* Undoes odi_record_label: returns the record and restores the untagged job. */
odi_record *odi_record_unlabel(odi_entry *job);

#pragma GCC visibility pop

#endif
