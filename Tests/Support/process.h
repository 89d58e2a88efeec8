/* process.h — kernel figures of this process, and parts of a test in a child process. */
#ifndef SUPPORT_PROCESS_H
#define SUPPORT_PROCESS_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/check.h"

/* ---- kernel figures ---- */

static inline int thread_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    while (tasks != NULL && readdir(tasks) != NULL)
        count++;
    if (tasks != NULL)
        closedir(tasks);
    return count - 2;
}

static inline void *no_thread_body(void *unused)
{
    return unused;
}

/* The emulator of another processor has one thread of its own. */
#ifdef EMULATED
#define UNDER_EMULATOR 1
#else
#define UNDER_EMULATOR 0
#endif

/* Returns the value of thread_count() without threads of the test. ThreadSanitizer starts a thread with the
 * first one. */
static inline int threads_at_rest(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, no_thread_body, NULL) == 0)
        pthread_join(thread, NULL);
    return 1 + UNDER_TSAN + UNDER_EMULATOR;
}

/* Returns the number behind "name:" in /proc/self/status, or -1. */
static inline long status_field(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            value = strtol(line + strlen(name) + 1, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    return value;
}

static inline long resident_kib(void)
{
    return status_field("VmRSS");
}

/* Returns the CPU time of the process in µs. */
static inline int64_t cpu_microseconds(const struct rusage *usage)
{
    return (int64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

/* ---- child processes ---- */

typedef struct {
    int status;      /* as returned by waitpid */
    char said[8192]; /* the beginning of its output on stderr */
} outcome;

/* Runs body(argument) in a forked child and records its stderr. The child's exit status is 0 if body returns.
 * The child is killed after `limit_s` seconds. */
static inline outcome in_a_child(void (*body)(void *), void *argument, unsigned limit_s)
{
    outcome result = {0};
    size_t length = 0;
    int ends[2];

    fflush(NULL);
    if (pipe(ends) != 0)
        return (outcome){.status = -1};
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        signal(SIGABRT, SIG_DFL); /* the child may abort intentionally */
        signal(SIGALRM, SIG_DFL);
        if (!UNDER_TSAN) /* ThreadSanitizer delays a signal until the thread's next call */
            dump_before(SIGALRM);
        alarm(limit_s);
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        body(argument);
        _exit(0);
    }
    close(ends[1]);
    for (;;) {
        char rest[256];
        bool full = length >= sizeof result.said - 1;
        ssize_t got = full ? read(ends[0], rest, sizeof rest)
                           : read(ends[0], result.said + length,
                                  sizeof result.said - 1 - length);
        if (got <= 0)
            break;
        length += full ? 0 : (size_t)got;
    }
    close(ends[0]);
    waitpid(child, &result.status, 0);
    return result;
}

static inline void child_fails(const char *condition, const char *file, int line)
{
    dprintf(STDERR_FILENO, "%s:%d: %s\n", file, line, condition);
    alarm(10);
    if (dump_pools != NULL)
        dump_pools();
    _exit(1);
}

/* Ends a child with a line that names the failed expectation, and a dump of its pools. */
#define child_expects(condition) ((condition) ? (void)0 : child_fails(#condition, __FILE__, __LINE__))

#define assert_child_succeeds(body, argument)                                             \
    do {                                                                                  \
        outcome it_ = in_a_child((body), (argument), 60);                                 \
        if (it_.status != 0)                                                              \
            print_error("child: status 0x%x, said: %s\n", (unsigned)it_.status, it_.said); \
        assert_int_equal(it_.status, 0);                                                  \
    } while (0)

/* Asserts that the child aborted with a sentence that contains `part`. */
#define assert_child_traps(body, argument, part)                                          \
    do {                                                                                  \
        outcome it_ = in_a_child((body), (argument), 60);                                 \
        if (strstr(it_.said, (part)) == NULL)                                             \
            print_error("child: status 0x%x, said: %s\n", (unsigned)it_.status, it_.said); \
        assert_non_null(strstr(it_.said, (part)));                                        \
        assert_true(WIFSIGNALED(it_.status) || WEXITSTATUS(it_.status) != 0);             \
    } while (0)

#endif
