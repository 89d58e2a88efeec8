/* child.c — see child.h. */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static int exchange_file_limit(const struct file_limit *limit, struct file_limit *before)
{
    enum { this_process = 0, open_files = 7 /* RLIMIT_NOFILE */ };

    return (int)syscall(SYS_prlimit64, this_process, open_files, limit, before);
}

/* The signals that this process may handle or ignore, and which of them it was started with as ignored. */
enum { heeded_count = 6 };
static const int heeded[heeded_count] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1};
static int was_ignored[heeded_count];

void note_ignored_signals(void)
{
    struct sigaction action;

    for (int place = 0; place < heeded_count; place++)
        was_ignored[place] = sigaction(heeded[place], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int started_ignoring(int signal)
{
    for (int place = 0; place < heeded_count; place++)
        if (heeded[place] == signal)
            return was_ignored[place];
    return 0;
}

/* In the child, which shares its parent's memory until exec: no handler of the parent may run here. */
static void restore_signals(void)
{
    struct sigaction action;
    sigset_t none;

    for (int number = 1; number < 65; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            signal(number, SIG_DFL);
    for (int place = 0; place < heeded_count; place++)
        signal(heeded[place], was_ignored[place] ? SIG_IGN : SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* vfork returns twice: whatever the parent reads afterwards is volatile or unchanged. */
int start_child(const struct child_start *how)
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

struct file_limit raise_file_limit(void)
{
    struct file_limit before = {0, 0}, raised;

    if (exchange_file_limit(NULL, &before) == 0 && before.soft < before.hard) {
        raised = before;
        raised.soft = before.hard;
        exchange_file_limit(&raised, NULL);
    }
    return before;
}

int stopped_by(int process)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)process, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process &&
                   info.si_code == CLD_STOPPED
               ? info.si_status
               : 0;
}
