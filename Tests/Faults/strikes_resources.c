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

/* A thread is tried with smaller and smaller stacks, and missed once. */
static od_metrics expect_missed(run *it, unsigned refused)
{
    od_metrics metrics;

    od_pool_metrics(it->pool, &metrics);
    run_expects(metrics.thread_failures <= refused + (unsigned)atomic_load(&of_threads.refused),
                "the pool says that it missed %llu threads, of which %u were refused",
                (unsigned long long)metrics.thread_failures, refused);
    return metrics;
}

void threads_again(run *it)
{
    unsigned refused = injection_take(&of_threads);

    (void)expect_missed(it, refused);
    atomic_fetch_add(&it->events, refused);
    injection_end(&of_threads);
}

/* All that was tried was refused, and the pool knows. */
void threads_again_after_none(run *it)
{
    unsigned refused = injection_take(&of_threads);
    od_metrics metrics = expect_missed(it, refused);

    run_expects(metrics.threads_started == 2 && metrics.active >= 1,
                "%llu threads were started where the first and its spare alone can be had",
                (unsigned long long)metrics.threads_started);
    atomic_fetch_add(&it->events, refused);
    injection_end(&of_threads);
}

void threads_again_after_few(run *it)
{
    unsigned refused = injection_take(&of_threads);
    od_metrics metrics = expect_missed(it, refused);
    int few = 2 + atomic_load(&of_threads.from) - 1; /* the first and its spare were there before */

    run_expects(metrics.threads_started <= (unsigned)few, "%llu threads were started instead of %d",
                (unsigned long long)metrics.threads_started, few);
    atomic_fetch_add(&it->events, refused);
    injection_end(&of_threads);
}

void some_threads_refused(run *it)
{
    unsigned refused = injection_take(&of_threads);

    (void)expect_missed(it, refused);
    atomic_fetch_add(&it->events, refused);
}

/* ---- room for none, one or two more threads ---- */

static int room(const run *it)
{
    return it->number % 3;
}

/* Those that were there before are the helpers and the main thread. */
static int room_in_all(const run *it)
{
    return HELPERS + 1 + room(it);
}

void room_was_kept(run *it)
{
    int ids[16], threads = engine_threads(ids, 16);

    some_threads_refused(it);
    run_expects(threads <= room(it), "%d threads where there is room for %d", threads, room(it));
    run_expects(room(it) > 0 || atomic_load(&it->events) > 0,
                "no thread was refused where there is room for none");
}

/* A user of its own, so that nobody else's threads count. */
void process_limit(run *it)
{
    struct rlimit limit = {(rlim_t)room_in_all(it), (rlim_t)room_in_all(it)};
    uid_t user = 60000 + (uid_t)getpid() % 5000;

    if (geteuid() != 0)
        run_skips("RLIMIT_NPROC needs a user of its own, and so root");
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)
        run_skips("no change of user: %s", strerror(errno));
    if (setrlimit(RLIMIT_NPROC, &limit) != 0)
        run_skips("no RLIMIT_NPROC: %s", strerror(errno));
    it->options.workers = 4; /* more than there is room for */
}

void pids_group(run *it)
{
    char text[16];

    cgroup_make("pids", getpid());
    snprintf(text, sizeof text, "%d", (int)getpid());
    cgroup_write("pids", getpid(), "cgroup.procs", text);
    snprintf(text, sizeof text, "%d", room_in_all(it));
    cgroup_write("pids", getpid(), "pids.max", text);
    it->options.workers = 4;
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
        odi_clock_sleep(400 * ODI_MICROSECOND);
    }
}

void memory_again(run *it)
{
    atomic_fetch_add(&it->events, injection_take(&of_heap) + injection_take(&of_maps));
    injection_end(&of_heap);
    injection_end(&of_maps);
}

/* By the kernel: stacks are memory, too. */
void memory_was_short(run *it)
{
    atomic_fetch_add(&it->events, injection_take(&of_threads));
    memory_again(it);
}

/* A first thread's stack grows when it is touched, and where a limit keeps it from growing that is a
 * crash, of which no code of any program can learn before: it has its size when the limit comes. */
static void touch_the_stack(void)
{
    volatile char room[1 << 20];

    for (size_t at = 0; at < sizeof room; at += 4096)
        room[at] = 0;
}

/* Room for what there is and a little more: the default stacks of 256 MiB do not fit. */
void address_space(run *it)
{
    static const unsigned long more_mib[] = {200, 96, 48, 24};
    unsigned long pages = 0;

    touch_the_stack();
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

void proc_is_empty(run *it)
{
    run_expects(access("/sys/devices", F_OK) != 0, "/sys is not empty");
    run_expects(it->number % 3 == 2 || access("/proc/self", F_OK) != 0, "/proc is not empty");
    atomic_fetch_add(&it->events, 1);
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
    static const od_machine_cpu cpus[] = {
        {.id = 0, .node = 0, .core = 0, .package = 0, .l3 = -1},
        {.id = 1, .node = 0, .core = 1, .package = 0, .l3 = -1},
        {.id = 4000, .node = 1, .core = 2, .package = 1, .l3 = -1},
        {.id = 4001, .node = 1, .core = 3, .package = 1, .l3 = -1},
    };
    odi_topology spec = {.cpu_count = 4, .cpus = cpus, .node_count = 2, .live = true,
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

static void refuse_bindings(void)
{
    static const int calls[] = {SYS_mbind};

    refuse_calls(calls, 1, ENOMEM);
}

/* The memory itself can be had: what fails is to say where it shall lie, as where a mapping may not be
 * split any more. Every other run has bound something before. */
void no_binding(run *it)
{
    two_nodes(it);
    it->options.placement = OD_PLACEMENT_NONE; /* no pin is refused */
    if (it->number % 2 == 0)
        refuse_bindings();
}

void no_binding_from_here(run *it)
{
    if (it->number % 2)
        refuse_bindings();
}

/* Nobody took it for a want of memory. */
void bindings_refused(run *it)
{
    od_metrics metrics;

    od_pool_metrics(it->pool, &metrics);
    run_expects(metrics.thread_failures == 0, "%llu threads were missed although there is memory",
                (unsigned long long)metrics.thread_failures);
    /* A few do where a worker is wanted the moment that another one comes. */
    run_expects(metrics.ran_on_callers <= metrics.executed / 2,
                "%llu of %llu jobs ran on their submitters although there is memory",
                (unsigned long long)metrics.ran_on_callers, (unsigned long long)metrics.executed);
    run_expects(metrics.warnings == 0, "%llu warnings, and nothing but a place was refused",
                (unsigned long long)metrics.warnings);
    calls_refused(it);
}

/* A worker that could not be pinned says so at once, behind the call that was refused. */
void pins_refused(run *it)
{
    int64_t give_up = odi_clock_after(LOST_NS);
    od_metrics metrics;
    unsigned refused;

    do {
        refused = (unsigned)atomic_load(&of_pins.refused);
        od_pool_metrics(it->pool, &metrics);
        if (metrics.warnings != refused)
            odi_clock_sleep(ODI_MILLISECOND);
    } while (metrics.warnings != refused && odi_clock_now() < give_up);
    run_expects(metrics.warnings == refused, "%u pins were refused, and %llu were warned of",
                refused, (unsigned long long)metrics.warnings);
    atomic_fetch_add(&it->events, injection_take(&of_pins) + injection_take(&of_calls));
}

void calls_refused(run *it)
{
    atomic_fetch_add(&it->events, injection_take(&of_calls));
}
