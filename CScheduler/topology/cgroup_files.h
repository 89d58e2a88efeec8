/* cgroup_files.h — the small files that say which control group limits us, and how.
 *
 * Pure: text in, values out; never allocates, never trusts. The walk over groups is in
 * cgroup_walk.h.
 */
#ifndef ODI_TOPOLOGY_CGROUP_FILES_H
#define ODI_TOPOLOGY_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/text.h"

#pragma GCC visibility push(hidden)

/* CPU time per period, both in microseconds and positive. */
typedef struct odi_quota {
    int64_t quota_us;
    int64_t period_us;
} odi_quota;

typedef enum odi_quota_status {
    ODI_QUOTA_NONE,      /* says that there is no limit */
    ODI_QUOTA_SET,
    ODI_QUOTA_MALFORMED, /* makes no sense: zero, negative, cut off, or not numbers */
} odi_quota_status;

/* cgroup v2: "200000 100000", "max 100000", or a bare "max". */
odi_quota_status odi_quota_parse_max(const char *text, size_t length, odi_quota *quota);

/* cgroup v1: cpu.cfs_quota_us, where anything negative means none. Sets quota_us only. */
odi_quota_status odi_quota_parse_cfs(const char *text, size_t length, odi_quota *quota);

/* cgroup v1: cpu.cfs_period_us. Sets period_us only; never ODI_QUOTA_NONE. */
odi_quota_status odi_quota_parse_period(const char *text, size_t length, odi_quota *quota);

/* Whether `a` gives less CPU than `b`. Exact for every pair of quotas. */
bool odi_quota_is_tighter(odi_quota a, odi_quota b);

/* Our group in /proc/self/cgroup: of the v1 hierarchy with `controller`, or with NULL of
 * the v2 hierarchy. The path starts with '/' and points into the text; the kernel's remark
 * that the group was deleted is cut off. */
bool odi_cgroup_find(const char *text, size_t length, const char *controller,
                     odi_text *path);

#pragma GCC visibility pop

#endif
