#include "Random/lanes.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct lane {
    pid_t process; /* 0: it has ended */
    verdict end;   /* of the task it did last */
    shared shared;
} lane;

/* Every so-manieth seed, beginning with its own. */
_Noreturn static void be_a_lane(lane *it, uint64_t own, int lanes, int64_t cpu_ns, void (*run)(const program *))
{
    task next = {.first = own, .step = (uint64_t)lanes, .count = 2000, .times = 1, .run = run};

    random_shared = &it->shared;
    while (it->end.outcome != FOUND && (next.cpu_ns = cpu_ns - watched_cpu_ns()) > 0) {
        it->end = watch(&next);
        next.first = it->end.seed + next.step;
    }
    _exit(0);
}

static void add_up(const shared *of)
{
    atomic_fetch_add(&random_shared->programs, atomic_load(&of->programs));
    atomic_fetch_add(&random_shared->closures, atomic_load(&of->closures));
    atomic_fetch_add(&random_shared->still, atomic_load(&of->still));
    for (int i = 0; i < FEATURES; i++) {
        for (int j = 0; j <= i; j++)
            atomic_fetch_add(&random_shared->met[i][j], atomic_load(&of->met[i][j]));
    }
}

/* The end of a lane whose process is no more. */
static verdict end_of(const lane *it, int status)
{
    verdict end = it->end;

    if (status != 0) {
        end = (verdict){.outcome = FOUND, .seed = atomic_load(&it->shared.seed)};
        snprintf(end.why, sizeof end.why, "the process that watches it ends with %#x", (unsigned)status);
    }
    return end;
}

verdict run_lanes(uint64_t first, int lanes, int64_t cpu_ns, void (*run)(const program *))
{
    size_t bytes = (size_t)lanes * sizeof(lane);
    lane *all = share_memory(bytes);
    verdict found = {.outcome = CLEAN};
    int status;

    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what a killed lane was watching is waited for too */
    fflush(NULL);
    for (int i = 0; i < lanes; i++) {
        pid_t process = fork_tied();
        if (process == 0)
            be_a_lane(&all[i], first + (uint64_t)i, lanes, cpu_ns / lanes, run);
        all[i].process = process;
    }
    for (pid_t ended; (ended = waitpid(-1, &status, 0)) > 0 || errno == EINTR;) {
        for (int i = 0; i < lanes; i++) {
            if (all[i].process != ended)
                continue;
            all[i].process = 0;
            if (found.outcome != FOUND)
                found = end_of(&all[i], status);
        }
        for (int i = 0; i < lanes && found.outcome == FOUND; i++) {
            if (all[i].process > 0)
                kill(all[i].process, SIGKILL);
        }
    }
    for (int i = 0; i < lanes; i++)
        add_up(&all[i].shared);
    munmap(all, bytes);
    return found;
}
