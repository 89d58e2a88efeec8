/* source.h — where the facts about a machine are read from.
 *
 * Owns     nothing but three functions and a root: the live machine, a directory tree that
 *          looks like one, or whatever a test makes up.
 * Never    keeps a file open, allocates, or traps: each call is open, read, close, and
 *          the answer is a status.
 * Threads  a source is immutable; any number of threads may read through one.
 */
#ifndef ODI_OS_SOURCE_H
#define ODI_OS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "os/affinity.h"

#pragma GCC visibility push(hidden)

/* Longest path, root included, that a source will open. */
enum { ODI_PATH_LIMIT = 4096 };

typedef enum odi_read_status {
    ODI_READ_OK,
    ODI_READ_TRUNCATED, /* the buffer is full and the file went on */
    ODI_READ_ABSENT,    /* no such file, or a path that no file can have */
    ODI_READ_DENIED,    /* it exists, but not for us */
    ODI_READ_FAILED,    /* no descriptors left, an I/O error, a directory ... */
} odi_read_status;

typedef struct odi_source odi_source;

/* Called with each name of a directory, "." and ".." left out. False ends the listing. */
typedef bool (*odi_source_visit)(void *context, const char *name);

struct odi_source {
    /* Reads at most `capacity` bytes of the file at `path` (absolute, as on the machine).
     * `*length` is what was read whatever the status; nothing is added behind it. */
    odi_read_status (*read)(const odi_source *source, const char *path, char *buffer,
                            size_t capacity, size_t *length);

    /* Visits the names in the directory at `path`, in no order. */
    odi_read_status (*list)(const odi_source *source, const char *path,
                            odi_source_visit visit, void *context);

    /* The online CPUs that the process's affinity mask allows; ODI_READ_TRUNCATED when some
     * ids are too high for a mask. NULL when only files can tell (topology/limits reads
     * /proc/self/status then). */
    odi_read_status (*affinity)(const odi_source *source, odi_cpu_mask *mask);

    int granted;         /* CPUs that a batch system gave this process, whatever its mask
                            says; 0: none did                                          */
    const char *root;    /* prefix of every path; "" for the live machine. Borrowed.   */
    const void *context; /* for sources that are not files. Borrowed.                  */
    bool        live;    /* describes the machine we run on: libnuma may be asked too,
                            and plans made from it may be applied to threads.          */
};

/* This machine. Reads Slurm's variables (SLURM_CPUS_PER_TASK, else SLURM_CPUS_ON_NODE), so
 * nobody may change the environment meanwhile. */
odi_source odi_source_live(void);

/* A directory that holds /proc and /sys of some machine, as plain files. `root` is
 * borrowed and must outlive the source. */
odi_source odi_source_at(const char *root);

#pragma GCC visibility pop

#endif
