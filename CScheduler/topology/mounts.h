/* mounts.h — where the control groups are mounted, from /proc/self/mountinfo.
 *
 * Pure: text in, one mount out; never allocates. Understands octal escapes, bind mounts of
 * a part of a hierarchy (containers), and roots above a cgroup namespace ("/..").
 */
#ifndef ODI_TOPOLOGY_MOUNTS_H
#define ODI_TOPOLOGY_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "os/source.h"
#include "topology/text.h"

#pragma GCC visibility push(hidden)

typedef struct odi_cgroup_mount {
    char point[ODI_PATH_LIMIT]; /* directory, no slash at its end ("" is "/")            */
    char root[ODI_PATH_LIMIT];  /* group that is visible there, as /proc/self/cgroup would
                                   name it, no slash at its end ("" is the top)           */
    bool above;                 /* our group is `root` or below it                       */
} odi_cgroup_mount;

/* Finds the mount through which most of `group` (from odi_cgroup_find) and its ancestors
 * can be seen: of the v1 hierarchy with `controller`, or with NULL of the v2 hierarchy.
 * With no mount above the group, one that is not is returned and `above` is false. */
bool odi_cgroup_mount_find(const char *text, size_t length, const char *controller,
                           odi_text group, odi_cgroup_mount *mount);

/* The part of `group` below `root`: "" or "/a/b". False when the group is not there, or
 * would be reached through "..". */
bool odi_cgroup_below(odi_text group, const char *root, odi_text *rest);

#pragma GCC visibility pop

#endif
