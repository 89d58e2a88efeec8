/* source.h — where the facts about a machine are read from.
 *
 * Owns     nothing but two functions and a root: the live machine, a directory tree that looks
 *          like one, or whatever a test makes up.
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

/* Longest path, root included, that a source will open. */
enum { ODI_PATH_LIMIT = 4096 };

typedef struct odi_source odi_source;

struct odi_source {
    /* The file at `path` (absolute, as on the machine), which the caller closes. NULL with
     * errno: ENOENT or ENOTDIR where there is none. */
    FILE *(*open)(const odi_source *source, const char *path);

    /* The online CPUs that the process's affinity mask allows; 0 or an errno value. NULL when
     * only files can tell (topology/limits reads /proc/self/status then). */
    int (*affinity)(const odi_source *source, odi_cpu_mask *mask);

    int granted;         /* CPUs that a batch system gave this process, whatever its mask
                            says; 0: none did                                          */
    const char *root;    /* prefix of every path; "" for the live machine. Borrowed.   */
    const void *context; /* for sources that are not files. Borrowed.                  */
    bool        live;    /* describes the machine we run on: plans made from it may be
                            applied to threads                                         */
};

/* Reads a small file as a string, which is one whatever the status: 0, EFBIG when the file does
 * not fit, or the errno value of what failed. */
int odi_source_read(const odi_source *source, const char *path, char *text, size_t capacity);

/* Reads a list of CPUs or nodes: 0, EINVAL for what is no list, or as above. The set is empty
 * unless that is 0, and may be then. */
int odi_source_read_list(const odi_source *source, const char *path, odi_cpu_mask *mask);

/* This machine. Reads Slurm's variables (SLURM_CPUS_PER_TASK, else SLURM_CPUS_ON_NODE), so
 * nobody may change the environment meanwhile. */
odi_source odi_source_live(void);

/* A directory that holds /proc and /sys of some machine, as plain files. `root` is
 * borrowed and must outlive the source. */
odi_source odi_source_at(const char *root);

#pragma GCC visibility pop

#endif
