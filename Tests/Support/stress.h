/* stress.h — common parts of the stress programs: a seed, a scale, and a process per scenario. A ledger
 * proves that each job ran exactly once.
 *
 * STRESS_SEED   repeats a run's choices (the machine's timing still varies)
 * STRESS_SCALE  multiplies the amount of work; 1 fits into every test run
 * STRESS_ONLY   runs the scenarios whose name contains this text
 *
 * A scenario runs in a child of a process that never had a pool. Each scenario therefore starts with a fresh
 * engine, and a hang or crash affects only its own scenario.
 */
#ifndef SUPPORT_STRESS_H
#define SUPPORT_STRESS_H

#include <stdatomic.h>
#include <time.h>

#include "Support/clock.h"
#include "Support/process.h"
#include "Support/prng.h"
#include "Support/threads.h"

static uint64_t stress_seed;
static double stress_scale;

static inline void stress_begin(void)
{
    const char *seed = getenv("STRESS_SEED"), *scale = getenv("STRESS_SCALE");

    stress_seed = seed != NULL ? strtoull(seed, NULL, 0)
                               : odi_rng_seed((uint64_t)odi_clock_now() ^ (uint64_t)getpid());
    stress_scale = scale != NULL ? strtod(scale, NULL) : 1.0;
    if (stress_scale <= 0)
        stress_scale = 1.0;
    print_message("seed 0x%llx, scale %g\n", (unsigned long long)stress_seed, stress_scale);
}

#define STRESS_PROGRAM                                                                    \
    int main(int count, char **names)                                                     \
    {                                                                                     \
        stress_begin();                                                                   \
        return run_listed(__FILE__, count, names);                                        \
    }

/* Returns the random choices of the calling thread; each thread, workers included, has separate ones. */
static inline prng *mine(void)
{
    static _Thread_local prng choices;
    static atomic_uint threads;

    if (choices.state == 0)
        choices = prng_for(stress_seed, 1000 + atomic_fetch_add(&threads, 1));
    return &choices;
}

/* Returns a count that is scaled, and smaller under a sanitizer. */
static inline uint32_t stress_count(uint32_t plain, uint32_t sanitized)
{
    double count = stress_scale * (SANITIZED ? sanitized : plain);

    return count < 1 ? 1 : (uint32_t)count;
}

/* Runs body(argument) in a child. A failure prints how to repeat it. */
static inline void stress_run(const char *program, const char *name, void (*body)(void *),
                              void *argument)
{
    const char *only = getenv("STRESS_ONLY");
    unsigned limit = 100 + (unsigned)(60 * stress_scale);

    if (only != NULL && strstr(name, only) == NULL)
        return;
    int64_t began = odi_clock_now();
    outcome it = in_a_child(body, argument, limit);
    print_message("%-34s %5.1f s\n", name, (double)(odi_clock_now() - began) / 1e9);
    if (it.status == 0)
        return;
    if (WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGALRM)
        print_error("%s: no end after %u s\n", name, limit);
    print_error("%s: status 0x%x\n%s\nto repeat: STRESS_SEED=0x%llx STRESS_SCALE=%g "
                "STRESS_ONLY='%s' .build/c/FLAVOUR/bin/Stress/%s\n",
                name, (unsigned)it.status, it.said, (unsigned long long)stress_seed,
                stress_scale, name, program);
    fail();
}

/* ---- the ledger: one byte per job ---- */

typedef struct {
    atomic_uchar *times; /* number of times that each job ran */
    uint32_t room;
    atomic_uint issued;
    atomic_ullong ran;
} ledger;

static inline void ledger_open(ledger *it, uint32_t room)
{
    *it = (ledger){.times = calloc(room, 1), .room = room};
    child_expects(it->times != NULL);
}

/* Issues the number of a job that will be submitted. Returns false if the ledger is full. */
static inline bool ledger_issue(ledger *it, uint32_t *number)
{
    if (atomic_load_explicit(&it->issued, memory_order_relaxed) >= it->room)
        return false;
    *number = atomic_fetch_add_explicit(&it->issued, 1, memory_order_relaxed);
    if (*number < it->room)
        return true;
    atomic_fetch_sub_explicit(&it->issued, 1, memory_order_relaxed);
    return false;
}

static inline void ledger_run(ledger *it, uint32_t number)
{
    atomic_fetch_add_explicit(&it->times[number], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&it->ran, 1, memory_order_release);
}

/* Returns the number of jobs that never ran. Ends the child if a job ran twice. */
static inline uint64_t ledger_close(ledger *it)
{
    uint32_t issued = atomic_load(&it->issued);
    uint64_t never = 0;

    for (uint32_t i = 0; i < issued; i++) {
        unsigned times = atomic_load(&it->times[i]);

        if (times > 1)
            dprintf(STDERR_FILENO, "job %u of %u ran %u times\n", i, issued, times);
        child_expects(times <= 1);
        never += times == 0;
    }
    free(it->times);
    return never;
}

/* Restricts the calling thread, and threads that it starts, to one CPU. */
static inline void keep_to_one_cpu(void)
{
    cpu_set_t all, one;

    CPU_ZERO(&one);
    child_expects(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    child_expects(sched_setaffinity(0, sizeof one, &one) == 0);
}

#endif
