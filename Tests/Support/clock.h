/* clock.h — waits of tests for a condition, with a limit that only a hang exceeds. */
#ifndef SUPPORT_CLOCK_H
#define SUPPORT_CLOCK_H

#include <sched.h>
#include <stdatomic.h>

#include "Support/check.h"
#include "os/clock.h"

#define MILLISECONDS(n) ((n) * ODI_MILLISECOND)
#define SECONDS(n) ((n) * ODI_SECOND)

/* Longer than any delay of a loaded machine. */
#define HANG_NS SECONDS(20)

/* Evaluates `condition` repeatedly until it holds. Returns false after HANG_NS. */
#define COMES_TRUE(condition)                                                             \
    __extension__({                                                                       \
        int64_t give_up_ = odi_clock_now() + HANG_NS;                                     \
        bool holds_;                                                                      \
        while (!(holds_ = (condition)) && odi_clock_now() < give_up_)                     \
            odi_clock_sleep(50 * ODI_MICROSECOND);                                        \
        holds_;                                                                           \
    })

#define assert_comes_true(condition) _assert_true(COMES_TRUE(condition), #condition, __FILE__, __LINE__)

/* For a loop that takes a lock repeatedly: lets other threads get the lock on a machine with busy CPUs. */
static inline void yield_now_and_then(int turn)
{
    if (turn % 64 == 0)
        sched_yield();
}

/* A door at which threads and jobs sleep until the main thread opens it. */
typedef struct {
    atomic_int waiting;
    atomic_bool open;
} gate;

static inline void gate_pass(gate *door)
{
    atomic_fetch_add(&door->waiting, 1);
    while (!atomic_load(&door->open))
        odi_clock_sleep(200 * ODI_MICROSECOND);
}

/* The door as a job. */
static inline void gate_job(void *door)
{
    gate_pass(door);
}

static inline void gate_open(gate *door)
{
    atomic_store(&door->open, true);
}

static inline void open_gates(gate *doors, int count)
{
    for (int each = 0; each < count; each++)
        gate_open(&doors[each]);
}

#endif
