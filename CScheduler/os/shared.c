#include "os/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

static int new_file(const char *name)
{
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    return file >= 0 || errno != EINVAL ? file : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); /* before Linux 6.3 */
}

static void *make(const char *name, size_t bytes, int last_seals, int *file, int *error)
{
    *file = new_file(name);
    if (*file < 0) {
        *error = errno;
        return NULL;
    }
    void *memory = MAP_FAILED;
    if (ftruncate(*file, (off_t)bytes) == 0 && fcntl(*file, F_ADD_SEALS, SIZE_SEALS) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    *error = errno;
    if (memory == MAP_FAILED) {
        (void)close(*file);
        return NULL;
    }
    (void)fcntl(*file, F_ADD_SEALS, last_seals);
    return memory;
}

void *odi_shared_new(const char *name, size_t bytes, int *file, int *error)
{
    return make(name, bytes, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL, file, error); /* since Linux 5.1 */
}

void *odi_shared_new_for_all(const char *name, size_t bytes, int *file, int *error)
{
    return make(name, bytes, F_SEAL_SEAL, file, error);
}

void odi_shared_free(void *memory, size_t bytes, int file)
{
    (void)munmap(memory, bytes);
    (void)close(file);
}

/* A file of the process that has the name, or -1 with errno. */
static int find(int process, DIR *folder, const char *name, int flags)
{
    char path[320], target[64], wanted[48];
    int length = snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", process, entry->d_name);
        ssize_t read = readlink(path, target, sizeof target);

        if (read == length && memcmp(target, wanted, (size_t)length) == 0)
            return open(path, flags | O_CLOEXEC);
    }
    errno = ENOENT;
    return -1;
}

/* Opens and maps it. *file stays open. */
static void *open_shared(int process, const char *name, size_t bytes, bool writes, int *opened, int *error)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        *error = errno == ENOENT ? ESRCH : errno;
        return NULL;
    }
    int file = find(process, folder, name, writes ? O_RDWR : O_RDONLY);
    *error = errno;
    (void)closedir(folder);
    if (file < 0)
        return NULL;
    void *memory = MAP_FAILED;
    *error = ENOENT; /* something else of that name. Without the seals, a read could fault. */
    if ((fcntl(file, F_GET_SEALS) & SIZE_SEALS) == SIZE_SEALS && fstat(file, &status) == 0 && status.st_size >= (off_t)bytes) {
        memory = mmap(NULL, bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
        *error = errno;
    }
    *opened = file;
    if (memory == MAP_FAILED)
        (void)close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

const void *odi_shared_open(int process, const char *name, size_t bytes, int *error)
{
    int file;
    const void *memory = open_shared(process, name, bytes, false, &file, error);

    if (memory != NULL)
        (void)close(file);
    return memory;
}

void *odi_shared_open_for_writing(int process, const char *name, size_t bytes, int *file, int *error)
{
    return open_shared(process, name, bytes, true, file, error);
}

bool odi_shared_hold(int file)
{
    return flock(file, LOCK_EX | LOCK_NB) == 0;
}

bool odi_shared_is_held(int file)
{
    if (flock(file, LOCK_SH | LOCK_NB) != 0)
        return true;
    (void)flock(file, LOCK_UN);
    return false;
}

void odi_shared_close(const void *memory, size_t bytes)
{
    (void)munmap((void *)(uintptr_t)memory, bytes);
}

uint64_t odi_shared_started(int process)
{
    char path[64], text[512];

    snprintf(path, sizeof path, "/proc/%d/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        (void)close(file);
    if (count <= 0)
        return 0;
    text[count] = '\0';
    const char *at = strrchr(text, ')'); /* a name may have any character */
    unsigned long long started = 0;
    char state = 'X';
    if (at == NULL || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &started) != 2)
        return 0;
    return state == 'X' || state == 'Z' ? 0 : started;
}
