/* strikes_resources.c — faults that take something away: threads, memory, descriptors,
 * files, system calls. */
#include "Faults/strikes.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- threads ---- */

enum { MOST_THREADS_REFUSED = 8 };

/* Each round of a run refuses another one, and each run begins elsewhere. */
static int turn(run *it, int step, int most)
{
    return 1 + (it->number + step * it->round) % most;
}

void thread_kth(run *it)
{
    injection_arm(&of_threads, turn(it, 1, MOST_THREADS_REFUSED), 0, 0);
}

void thread_from_kth(run *it)
{
    injection_arm(&of_threads, 0, turn(it, 1, MOST_THREADS_REFUSED), 0);
}

void thread_always(run *it)
{
    (void)it;
    injection_arm(&of_threads, 0, 1, 0);
}

void thread_at_random(run *it)
{
    injection_arm(&of_threads, 0, 0, 2 + it->round % 3);
}

void threads_again(run *it)
{
    atomic_fetch_add(&it->events, (unsigned long long)atomic_load(&of_threads.refused));
    injection_end(&of_threads);
}

void some_threads_refused(run *it)
{
    od_metrics metrics;

    od_pool_metrics(it->pool, &metrics);
    atomic_fetch_add(&it->events, metrics.thread_failures);
}

/* A user of its own, so that nobody else's threads count. */
void process_limit(run *it)
{
    struct rlimit limit = {(rlim_t)(HELPERS + 2 + it->number % 3),
                           (rlim_t)(HELPERS + 2 + it->number % 3)};
    uid_t user = 60000 + (uid_t)getpid() % 5000;

    if (geteuid() != 0)
        run_skips("RLIMIT_NPROC needs a user of its own, and so root");
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)
        run_skips("no change of user: %s", strerror(errno));
    if (setrlimit(RLIMIT_NPROC, &limit) != 0)
        run_skips("no RLIMIT_NPROC: %s", strerror(errno));
}

void pids_group(run *it)
{
    char text[16];

    cgroup_make("pids", getpid());
    snprintf(text, sizeof text, "%d", (int)getpid());
    cgroup_write("pids", getpid(), "cgroup.procs", text);
    snprintf(text, sizeof text, "%d", HELPERS + 1 + it->number % 3);
    cgroup_write("pids", getpid(), "pids.max", text);
}

/* ---- memory ---- */

enum { MEMORY_CALLS = 60 };

void memory_nth(run *it)
{
    injection_arm(&of_heap, turn(it, 13, MEMORY_CALLS), 0, 0);
    injection_arm(&of_maps, turn(it, 7, MEMORY_CALLS), 0, 0);
}

void memory_from_nth(run *it)
{
    injection_arm(&of_heap, 0, turn(it, 13, MEMORY_CALLS), 0);
    injection_arm(&of_maps, 0, turn(it, 17, MEMORY_CALLS), 0);
}

void memory_at_random(run *it)
{
    injection_arm(&of_heap, 0, 0, 2 + it->number % 7);
    injection_arm(&of_maps, 0, 0, 2 + it->number % 5);
}

void maps_always(run *it)
{
    (void)it;
    injection_arm(&of_maps, 0, 1, 0);
}

void heap_always(run *it)
{
    (void)it;
    injection_arm(&of_heap, 0, 1, 0);
}

/* Now there is memory, now there is none. */
void memory_windows(run *it)
{
    while (!atomic_load(&it->over)) {
        injection_arm(&of_heap, 0, 1, 0);
        injection_arm(&of_maps, 0, 1, 0);
        odi_clock_sleep(3 * ODI_MILLISECOND);
        memory_again(it);
        odi_clock_sleep(1 * ODI_MILLISECOND);
    }
}

