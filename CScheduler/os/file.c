#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int odi_file_create(const char *path, int *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    *error = file < 0 ? errno : 0;
    return file;
}

/* Whether the process may not write so many bytes more. A write beyond RLIMIT_FSIZE would raise SIGXFSZ, which ends it. */
static bool exceeds_limit(int file, size_t count)
{
    struct rlimit most;
    off_t end = lseek(file, 0, SEEK_CUR);

    return end >= 0 && getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
           (rlim_t)end + count > most.rlim_cur;
}

int odi_file_write(int file, const void *bytes, size_t count)
{
    const char *next = bytes;

    if (exceeds_limit(file, count))
        return EFBIG;
    while (count > 0) {
        ssize_t written = write(file, next, count);

        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            next += written;
            count -= (size_t)written;
        }
    }
    return 0;
}

void odi_file_close(int file)
{
    (void)close(file);
}

void odi_file_remove(const char *path)
{
    (void)unlink(path);
}

void *odi_file_map(const char *path, size_t *bytes, int *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *start = MAP_FAILED;

    if (file < 0 || fstat(file, &status) != 0) {
        *error = errno;
    } else if (S_ISDIR(status.st_mode)) {
        *error = EISDIR;
    } else if (status.st_size == 0) {
        *error = 0;
    } else {
        *bytes = (size_t)status.st_size;
        start = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        *error = start == MAP_FAILED ? errno : 0;
    }
    if (file >= 0)
        (void)close(file);
    return start != MAP_FAILED ? start : NULL;
}

void odi_file_unmap(void *start, size_t bytes)
{
    (void)munmap(start, bytes);
}

int odi_file_folder(const char *path, char *absolute, size_t capacity)
{
    char found[PATH_MAX];
    struct stat status;

    if (realpath(path, found) == NULL || stat(found, &status) != 0)
        return errno;
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    if (access(found, W_OK | X_OK) != 0)
        return errno;
    return (size_t)snprintf(absolute, capacity, "%s", found) < capacity ? 0 : ENAMETOOLONG;
}
