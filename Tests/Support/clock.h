/* clock.h — waiting in tests: for a condition, with a limit so generous that only a hang
 * exceeds it. */
#ifndef SUPPORT_CLOCK_H
#define SUPPORT_CLOCK_H

#include <sched.h>
#include <stdatomic.h>

#include "Support/check.h"
#include "os/clock.h"

#define MILLISECONDS(n) ((n) * ODI_MILLISECOND)
#define SECONDS(n) ((n) * ODI_SECOND)

/* Longer than any machine is busy with something else. */
#define HANG_NS SECONDS(20)

/* Evaluates `condition` again and again until it holds. False: HANG_NS have passed. */
#define COMES_TRUE(condition)                                                             \
    __extension__({                                                                       \
        int64_t give_up_ = odi_clock_now() + HANG_NS;                                     \
        bool holds_;                                                                      \
        while (!(holds_ = (condition)) && odi_clock_now() < give_up_)                     \
            odi_clock_sleep(50 * ODI_MICROSECOND);                                        \
        holds_;                                                                           \
    })

#define assert_comes_true(condition) _assert_true(COMES_TRUE(condition), #condition, __FILE__, __LINE__)

/* In a loop that takes a lock again and again: whoever waits for it has its permit, on a machine whose CPUs
 * are busy with something else too. */
static inline void yield_now_and_then(int turn)
{
    if (turn % 64 == 0)
        sched_yield();
}

/* A door that threads and jobs wait at, asleep, until the main thread opens it. */
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

/* As a job. */
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
