/* strikes_time.c — faults that happen beside the work, again and again: signals, freezes,
 * limits that change, forks. */
#include "Faults/strikes.h"
#include "Support/recording.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


enum { MOST_THREADS = 256 };

/* ---- futexes and clocks ---- */

void futex_lie(run *it)
{
    atomic_store(&futex_lies, 2 + it->number % 3);
}

void futex_honest(run *it)
{
    atomic_store(&futex_lies, 0);
    atomic_fetch_add(&it->events, atomic_exchange(&futex_lied, 0));
}

void wall_clock(run *it)
{
    (void)it;
    atomic_store(&wall_reads, 0);
}

void wall_clock_verify(run *it)
{
    struct timespec now;

    (void)it;
    run_expects(atomic_load(&wall_reads) == 0,
                "the engine asked for the wall clock %u times, which may jump",
                atomic_load(&wall_reads));
    clock_gettime(CLOCK_REALTIME, &now); /* as the engine would */
    run_expects(atomic_load(&wall_reads) == 1, "who asks for the wall clock is not noted");
}

/* ---- limits that change ---- */

static void join_group(const char *controller, pid_t pid)
{
    char text[16];

    snprintf(text, sizeof text, "%d", (int)pid);
    cgroup_write(controller, pid, "cgroup.procs", text);
}

void quota_group(int number, pid_t pid)
{
    (void)number;
    cgroup_make("cpu", pid);
    join_group("cpu", pid);
}

void cpuset_group(int number, pid_t pid)
{
    (void)number;
    cgroup_make("cpuset", pid);
    cgroup_write("cpuset", pid, "cpuset.mems", "0");
    cgroup_write("cpuset", pid, "cpuset.cpus", "0-1");
    join_group("cpuset", pid);
}

void follow_limits(run *it)
{
    it->options.workers = 0;
    if (it->number % 2)
        it->options.placement = OD_PLACEMENT_CORE;
}

/* The limits are read once a second, while there is something to do. */
static void await_workers(run *it, int workers, const char *why)
{
    int64_t began = odi_clock_now(), waited = waited_for_cpus();

    while (od_pool_workers(it->pool) != workers) {
        if (atomic_load(&it->over))
            return;
        int64_t took = odi_clock_now() - began, limit = time_limit(2000 * ODI_MILLISECOND);

        run_expects(took < limit || took < limit + waited_for_cpus() - waited,
                    "%s: %d workers instead of %d after 2 s of activity", why,
                    od_pool_workers(it->pool), workers);
        odi_clock_sleep(5 * ODI_MILLISECOND);
    }
    atomic_fetch_add(&it->events, 1);
}

void quota_changes(run *it)
{
    await_workers(it, 2, "no quota");
    cgroup_write("cpu", getpid(), "cpu.cfs_quota_us", "80000");
    await_workers(it, 1, "a quota of 0.8 CPUs");
    cgroup_write("cpu", getpid(), "cpu.cfs_quota_us", "-1");
    await_workers(it, 2, "the quota is lifted");
}

/* No thread of the engine is on, or may go to, a CPU that is not there. */
static void expect_within(run *it, const cpu_set_t *there)
{
    int threads[MOST_THREADS], count = engine_threads(threads, MOST_THREADS);

    for (int i = 0; i < count; i++) {
        cpu_set_t may, both;

        if (sched_getaffinity(threads[i], sizeof may, &may) != 0)
            continue; /* it has left */
        CPU_AND(&both, &may, there);
        run_expects(CPU_EQUAL(&both, &may), "a thread of the engine may run on a missing CPU");
    }
    run_expects(count > 0 || atomic_load(&it->over), "there is no thread of the engine");
}

void cpuset_changes(run *it)
{
    cpu_set_t first;

    CPU_ZERO(&first);
    CPU_SET(0, &first);
    await_workers(it, 2, "two CPUs");
    cgroup_write("cpuset", getpid(), "cpuset.cpus", "0");
    await_workers(it, 1, "a cpuset of one CPU");
    expect_within(it, &first);
    cgroup_write("cpuset", getpid(), "cpuset.cpus", "0-1");
    await_workers(it, 2, "both CPUs again");
}

