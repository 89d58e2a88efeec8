/* outside.c — whose job it is that a thread runs outside of a worker's runs: for reports, and
 * for closures that ask which queue they are on. */
#include "worker/run.h"
#include "worker/worker.h"

_Thread_local odi_outside *odi_outsides;
_Thread_local od_scope *odi_scopes;

void odi_run_as(odi_record *record, odi_entry job)
{
    odi_outside here = {record, odi_scopes, odi_outsides};
    odi_worker *worker = odi_worker_self;
    /* relaxed, all: for reports */
    void *below = worker != NULL ? odi_load_relaxed(&worker->queue_running) : NULL;

    odi_outsides = &here;
    if (worker != NULL)
        odi_store_relaxed(&worker->queue_running, odi_load_relaxed(&record->queue));
    odi_job_run(job);
    odi_outsides = here.outer;
    if (worker != NULL)
        odi_store_relaxed(&worker->queue_running, below);
}
