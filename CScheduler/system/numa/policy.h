/* policy.h — libnuma, named for the package manager.
 *
 * Only CScheduler/os includes <numa.h>, and it does so by that name. */
#ifndef OD_SYSTEM_NUMA_POLICY_H
#define OD_SYSTEM_NUMA_POLICY_H

#include <numa.h>

#endif
