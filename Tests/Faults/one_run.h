/* one_run.h — the process that a run is. */
#ifndef FAULTS_ONE_RUN_H
#define FAULTS_ONE_RUN_H

#include "Faults/faults.h"

/* Goes through one run and returns the process's exit status. */
int one_run(const fault *which, const workload *work, int number, uint64_t seed);

#endif
