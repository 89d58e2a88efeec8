/* process.c — gives the process's CPU mask, nice value, policy and signal mask to the engine's threads and to
 * children of these threads. */
#include "os/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/invariant.h"
#include "os/clock.h"

static _Thread_local enum { FOREIGN, OURS, PLACED } kind;

/* ---- CPUs ---- */

static pthread_once_t recorded = PTHREAD_ONCE_INIT;
static odi_cpu_mask process_cpus; /* empty: unknown */

static void record(void)
{
    (void)odi_affinity_get(getpid(), &process_cpus);
}

void odi_process_record(void)
{
    pthread_once(&recorded, record);
}

void odi_process_note_placement(void)
{
    if (kind == OURS)
        kind = PLACED;
}

bool odi_process_mask_is_own(void)
{
    return kind == OURS;
}

/* Sets the thread's mask only if it differs from the process's mask. If the mask is not set, the kernel widens
 * it when the cpuset grows. */
static void adopt_cpus(void)
{
    odi_cpu_mask mine;

    odi_process_record();
    if (odi_affinity_get(0, &mine) == 0 && !odi_cpu_mask_equal(&mine, &process_cpus))
        (void)odi_affinity_set(&process_cpus); /* may fail if the process may use none of these CPUs */
}

/* ---- nice value and policy ---- */

static bool is_ordinary(int policy)
{
    return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

static int nice_of(int thread, int *value)
{
    errno = 0;
    *value = getpriority(PRIO_PROCESS, (id_t)thread);
    return errno;
}

/* Takes over the main thread's policy. Returns 0 or an errno value. A real-time policy is not taken over. */
static int adopt_policy(void)
{
    const struct sched_param none = {0};
    int wanted = sched_getscheduler(getpid()), mine = sched_getscheduler(0);

    if (wanted < 0 || mine < 0 || wanted == mine || !is_ordinary(wanted))
        return 0;
    return sched_setscheduler(0, wanted, &none) == 0 ? 0 : errno;
}

static int adopt_nice(void)
{
    int wanted, mine;

    if (nice_of(getpid(), &wanted) != 0 || nice_of(0, &mine) != 0 || wanted == mine)
        return 0;
    return setpriority(PRIO_PROCESS, 0, wanted) == 0 ? 0 : errno;
}

/* Nice first: the kernel does not let a thread leave SCHED_IDLE if it would not allow its nice value. */
static void adopt_priority(void)
{
    static odi_atomic(bool) said;
    int nice_error = adopt_nice(), error = adopt_policy();

    error = error != 0 ? error : nice_error;
    if (error != 0 && !odi_swap_relaxed(&said, true)) /* relaxed: only the first thread prints */
        odi_warn("worker start: cannot take the main thread's nice value and policy (%s); the creating "
                 "thread's are kept. Submit first from a thread of the main thread's priority",
                 strerror(error));
}

void odi_process_adopt(void)
{
    kind = OURS;
    adopt_cpus();
    adopt_priority();
}

/* ---- signals ---- */

/* Reads the main thread's blocked signals from the process's status, which may be long because it lists all
 * groups. Returns false if the line is missing. */
static bool read_blocked(uint64_t *bits, bool *ended)
{
    static const char label[] = "\nSigBlk:";
    enum { OVERLAP = 64 }; /* longer than that line */
    char text[4096];
    size_t kept = 0;
    ssize_t length;
    const char *line = NULL;
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    while (line == NULL && (length = read(file, text + kept, sizeof text - 1 - kept)) > 0) {
        size_t end = kept + (size_t)length;

        text[end] = '\0';
        *ended = *ended || strstr(text, "\nState:\tZ") != NULL;
        line = strstr(text, label);
        if (line != NULL && strchr(line + 1, '\n') == NULL)
            line = NULL; /* its end comes with the next read */
        if (line == NULL) {
            kept = end < OVERLAP ? end : OVERLAP;
            memmove(text, text + end - kept, kept);
        }
    }
    close(file);
    if (line != NULL)
        *bits = strtoull(line + sizeof label - 1, NULL, 16);
    return line != NULL;
}

/* The C library blocks all signals, its own two included, while a thread starts a thread (microseconds) or a
 * process (milliseconds, until the exec). It lets no program block these two. */
enum { MOST_READS = 100, NAP_NS = 200000 };

static bool are_blocked_by_the_library(uint64_t bits)
{
    return (bits >> 31 & 3) == 3; /* signals 32 and 33 */
}

/* Without /proc, or a file descriptor for it, only SIGPIPE counts as blocked. */
void odi_process_blocked(sigset_t *blocked)
{
    uint64_t bits = 0;
    bool ended = false;

    sigemptyset(blocked);
    if (getpid() == (int)syscall(SYS_gettid)) {
        pthread_sigmask(SIG_SETMASK, NULL, blocked);
        return;
    }
    bool known = read_blocked(&bits, &ended);
    for (int reads = 1; known && !ended && are_blocked_by_the_library(bits) && reads < MOST_READS; reads++) {
        odi_clock_sleep(NAP_NS);
        known = read_blocked(&bits, &ended);
    }
    if (!known)
        (void)sigaddset(blocked, SIGPIPE);
    if (ended || are_blocked_by_the_library(bits)) /* a finished main thread blocks what glibc blocked for its end */
        return;
    for (int signal = 1; signal <= 64; signal++) {
        if (bits >> (signal - 1) & 1)
            (void)sigaddset(blocked, signal); /* glibc refuses its own two signals */
    }
}

/* ---- spawned children ---- */

/* posix_spawn calls no fork handler. The engine therefore defines the two functions weakly, in front of the C
 * library's. A child of an engine's thread gets the attributes that a child of the main thread gets. */
typedef int spawn_function(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]);

