/* lanes.h — the workload of queues on queues, barriers, timers and forked branches. */
#ifndef FAULTS_LANES_H
#define FAULTS_LANES_H

#include "Faults/faults.h"

void lanes_open(run *it);
void lanes_launch(run *it);
void lanes_await(run *it);
void lanes_stopped(run *it);
void lanes_close(run *it);

#endif
