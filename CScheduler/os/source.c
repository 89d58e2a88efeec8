#include "os/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static odi_read_status status_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return ODI_READ_ABSENT;
    case EACCES:
    case EPERM:
        return ODI_READ_DENIED;
    default:
        return ODI_READ_FAILED;
    }
}

/* Puts the root in front. Returns `path` itself when there is none, NULL when the whole is
 * too long. */
static const char *full_path(const odi_source *source, const char *path, char *buffer)
{
    size_t root = strlen(source->root);
    size_t rest = strlen(path);

    if (root == 0)
        return path;
    if (root + rest >= ODI_PATH_LIMIT)
        return NULL;
    memcpy(buffer, source->root, root);
    memcpy(buffer + root, path, rest + 1);
    return buffer;
}

/* Fills the buffer, however small the pieces are that the kernel hands out. */
static odi_read_status fill(int file, char *buffer, size_t capacity, size_t *length)
{
    while (*length < capacity) {
        ssize_t got = read(file, buffer + *length, capacity - *length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return status_of(errno);
        if (got == 0)
            return ODI_READ_OK;
        *length += (size_t)got;
    }

    /* Exactly full: is there more? */
    char extra;
    ssize_t got;
    do
        got = read(file, &extra, 1);
    while (got < 0 && errno == EINTR);
    return got == 0 ? ODI_READ_OK : ODI_READ_TRUNCATED;
}

static odi_read_status read_file(const odi_source *source, const char *path, char *buffer,
                                 size_t capacity, size_t *length)
{
    char joined[ODI_PATH_LIMIT];
    const char *full = full_path(source, path, joined);

    *length = 0;
    if (full == NULL)
        return ODI_READ_ABSENT;

    /* O_NONBLOCK: a tree that someone else made may hold a pipe with no writer. */
    int file = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return status_of(errno);

    odi_read_status status = fill(file, buffer, capacity, length);
    close(file);
    return status;
}

static odi_read_status list_directory(const odi_source *source, const char *path,
                                      odi_source_visit visit, void *context)
{
    char joined[ODI_PATH_LIMIT];
    const char *full = full_path(source, path, joined);

    if (full == NULL)
        return ODI_READ_ABSENT;

    DIR *directory = opendir(full);
    if (directory == NULL)
        return status_of(errno);

    const struct dirent *entry;
    bool more = true;
    errno = 0;
    while (more && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = visit(context, entry->d_name);
        errno = 0;
    }
    odi_read_status status = errno == 0 ? ODI_READ_OK : status_of(errno);
    closedir(directory);
    return status;
}

static odi_read_status ask_affinity(const odi_source *source, odi_cpu_mask *mask)
{
    (void)source;

    int error = odi_affinity_get(ODI_AFFINITY_PROCESS, mask);
    if (error == ERANGE)
        return ODI_READ_TRUNCATED;
    return error == 0 ? ODI_READ_OK : status_of(error);
}

/* Slurm binds a job to its CPUs only where the site has set that up; it always says how many. */
static int granted_by_slurm(void)
{
    static const char *const names[] = {"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"};

    if (secure_getenv("SLURM_JOB_ID") == NULL)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = secure_getenv(names[i]);
        char *end;

        if (text == NULL || *text < '0' || *text > '9')
            continue;
        long count = strtol(text, &end, 10);
        if (*end == '\0' && count >= 1 && count <= INT_MAX)
            return (int)count;
    }
    return 0;
}

odi_source odi_source_live(void)
{
    odi_source source = {
        .granted = granted_by_slurm(),
        .read = read_file, .list = list_directory, .affinity = ask_affinity,
        .root = "",        .context = NULL,        .live = true,
    };
    return source;
}

odi_source odi_source_at(const char *root)
{
    odi_source source = {
        .read = read_file, .list = list_directory, .affinity = NULL,
        .root = root,      .context = NULL,        .live = false,
    };
    return source;
}