/* Workers that leave hand their jobs over, which needs memory. */
void memory_and_resize(run *it)
{
    prng random = prng_for(it->seed, 77);

    memory_at_random(it);
    while (!atomic_load(&it->over)) {
        (void)od_pool_set_workers(it->pool, 1 + (int)prng_below(&random, 6));
        atomic_fetch_add(&it->events, 1);
        odi_clock_sleep(400 * ODI_MICROSECOND);
    }
}

void memory_again(run *it)
{
    atomic_fetch_add(&it->events, (unsigned long long)(atomic_load(&of_heap.refused) +
                                                       atomic_load(&of_maps.refused)));
    atomic_store(&of_heap.refused, 0);
    atomic_store(&of_maps.refused, 0);
    injection_end(&of_heap);
    injection_end(&of_maps);
}

/* Room for what there is and a little more: the default stacks of 256 MiB do not fit. */
void address_space(run *it)
{
    static const unsigned long more_mib[] = {200, 96, 48, 24};
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        run_skips("/proc/self/statm cannot be read");
    fclose(file);
    rlim_t bytes = pages * (unsigned long)sysconf(_SC_PAGESIZE) +
                   (more_mib[it->number % 4] << 20);
    struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        run_skips("no RLIMIT_AS: %s", strerror(errno));
}

/* ---- descriptors and files ---- */

void descriptors(run *it)
{
    struct rlimit limit = {8, 8};
    int opened = 0;

    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        run_skips("no RLIMIT_NOFILE: %s", strerror(errno));
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        opened++;
    run_expects(errno == EMFILE, "the descriptors did not run out: %s", strerror(errno));
    atomic_fetch_add(&it->events, (unsigned)opened);
}

void nothing_in_proc(int number, pid_t pid)
{
    (void)pid;
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        run_skips("no mount namespace: %s", strerror(errno));
    if (mount("none", "/sys", "tmpfs", 0, "size=64k") != 0)
        run_skips("nothing can be mounted over /sys: %s", strerror(errno));
    if (number % 3 != 2 && mount("none", "/proc", "tmpfs", 0, "size=64k") != 0)
        run_skips("nothing can be mounted over /proc: %s", strerror(errno));
}

/* ---- system calls ---- */

/* Before the program is loaded, because liburcu asks for it in its constructor. */
void no_membarrier(int number, pid_t pid)
{
    static const int calls[] = {SYS_membarrier};

    (void)pid;
    refuse_calls(calls, 1, number % 2 ? EPERM : ENOSYS);
}

void membarrier_gone(run *it)
{
    static const int calls[] = {SYS_membarrier};

    (void)it;
    refuse_calls(calls, 1, EPERM);
}

/* A machine of two nodes that claims to be this one, so that workers are pinned and memory is
 * bound: to a node and to CPUs that do not exist. */
void two_nodes(run *it)
{
    static const odi_cpu cpus[] = {
        {.id = 0, .node = 0, .core = 0, .package = 0, .l3 = -1},
        {.id = 1, .node = 0, .core = 1, .package = 0, .l3 = -1},
        {.id = 4000, .node = 1, .core = 2, .package = 1, .l3 = -1},
        {.id = 4001, .node = 1, .core = 3, .package = 1, .l3 = -1},
    };
    odi_topology_spec spec = {.cpu_count = 4, .cpus = cpus, .node_count = 2, .live = true,
                              .cpus_known = true};

    it->world.topology = odi_topology_build(&spec);
    it->options.placement = it->number % 2 ? OD_PLACEMENT_NODE : OD_PLACEMENT_CORE;
    it->options.workers = 4;
}

void no_affinity(run *it)
{
    static const int calls[] = {SYS_sched_setaffinity, SYS_sched_getaffinity};

    if (it->number % 2)
        two_nodes(it);
    refuse_calls(calls, it->number % 3 ? 1 : 2, EPERM);
    it->options.placement = OD_PLACEMENT_CORE;
}

void no_policy(run *it)
{
    static const int calls[] = {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_getcpu};

    two_nodes(it);
    refuse_calls(calls, 4, it->number % 2 ? EPERM : ENOSYS);
}
