/* cgroups.h — from our control groups up to the mounts, and what is met on the way.
 *
 * Owns     which files are read, for v1, v2 and both at once: octal escapes, bind mounts of a
 *          part of a hierarchy (containers), and roots above a cgroup namespace ("/..").
 * Never    decides what the limits mean: limits.c does.
 */
#ifndef ODI_TOPOLOGY_CGROUPS_H
#define ODI_TOPOLOGY_CGROUPS_H

#include "topology/limits.h"

#pragma GCC visibility push(hidden)

/* Reads every visible group that holds us: sets quota_us, period_us and quota_group of
 * `limits`, narrows its CPUs to cpusets if these are wanted, and adds notes. What `*kept` points to (NULL at
 * first; the caller frees it) has where the groups were found, so that the next reading looks at the mounts
 * again only where we are in another group, or none was in sight. `kept` may be NULL. */
void odi_cgroups_read(const odi_source *source, odi_cgroups **kept, odi_limits *limits,
                     bool cpusets);

#pragma GCC visibility pop

#endif