/* Recordings of version 2 and worse, of which every single read picks one at random. */
static const char *const recordings[] = {
    "== /proc/self/cgroup\n0::/app\n"
    "== /proc/self/mountinfo\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    "== /sys/fs/cgroup/cgroup.controllers\ncpu cpuset\n"
    "== /sys/fs/cgroup/app/cpu.max\n150000 100000\n"
    "== /sys/fs/cgroup/app/cpuset.cpus.effective\n0-3\n"
    "== /proc/self/status\nCpus_allowed_list:\t0-7\n"
    "== /sys/devices/system/cpu/online\n0-7\n",
    "== /proc/self/cgroup\n0::/app\n"
    "== /proc/self/mountinfo\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    "== /sys/fs/cgroup/cgroup.controllers\ncpu cpuset\n"
    "== /sys/fs/cgroup/app/cpu.max\nmax 100000\n"
    "== /sys/fs/cgroup/app/cpuset.cpus.effective\n1\n"
    "== /proc/self/status\nCpus_allowed_list:\t0-3\n"
    "== /sys/devices/system/cpu/online\n0-3\n",
    "== /proc/self/cgroup\n0::/\n"
    "== /proc/self/mountinfo\n30 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    "== /sys/fs/cgroup/cpu.max\n-1 0\n"
    "== /sys/fs/cgroup/app/cpu.max\n10000\n"
    "== /sys/fs/cgroup/app/cpuset.cpus.effective\n\n"
    "== /proc/self/status\nCpus_allowed_list:\t4294967296-\n",
    "=! /proc/self/cgroup\n=! /proc/self/mountinfo\n=! /proc/self/status\n",
    "",
};

enum { RECORDINGS = sizeof recordings / sizeof recordings[0] };

static FILE *open_any(const odi_source *source, const char *path)
{
    static atomic_uint reads;
    uint64_t random = odi_rng_seed(atomic_fetch_add(&reads, 1));
    odi_source one = source_of(recordings[odi_rng_below(&random, RECORDINGS)]);

    (void)source;
    return one.open(&one, path);
}

void hostile_machine(run *it)
{
    static const odi_source source = {.open = open_any, .root = ""};

    it->world.source = &source;
    it->options.workers = 0;
}

void hostile_machine_changes(run *it)
{
    int before = 0;

    while (!atomic_load(&it->over)) {
        int workers = od_pool_workers(it->pool);

        run_expects(workers >= 1 && workers <= 8, "%d workers on eight CPUs at most", workers);
        atomic_fetch_add(&it->events, workers != before);
        before = workers;
        atomic_store(&it->pool->next_refresh_ns, 0); /* a second has passed */
        odi_clock_sleep(200 * ODI_MICROSECOND);
    }
}

/* ---- freezes ---- */

static atomic_int frozen, held; /* who is to be held, and who has been last */

/* Holds the thread wherever it was: between any two instructions of the engine. */
static void hold(int signal)
{
    int error = errno, self = (int)syscall(SYS_gettid);
    struct timespec rest = {0, 1000000};

    (void)signal;
    while (atomic_load(&frozen) == self) {
        atomic_store(&held, self);
        nanosleep(&rest, NULL);
    }
    errno = error;
}

static void freeze_one(run *it, prng *random, bool by_group)
{
    int threads[MOST_THREADS], count = engine_threads(threads, MOST_THREADS);
    char text[16];

    if (count == 0) {
        odi_clock_sleep(ODI_MILLISECOND);
        return;
    }
    int id = threads[prng_below(random, (uint32_t)count)];
    int64_t until = 10 * ODI_MILLISECOND + prng_below(random, 40) * ODI_MILLISECOND;

    snprintf(text, sizeof text, "%d", id);
    if (by_group) {
        cgroup_write("freezer", getpid(), "freezer.state", "FROZEN");
        /* A thread that has just left cannot be frozen. */
        char path[160];
        snprintf(path, sizeof path, "/sys/fs/cgroup/freezer/overdrive-faults-%d/tasks",
                 (int)getpid());
        FILE *file = fopen(path, "w");
        bool moved = file != NULL && fputs(text, file) >= 0;
        moved = file != NULL && fclose(file) == 0 && moved;
        odi_clock_sleep(until);
        cgroup_write("freezer", getpid(), "freezer.state", "THAWED");
        atomic_fetch_add(&it->events, moved);
    } else {
        atomic_store(&held, 0);
        atomic_store(&frozen, id);
        (void)syscall(SYS_tgkill, getpid(), id, SIGPROF);
        odi_clock_sleep(until);
        atomic_store(&frozen, 0);
        atomic_fetch_add(&it->events, atomic_load(&held) == id); /* one that blocked the signal was not */
    }
    odi_clock_sleep(2 * ODI_MILLISECOND);
}

/* The waves go on until this has struck: on a busy machine it may get its CPU late. */
static void freeze_again_and_again(run *it, prng *random, bool by_group)
{
    int64_t until = odi_clock_now() + it->least_ns;

    do
        freeze_one(it, random, by_group);
    while (odi_clock_now() < until || atomic_load(&it->events) == 0);
}

void freeze_by_signal(run *it)
{
    prng random = prng_for(it->seed, 3);
    struct sigaction action = {.sa_handler = hold};

    sigaction(SIGPROF, &action, NULL);
    freeze_again_and_again(it, &random, false);
}

void freezer_group(int number, pid_t pid)
{
    (void)number;
    cgroup_make("freezer", pid);
}

void freeze_by_group(run *it)
{
    prng random = prng_for(it->seed, 4);

    freeze_again_and_again(it, &random, true);
}

