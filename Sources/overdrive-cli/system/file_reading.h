/* file_reading.h — system calls that the C library hides behind _GNU_SOURCE, or that take any number of arguments. */
#ifndef OVERDRIVE_FILE_READING_H
#define OVERDRIVE_FILE_READING_H

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads on from the file's position what the page cache already holds, and never waits for a
 * disk: -1 with EAGAIN says that the next byte would have to be waited for, -1 with EOPNOTSUPP
 * or ENOSYS that this file or kernel cannot tell. */
static inline ssize_t read_without_waiting(int descriptor, void *bytes, size_t count)
{
    enum { from_position = -1, no_wait = 0x8 /* RWF_NOWAIT */ };
    struct iovec place = {bytes, count};

    return syscall(SYS_preadv2, descriptor, &place, 1L, (long)from_position, 0L, no_wait);
}

/* A file in memory, without a name: -1 and errno where there can be none. */
static inline int memory_file(const char *name)
{
    enum { close_on_exec = 1 /* MFD_CLOEXEC */ };

    return (int)syscall(SYS_memfd_create, name, close_on_exec);
}

/* A new file without a name in the directory: -1 and errno where the file system has none. */
static inline int nameless_file(const char *directory)
{
    enum { nameless = 020000000 | O_DIRECTORY /* O_TMPFILE */ };

    return (int)syscall(SYS_openat, AT_FDCWD, directory, O_WRONLY | O_CLOEXEC | nameless, 0666);
}

/* Has all threads allocate from one heap, which is grown now by `count` pieces of `piece` bytes and never shrinks.
 * Under a limit of the address space, threads and their arenas would otherwise leave nothing for small allocations.
 * 0, or -1 where the address space has no such room. */
static inline int grow_heap(int count, int piece)
{
    enum { most_pieces = 64 };
    void *pieces[most_pieces];
    int made = 0;

    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 2 * piece);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    while (made < count && made < most_pieces && (pieces[made] = malloc((size_t)piece)) != NULL)
        made++;
    for (int index = 0; index < made; index++)
        free(pieces[index]);
    return made == count ? 0 : -1;
}

/* A descriptor that is ready to be read when the process has ended: -1 where the kernel has none. */
static inline int open_process(pid_t process)
{
    return (int)syscall(SYS_pidfd_open, process, 0);
}

/* Whether a child has ended, which is not reaped by that: its number stays its own. -1 where there is no such child. */
static inline int has_ended(pid_t process)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid == process : -1;
}

#endif
