/* thread.h — threads with a large, lazily touched stack, a name, and blocked signals.
 *
 * Owns creation and the stack's guard. Never knows what code runs on them.
 */
#ifndef ODI_OS_THREAD_H
#define ODI_OS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The guard is wider than a page, because a large frame could step over one page. Users cannot request less
 * than ODI_STACK_MINIMUM, and halving stops at ODI_STACK_HALVED. When memory is that short, a submitter that
 * waits for room runs nested jobs, for which 64 KiB were too few. */
enum {
    ODI_STACK_MINIMUM = 64 * 1024,
    ODI_STACK_HALVED = 1024 * 1024,
    ODI_STACK_GUARD = 64 * 1024,
    ODI_STACK_DEFAULT = 256 * 1024 * 1024,
    ODI_STACK_LOCKED = 8 * 1024 * 1024 /* instead of the default under mlockall(MCL_FUTURE) */
};

/* Starts a detached thread. All asynchronous signals are blocked, so that the process's handlers run on the
 * process's own threads. SIGPIPE is blocked only if the main thread blocks it. The thread has the process's
 * CPU mask, nice value and policy (os/process.h). `name` (cut to 15 bytes) is for debuggers. The stack has at
 * least the system's minimum (arm64: 128 KiB). If `stack_bytes` of address space are not available, half is
 * tried, down to ODI_STACK_HALVED. Returns 0 or an errno value. */
int odi_thread_start(void (*body)(void *), void *argument, size_t stack_bytes,
                     const char *name);

/* As odi_thread_start, by a thread of a controlled run (os/control.h), to which the new thread then belongs. A thread
 * that odi_thread_start starts belongs to no run. */
int odi_thread_start_inside(void (*body)(void *), void *argument, size_t stack_bytes, const char *name);

/* As odi_thread_start, for a thread of a controlled run. NULL: of no run. */
struct odi_baton;
int odi_thread_start_as(struct odi_baton *baton, void (*body)(void *), void *argument, size_t stack_bytes,
                        const char *name);

/* Returns the used part of the calling thread's stack, with its control block and thread-locals if they lie
 * on it. NULL and 0 if the stack's end is unknown. */
void *odi_thread_stack_in_use(size_t *bytes);

/* Returns the kernel's number of the calling thread. */
int odi_thread_id(void);

/* Returns a clock for odi_clock_cpu that measures the calling thread's CPU time, or -1. */
int odi_thread_cpu_clock(void);

/* Whether thread `id` of this process sleeps in the kernel: 1 yes, 0 no, -1 unknown (no file descriptor, no
 * /proc). Reads one small file and keeps nothing open. */
int odi_thread_sleeps(int id);

/* Lets another thread run. */
void odi_thread_yield(void);

/* Gives the calling thread about a third of another thread's share of a busy CPU, for work that may lag. */
void odi_thread_stand_back(void);

/* Takes the lock if it becomes free within about a second. A signal handler may call it. */
bool odi_thread_lock_in_time(pthread_mutex_t *lock);

/* Yields between two checks for another thread that needs a few more steps. From a certain `round` on the
 * caller sleeps briefly. A yield does not let threads of lower priority run, and the awaited thread may be
 * one of them. */
void odi_thread_give_way(int round);

#pragma GCC visibility pop

#endif