/* ---- signals and affinity ---- */

static atomic_ullong handled;

static void count_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

/* Without SA_RESTART: whoever sleeps in the kernel is woken with EINTR. */
void signal_handlers(run *it)
{
    static const int signals[] = {SIGUSR1, SIGPROF, SIGALRM};
    struct sigaction action = {.sa_handler = count_signal};

    (void)it;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &action, NULL);
}

static int all_threads(int *ids, int most)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    while (tasks != NULL && count < most && (entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] != '.')
            ids[count++] = (int)strtol(entry->d_name, NULL, 10);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

enum { STORM_HZ = 10000 };

/* 10,000 signals a second, over all threads of the process. SIGPROF reaches workers too,
 * which block the others. */
void signal_storm(run *it)
{
    prng random = prng_for(it->seed, 5);
    int64_t began = odi_clock_now(), sent = 0;
    int threads[MOST_THREADS], count = 0;

    while (!atomic_load(&it->over)) {
        if (sent % 100 == 0)
            count = all_threads(threads, MOST_THREADS);
        int64_t due = (odi_clock_now() - began) * STORM_HZ / ODI_SECOND;
        for (; sent < due && count > 0; sent++)
            (void)syscall(SYS_tgkill, getpid(), threads[prng_below(&random, (uint32_t)count)],
                          prng_one_in(&random, 2) ? SIGPROF : SIGUSR1);
        odi_clock_sleep(50 * ODI_MICROSECOND);
    }
    atomic_fetch_add(&it->events, atomic_load(&handled));
}

void affinity_churn(run *it)
{
    prng random = prng_for(it->seed, 6);
    int threads[MOST_THREADS];
    cpu_set_t allowed, wish;

    sched_getaffinity(getpid(), sizeof allowed, &allowed);
    while (!atomic_load(&it->over)) {
        int count = all_threads(threads, MOST_THREADS);

        for (int i = 0; i < count; i++) {
            CPU_ZERO(&wish);
            for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
                if (CPU_ISSET(cpu, &allowed) && prng_one_in(&random, 2))
                    CPU_SET(cpu, &wish);
            }
            if (CPU_COUNT(&wish) > 0 && sched_setaffinity(threads[i], sizeof wish, &wish) == 0)
                atomic_fetch_add(&it->events, 1);
        }
        odi_clock_sleep(2 * ODI_MILLISECOND);
    }
}

void resize(run *it)
{
    prng random = prng_for(it->seed, 7);

    while (!atomic_load(&it->over)) {
        (void)od_pool_set_workers(it->pool, 1 + (int)prng_below(&random, 6));
        atomic_fetch_add(&it->events, 1);
        odi_clock_sleep(300 * ODI_MICROSECOND);
    }
}

/* ---- forks ---- */

enum { CHILD_S = 10, CHILD_JOBS = 20 };

static void count_in_child(void *counter)
{
    atomic_fetch_add((atomic_uint *)counter, 1);
}

/* Submits to the parent's pool, by queue, group and bare, and waits. */
static int child(run *it)
{
    atomic_uint ran = 0;
    od_group *group = od_group_create();
    od_queue *queue = od_queue_create(it->pool, OD_BAND_DEFAULT, 1, "child");

    alarm(CHILD_S);
    if (group == NULL || queue == NULL)
        return 2;
    for (int i = 0; i < CHILD_JOBS; i++)
        od_queue_async(i % 2 ? queue : it->open, group, OD_QUEUE_BAND, count_in_child, &ran);
    od_pool_submit(it->pool, OD_BAND_BACKGROUND, count_in_child, &ran);
    if (!od_group_wait(group, 8 * ODI_SECOND))
        return 3;
    for (int i = 0; i < 8000 && atomic_load(&ran) < CHILD_JOBS + 1; i++)
        odi_clock_sleep(ODI_MILLISECOND);
    return atomic_load(&ran) == CHILD_JOBS + 1 ? 0 : 4;
}

static void fork_once(run *it)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        _exit(child(it));
    }
    run_expects(pid > 0, "no fork: %s", strerror(errno));
    run_expects(waitpid(pid, &status, 0) == pid, "the child is gone: %s", strerror(errno));
    run_expects(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM,
                "a forked child hung for 10 s (fork %llu of this run)",
                (unsigned long long)atomic_load(&it->events));
    run_expects(!WIFSIGNALED(status), "a forked child was killed by signal %d",
                WTERMSIG(status));
    run_expects(WEXITSTATUS(status) == 0, "a forked child %s",
                WEXITSTATUS(status) == 2   ? "had no memory"
                : WEXITSTATUS(status) == 3 ? "waited 8 s for its group"
                                           : "lost a job");
    atomic_fetch_add(&it->events, 1);
}

enum { FORKS = 25 };

void fork_again_and_again(run *it)
{
    for (int i = 0; i < FORKS; i++)
        fork_once(it);
}
