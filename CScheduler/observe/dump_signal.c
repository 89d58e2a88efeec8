#include "observe/dump_signal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/invariant.h"
#include "observe/recorder.h"
#include "os/futex.h"
#include "os/thread.h"

enum { DUMP_STACK = 512 * 1024 };

typedef void (*dumper)(void);

void (*odi_dump_above)(void);

static odi_atomic(dumper) dumps;
static odi_atomic(bool) is_on;
static odi_atomic(uint32_t) signals; /* their number; the thread sleeps on it */
static int number;                   /* constant once the handler is installed, as the next line */
static struct sigaction before;

/* May interrupt any code. The former handler runs last, because it may leave by longjmp. */
static void handle(int signal, siginfo_t *info, void *context)
{
    int error = errno;

    odi_add_relaxed(&signals, 1); /* relaxed: the kernel compares it */
    odi_futex_wake(&signals, 1);
    errno = error;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
}

static void answer(void)
{
    dumper dump = odi_load_relaxed(&dumps); /* relaxed: the pointer to a function publishes no other data */
    char text[4200];

    if (odi_recorder_is_on()) {
        bool saved = odi_recorder_save("a signal asked for the recording", text, sizeof text);

        if (saved)
            odi_tell("recorder: the last seconds are in %s. Run overdrive trace convert on it.", text);
        else
            odi_tell("recorder: %s", text);
    }
    if (dump == NULL)
        dump = odi_dump_above;
    if (dump != NULL)
        dump();
}

/* Signals that come during an answer have one answer together. */
static void serve(void *unused)
{
    sigset_t mine, pipe;
    uint32_t answered = 0;

    (void)unused;
    sigemptyset(&mine);
    sigaddset(&mine, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE); /* a closed stderr does not end the process */
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    for (;;) {
        uint32_t word = odi_load_relaxed(&signals); /* relaxed: a counter */

        if (word == answered) {
            (void)odi_futex_wait(&signals, word, ODI_FOREVER);
            continue;
        }
        answered = word;
        answer();
    }
}

/* 0: the name is none of these. */
static int number_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"QUIT", SIGQUIT}, {"HUP", SIGHUP}, {"URG", SIGURG}, {"WINCH", SIGWINCH}};

    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0)
            return known[i].number;
    }
    return 0;
}

static void install(void)
{
    struct sigaction ours = {.sa_sigaction = handle};

    (void)sigaction(number, NULL, &before);
    bool handled = before.sa_flags & SA_SIGINFO || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
    ours.sa_mask = before.sa_mask;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (handled ? before.sa_flags & (SA_RESTART | SA_NODEFER) : SA_RESTART);
    (void)sigaction(number, &ours, NULL);
}

bool odi_dump_signal_start(const char *name, char *message, size_t capacity)
{
    int error;

    number = number_of(name);
    if (number == 0) {
        (void)snprintf(message, capacity, "unknown signal (%s). Name USR1, USR2, QUIT, HUP, URG or WINCH.", name);
        return false;
    }
    install(); /* first, because the thread accepts the signal */
    if ((error = odi_thread_start(serve, NULL, DUMP_STACK, "od-signal")) != 0) {
        (void)sigaction(number, &before, NULL);
        (void)snprintf(message, capacity, "no thread can be started (%s). Raise the limit of threads.", strerror(error));
        return false;
    }
    odi_store_relaxed(&is_on, true); /* relaxed: a hint */
    return true;
}

bool odi_dump_signal_to(void (*dump)(void))
{
    if (!odi_load_relaxed(&is_on)) /* relaxed: written before the first pool exists */
        return false;
    odi_store_relaxed(&dumps, dump); /* relaxed: as in answer */
    return true;
}

static void read_environment(void)
{
    const char *value = secure_getenv("OVERDRIVE_SIGNAL");
    char message[256];

    if (value != NULL && *value != '\0' && !odi_dump_signal_start(value, message, sizeof message))
        odi_warn("OVERDRIVE_SIGNAL: %s", message);
}

void odi_dump_signal_from_environment(void)
{
    static pthread_once_t read = PTHREAD_ONCE_INIT;

    pthread_once(&read, read_environment);
}

/* ---- forked children ---- */

/* The child has no thread for the signal. */
static void after_in_child(void)
{
    struct sigaction now;

    if (!odi_load_relaxed(&is_on)) /* relaxed: one thread exists */
        return;
    odi_store_relaxed(&is_on, false); /* relaxed: as above */
    if (sigaction(number, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle)
        (void)sigaction(number, &before, NULL);
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(NULL, NULL, after_in_child);
}
