/* report.h — what reports of this process and of other processes share. */
#ifndef ODI_GATE_REPORT_H
#define ODI_GATE_REPORT_H

#include <stdint.h>

#include "include/od_report.h"
#include "worker/worker.h"

#pragma GCC visibility push(hidden)

/* Fills in how long the worker's job has run. `activity`: the worker's, as read with its job. Under the team's lock, or of a
 * copy of a worker. */
void odi_report_times(odi_worker *worker, uint64_t activity, od_worker_report *report);

#pragma GCC visibility pop

#endif
