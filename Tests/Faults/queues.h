/* queues.h — the workload of queues on queues, barriers, timers and forked branches. */
#ifndef FAULTS_QUEUES_H
#define FAULTS_QUEUES_H

#include "Faults/faults.h"

void queues_open(run *it);
void queues_launch(run *it);
void queues_await(run *it);
void queues_stopped(run *it);
void queues_close(run *it);

#endif
