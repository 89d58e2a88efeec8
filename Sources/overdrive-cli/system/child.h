/* child.h — starts the commands of `overdrive run`, for ChildProcess.swift. posix_spawn(3) can neither give a child the
 * limits that its parent had nor start it in a folder on every C library. Nothing here waits for a child. */
#ifndef OVERDRIVE_CHILD_H
#define OVERDRIVE_CHILD_H

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A limit as the kernel has it. */
struct file_limit {
    unsigned long long soft, hard;
};

/* What a command starts with. */
struct child_start {
    char *const *words;
    char *const *variables;
    /* NULL stands for the folder of this process. */
    const char *folder;
    int input, output, errors;
    /* The number of open files that this process was started with: a command is given that back. */
    struct file_limit files;
};

int execvpe(const char *program, char *const words[], char *const variables[]);

static inline int exchange_file_limit(const struct file_limit *limit, struct file_limit *before)
{
    enum { this_process = 0, open_files = 7 /* RLIMIT_NOFILE */ };

    return (int)syscall(SYS_prlimit64, this_process, open_files, limit, before);
}

/* In the child, which shares its parent's memory until exec: no handler of the parent may run here. */
static inline void restore_signals(void)
{
    static const int heeded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1};
    struct sigaction action;
    sigset_t none;

    for (int number = 1; number < 65; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            signal(number, SIG_DFL);
    for (size_t place = 0; place < sizeof heeded / sizeof *heeded; place++)
        signal(heeded[place], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Starts a command in a process group of its own: its number, or -1 and errno. Never inlined, as vfork returns twice. */
static __attribute__((noinline, unused)) pid_t start_child(const struct child_start *how)
{
    volatile int error = 0;
    sigset_t all, before;
    pid_t process;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    process = vfork();
    if (process == 0) {
        setpgid(0, 0);
        restore_signals();
        if (dup2(how->input, STDIN_FILENO) >= 0 && dup2(how->output, STDOUT_FILENO) >= 0 &&
            dup2(how->errors, STDERR_FILENO) >= 0 && (how->folder == NULL || chdir(how->folder) == 0)) {
            if (how->files.hard != 0)
                exchange_file_limit(&how->files, NULL);
            execvpe(how->words[0], how->words, how->variables);
        }
        error = errno;
        _exit(127);
    }
    if (process < 0)
        error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (process > 0 && error != 0) {
        while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
            ;
        process = -1;
    }
    errno = error;
    return process;
}

/* The limit of open files as this process was started with it, after the soft one was raised to the hard one. */
static inline struct file_limit raise_file_limit(void)
{
    struct file_limit before = {0, 0}, raised;

    if (exchange_file_limit(NULL, &before) == 0 && before.soft < before.hard) {
        raised = before;
        raised.soft = before.hard;
        exchange_file_limit(&raised, NULL);
    }
    return before;
}

/* The signal that has stopped a child, which stays stopped; 0 where none has. */
static inline int stopped_by(pid_t process)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)process, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process &&
                   info.si_code == CLD_STOPPED
               ? info.si_status
               : 0;
}

#endif
