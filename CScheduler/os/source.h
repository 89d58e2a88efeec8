/* source.h — the source of facts about a machine: the live machine, a directory tree, or a test's data.
 *
 * Owns     only two functions and a root path.
 * Never    keeps a file open or traps.
 * Threads  a source is immutable; any number of threads may read through one.
 */
#ifndef ODI_OS_SOURCE_H
#define ODI_OS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "os/affinity.h"

#pragma GCC visibility push(hidden)

/* Longest path, with the root, that a source opens. */
enum { ODI_PATH_LIMIT = 4096 };

typedef struct odi_source odi_source;

struct odi_source {
    /* Opens the file at `path` (absolute, as on the machine); the caller closes it. Returns NULL with errno:
     * ENOENT or ENOTDIR if it does not exist. */
    FILE *(*open)(const odi_source *source, const char *path);

    /* Reads the online CPUs that the process's affinity mask allows; 0 or an errno value. NULL if only files
     * can tell; topology/limits then reads /proc/self/status. */
    int (*affinity)(const odi_source *source, odi_cpu_mask *mask);

    int granted;         /* number of CPUs that a batch system granted to this process, whatever its mask; 0:
                            none */
    const char *root;    /* prefix of every path; "" for the live machine. Borrowed.   */
    const void *context; /* for sources that are not files. Borrowed.                  */
    bool        live;    /* describes the machine of this process, so that plans may be applied to threads */
};

/* Reads a small file into `text`, which is always terminated. Returns 0, EFBIG if the file does not fit, or
 * the errno value of the failure. */
int odi_source_read(const odi_source *source, const char *path, char *text, size_t capacity);

/* Reads a list of CPUs or nodes. Returns 0, EINVAL for malformed text, or an error of odi_source_read. The
 * set is empty after an error, and may be empty after 0. */
int odi_source_read_list(const odi_source *source, const char *path, odi_cpu_mask *mask);

/* Returns the source of this machine. Reads Slurm's variables (SLURM_CPUS_PER_TASK, else SLURM_CPUS_ON_NODE),
 * so no other thread may change the environment during the call. */
odi_source odi_source_live(void);

/* Returns the source of a directory that holds some machine's /proc and /sys as plain files. `root` is
 * borrowed and must outlive the source. */
odi_source odi_source_at(const char *root);

#pragma GCC visibility pop

#endif
