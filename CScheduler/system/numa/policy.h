/* policy.h — names libnuma for the package manager. Only CScheduler/os includes <numa.h>, by that name. */
#ifndef OD_SYSTEM_NUMA_POLICY_H
#define OD_SYSTEM_NUMA_POLICY_H

#include <numa.h>

#endif
