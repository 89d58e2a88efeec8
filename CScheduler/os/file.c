#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int odi_file_create(const char *path, int *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    *error = file < 0 ? errno : 0;
    return file;
}

int odi_file_write(int file, const void *bytes, size_t count)
{
    const char *next = bytes;

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
