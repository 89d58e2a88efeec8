/* file_reading.h — one system call that the C library hides behind _GNU_SOURCE. */
#ifndef OVERDRIVE_FILE_READING_H
#define OVERDRIVE_FILE_READING_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
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

#endif
