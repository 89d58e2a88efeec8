#include "job/job.h"

void odi_job_call_owned(void *owned)
{
    odi_owned *it = owned;

    it->kind->call(it);
}
