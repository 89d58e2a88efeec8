/* cgroup_walk.h — from our control groups up to the mounts, and what is met on the way.
 *
 * Owns     the order in which files are read, for v1, v2 and both at once.
 * Never    decides what the limits mean: limits.c does.
 */
#ifndef ODI_TOPOLOGY_CGROUP_WALK_H
#define ODI_TOPOLOGY_CGROUP_WALK_H

#include "topology/limits.h"
#include "topology/mounts.h"

#pragma GCC visibility push(hidden)

/* What one reading of the limits works in: too big for a stack that may be a worker's, so
 * it is the one allocation, kept below the size where malloc turns to mmap. */
typedef struct odi_limits_scratch {
    char text[48 * 1024];          /* a long file: status, cgroup, mountinfo    */
    char list[24 * 1024];          /* a list of CPUs: every second of 8192 fits */
    char own[3][ODI_PATH_LIMIT];   /* our group in each hierarchy, "" is none   */
    odi_cgroup_mount mount;        /* of the hierarchy at hand                  */
    char path[2 * ODI_PATH_LIMIT]; /* our group's directory there               */
    char file[2 * ODI_PATH_LIMIT]; /* a file in it, or in one above it          */
} odi_limits_scratch;

/* Remembers what was odd; the first time also in words. printf-style, for paths that are
 * already fit to print. */
void odi_limits_note(odi_limits *limits, unsigned note, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Reads every visible group that holds us. Sets quota_us, period_us, quota_group and
 * cpuset_group of `limits`, adds notes, and fills `cpuset` with the CPUs that the cpuset
 * allows. False when no cpuset was found; `cpuset` is then empty. */
bool odi_cgroup_walk(const odi_source *source, odi_limits_scratch *scratch,
                     odi_limits *limits, odi_cpu_mask *cpuset);

#pragma GCC visibility pop

#endif
