/* outside.c — whose job it is that a thread runs outside of a worker's runs: for reports, and
 * for closures that ask which queue they are on. */
#include "worker/run.h"

_Thread_local odi_record *odi_record_outside;

void odi_run_as(odi_record *record, odi_entry job)
{
    odi_record *outer = odi_record_outside;

    odi_record_outside = record;
    odi_job_run(job);
    odi_record_outside = outer;
}
