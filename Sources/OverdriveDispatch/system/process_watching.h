/* process_watching.h — a descriptor of a process, which the C library's module does not offer to Swift. */
#ifndef PROCESS_WATCHING_H
#define PROCESS_WATCHING_H

#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor that can be read once the process has ended; -1 when there is no such process. */
static inline int od_process_open(int process) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, process, 0);
#else
    (void)process;
    return -1;
#endif
}

#endif
