/* label.c — wraps jobs that cannot hold their record's tag, and finds the record of a tagged job. */
#include "job/label.h"

#include <stdlib.h>

typedef struct {
    odi_record *record;
    odi_entry job;
} wrapping;

ODI_COLD bool odi_record_wrap(odi_record *record, odi_entry job, odi_entry *labelled)
{
    wrapping *wrapped = malloc(sizeof *wrapped);
    if (wrapped == NULL)
        return false;
    *wrapped = (wrapping){record, job};
    *labelled = odi_job_plain(free, wrapped, ODI_TAG_WRAPPED);
    return true;
}

odi_record *odi_record_of_job(odi_entry job)
{
    uint32_t tag = odi_job_tag(job);

    if (ODI_UNLIKELY(tag == ODI_TAG_WRAPPED))
        return ((wrapping *)(uintptr_t)job.context)->record;
    return tag < ODI_TAG_FIRST ? NULL : odi_record_of(tag);
}

odi_record *odi_record_unlabel(odi_entry *job)
{
    uint32_t tag = odi_job_tag(*job);

    if (ODI_LIKELY(tag != ODI_TAG_WRAPPED)) {
        *job = odi_job_with_tag(*job, 0);
        return tag < ODI_TAG_FIRST ? NULL : odi_record_of(tag);
    }
    wrapping *wrapped = (wrapping *)(uintptr_t)job->context;
    odi_record *record = wrapped->record;
    *job = wrapped->job;
    free(wrapped);
    return record;
}
