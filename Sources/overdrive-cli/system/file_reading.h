/* file_reading.h — system calls that the C library hides behind _GNU_SOURCE, or that take any number of arguments. */
#ifndef OVERDRIVE_FILE_READING_H
#define OVERDRIVE_FILE_READING_H

#include <signal.h>
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
