/* The leaves are in the header, so that each contender's compiler can inline them. */
#define _GNU_SOURCE
#include "workloads.h"

#include <sched.h>

void wl_limit_to_cpus(int32_t count) {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &mask)) continue;
        if (count > 0) {
            count--;
        } else {
            CPU_CLR(cpu, &mask);
        }
    }
    (void)sched_setaffinity(0, sizeof mask, &mask);
}