/* In a static program dlsym is missing or finds nothing, and `system` brings the second function. */
extern __typeof__(dlsym) dlsym __attribute__((weak));
extern spawn_function __posix_spawn __attribute__((weak));
static int (*const brings_spawn)(const char *) __attribute__((used)) = system;

static spawn_function *of_library(const char *name)
{
    spawn_function *found = dlsym != NULL ? (spawn_function *)dlsym(RTLD_NEXT, name) : NULL;

    return found != NULL ? found : __posix_spawn;
}

/* Takes the main thread's signal mask into the attributes, unless the caller has chosen one. */
static void take_mask(posix_spawnattr_t *attributes)
{
    sigset_t blocked;
    short flags = 0;

    (void)posix_spawnattr_getflags(attributes, &flags);
    if (flags & POSIX_SPAWN_SETSIGMASK)
        return;
    odi_process_blocked(&blocked);
    (void)posix_spawnattr_setsigmask(attributes, &blocked);
    (void)posix_spawnattr_setflags(attributes, (short)(flags | POSIX_SPAWN_SETSIGMASK));
}

static int spawn(spawn_function *real, pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    odi_cpu_mask placed;
    posix_spawnattr_t mine;

    if (real == NULL)
        return ENOSYS;
    if (kind == FOREIGN)
        return real(child, path, actions, attributes, arguments, environment);
    if (attributes != NULL)
        mine = *attributes;
    else
        (void)posix_spawnattr_init(&mine);
    take_mask(&mine);
    bool widens = kind == PLACED && odi_affinity_get(0, &placed) == 0 && odi_affinity_set(&process_cpus) == 0;
    int error = real(child, path, actions, &mine, arguments, environment);
    if (widens)
        (void)odi_affinity_set(&placed);
    return error;
}

__attribute__((weak, visibility("default"))) int
posix_spawn(pid_t *restrict child, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,
            const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
            char *const environment[restrict])
{
    return spawn(of_library(__func__), child, path, actions, attributes, arguments, environment);
}

/* Finds the file in PATH, as a static program's function does not. */
static const char *in_path(const char *file, char *text, size_t size)
{
    const char *rest = getenv("PATH");

    if (strchr(file, '/') != NULL)
        return file;
    for (rest = rest != NULL ? rest : "/bin:/usr/bin"; *rest != '\0'; rest += *rest == ':') {
        size_t length = strcspn(rest, ":");

        int written = snprintf(text, size, "%.*s/%s", (int)length, length > 0 ? rest : ".", file);
        struct stat status;

        if (written > 0 && (size_t)written < size && stat(text, &status) == 0 && S_ISREG(status.st_mode) &&
            access(text, X_OK) == 0)
            return text;
        rest += length;
    }
    return file;
}

__attribute__((weak, visibility("default"))) int
posix_spawnp(pid_t *restrict child, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
             const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
             char *const environment[restrict])
{
    spawn_function *real = of_library(__func__);
    char text[4096];
    const char *path = real == __posix_spawn ? in_path(file, text, sizeof text) : file;

    return spawn(real, child, path, actions, attributes, arguments, environment);
}

/* ---- forked children ---- */

static _Thread_local sigset_t blocked_before;

/* A child of an engine's thread gets the attributes that a child of the main thread gets. */
static void before_fork(void)
{
    if (kind != FOREIGN)
        odi_process_blocked(&blocked_before);
}

static void after_in_child(void)
{
    if (kind != FOREIGN)
        pthread_sigmask(SIG_SETMASK, &blocked_before, NULL);
    if (kind == PLACED)
        (void)odi_affinity_set(&process_cpus);
    kind = FOREIGN;
    recorded = (pthread_once_t)PTHREAD_ONCE_INIT; /* the child's main thread may choose other CPUs */
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(before_fork, NULL, after_in_child);
}
