/* outside.c — whose job it is that a thread runs outside of a worker's runs: for reports, and
 * for closures that ask which queue they are on. */
#include "worker/run.h"
#include "worker/worker.h"

_Thread_local odi_record *odi_record_outside;

void odi_run_as(odi_record *record, odi_entry job)
{
    odi_record *outer = odi_record_outside;
    odi_worker *worker = odi_worker_self;
    /* relaxed, all: for reports */
    void *below = worker != NULL ? odi_load_relaxed(&worker->queue_running) : NULL;

    odi_record_outside = record;
    if (worker != NULL)
        odi_store_relaxed(&worker->queue_running, odi_load_relaxed(&record->queue));
    odi_job_run(job);
    odi_record_outside = outer;
    if (worker != NULL)
        odi_store_relaxed(&worker->queue_running, below);
}
