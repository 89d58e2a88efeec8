/* thread.h — threads with a large lazily-touched stack, a name, and no signals.
 *
 * Owns     creation and the stack's guard. Never knows what runs on them.
 */
#ifndef ODI_OS_THREAD_H
#define ODI_OS_THREAD_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The guard is wider than a page, because large frames step over a page. Less than the minimum
 * nobody may ask for, and halving ends before: where memory is as short as that, who waits for room
 * in a line runs its own jobs on top of each other, and 64 KiB were too few for that. */
enum {
    ODI_STACK_MINIMUM = 64 * 1024,
    ODI_STACK_HALVED = 1024 * 1024,
    ODI_STACK_GUARD = 64 * 1024
};

/* Starts a detached thread with every asynchronous signal but SIGPIPE blocked, so that the process's
 * handlers run on the process's own threads. SIGPIPE is blocked if the main thread blocks it. The thread
 * has the process's CPU mask, nice value and policy (os/process.h). `name` (at most 15 bytes are kept) is for
 * debuggers. A stack has the system's own minimum at least (arm64: 128 KiB). When `stack_bytes`
 * of address space cannot be had, half is tried, down to ODI_STACK_HALVED. Returns 0 or an errno
 * value. */
int odi_thread_start(void (*body)(void *), void *argument, size_t stack_bytes,
                     const char *name);

/* The part of the calling thread's stack that is in use, its control block and thread-locals
 * included where they lie on it. Null and 0 when the stack's end is unknown. */
void *odi_thread_stack_in_use(size_t *bytes);

/* The kernel's number of the calling thread. */
int odi_thread_id(void);

/* A clock for odi_clock_cpu that runs with the calling thread's CPU time; -1 if none. */
int odi_thread_cpu_clock(void);

/* Whether thread `id` of this process sleeps in the kernel: 1 yes, 0 no, -1 unknown (no
 * descriptor to be had, no /proc). Reads one small file; keeps nothing open. */
int odi_thread_sleeps(int id);

/* Lets another thread run. */
void odi_thread_yield(void);

/* The same between two looks at what another thread is a few steps from doing: from a certain
 * `round` on the caller sleeps for a moment, because a yield lets nobody of lower priority run,
 * and it may be one of these that is waited for. */
void odi_thread_give_way(int round);

#pragma GCC visibility pop

#endif
