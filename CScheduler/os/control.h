/* control.h — controlled runs: the threads of a run hold a baton, one at a time.
 *
 * A thread of a run gives the baton away only here: at scheduling points, when it waits, and when it ends. The files
 * beside this one call these functions instead of the kernel. The run's clock stands still while a thread is ready,
 * and then jumps to the next deadline.
 *
 *     READY    may have the baton; the policy, or a forced choice, says who of them has it
 *     WAITING  for a wake-up of its word, or for its deadline
 *     ENDED    never again
 *
 * A wait ends by a wake-up from a thread of the run or outside it, or by its deadline. The wait for the baton ends when
 * another thread hands it over. In a run that has failed for good, no wait ends.
 *
 * Owns     the run in progress, of which there is at most one in the process.
 * Never    knows jobs, or queues beyond their labels.
 * Threads  the functions with `odi_control_here` in their comment: a thread of the run, which holds the baton.
 */
#ifndef ODI_OS_CONTROL_H
#define ODI_OS_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/trace_flag.h"
#include "include/od_control.h"

#pragma GCC visibility push(hidden)

typedef struct odi_baton odi_baton;

/* The calling thread's place in a run. NULL: it is outside. */
extern _Thread_local odi_baton *odi_control_here __attribute__((tls_model("initial-exec")));

#ifdef ODI_MODEL
#define odi_is_controlled() false /* the model checker has schedules of its own */
#define odi_control_run_here() UINT64_C(0)
#define odi_control_run_now() UINT64_C(0)
#define odi_control_step_out() NULL
#define odi_control_step_in(mine) ((void)(mine))
#define odi_control_note_wait(what, queue) ((void)(what), (void)(queue))
#else
/* Whether the calling thread belongs to a run. */
static inline bool odi_is_controlled(void)
{
    return odi_traces() && odi_control_here != NULL;
}

/* Takes the calling thread out of the run, and back in. The run stands still in between. */
static inline odi_baton *odi_control_step_out(void)
{
    odi_baton *mine = odi_control_here;

    odi_control_here = NULL;
    return mine;
}

static inline void odi_control_step_in(odi_baton *mine)
{
    odi_control_here = mine;
}

/* Says what the calling thread waits for, for the account of a deadlock; NULL: nothing. */
void odi_control_note_wait(const char *what, const void *queue);

/* Returns the number of the calling thread's run; 0: outside. The process's first run has number 1. */
uint64_t odi_control_run_here(void);

/* Returns the number of the run in progress; 0: none. */
uint64_t odi_control_run_now(void);
#endif

/* A scheduling point. `queue` may be NULL. Does nothing outside a run. */
void odi_control_step(od_control_kind kind, const void *queue);

/* Notes a submission by a thread outside the run to a queue of the run. */
void odi_control_note_outside(const void *queue);

/* As odi_futex_wait_as, for odi_control_here. */
int odi_control_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns, uint32_t names);

/* Readies up to `count` waiters of the run. Any thread; returns their number. */
int odi_control_futex_wake(odi_atomic(uint32_t) *word, int count, uint32_t names);

/* For odi_control_here. */
int64_t odi_control_now(void);
void odi_control_sleep(int64_t ns);

/* Whether the thread with this kernel number waits. For odi_control_here. */
bool odi_control_sleeps(int thread);

/* Announces a thread that odi_control_here is about to create. NULL: outside a run. */
odi_baton *odi_control_thread_new(const char *name);
void odi_control_thread_failed(odi_baton *baton);

/* On the new thread: waits for the baton; and gives it up for good. */
void odi_control_thread_begin(odi_baton *baton);
void odi_control_thread_end(void);

#pragma GCC visibility pop

#endif
