/* thread.c — starts threads with a given stack and blocked signals, and answers questions about threads from
 * the kernel. */
#include "os/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "include/od_thread.h"
#include "os/clock.h"
#include "os/control.h"
#include "os/pages.h"
#include "os/process.h"

/* A thread that gives way first yields this many times, and then sleeps this long each time. */
enum { YIELDS = 50 };
#define NAP_NS (50 * ODI_MICROSECOND)

typedef struct {
    void (*body)(void *);
    void *argument;
    odi_baton *baton; /* NULL: outside a controlled run */
    char name[16];
} launch;

static void *enter(void *raw)
{
    launch it = *(launch *)raw;

    free(raw);
    (void)pthread_setname_np(pthread_self(), it.name);
    odi_process_adopt();
    if (it.baton != NULL) {
        odi_control_thread_begin(it.baton);
        odi_process_note_placement(); /* the mask is the run's: a pool that this thread makes does not follow it */
    }
    it.body(it.argument);
    if (it.baton != NULL)
        odi_control_thread_end();
    return NULL;
}

/* Blocks every asynchronous signal. Faults stay deliverable, because blocking them would turn a readable
 * crash into a kill. SIGPIPE ends a writer whose reader has gone, unless the main thread blocks it. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS,
                                 SIGPROF};
    sigset_t blocked, of_main;

    odi_process_blocked(&of_main);
    sigfillset(&blocked);
    if (!sigismember(&of_main, SIGPIPE))
        sigdelset(&blocked, SIGPIPE);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static int create(launch *it, size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    long least = sysconf(_SC_THREAD_STACK_MIN);
    if (least > 0 && stack_bytes < (size_t)least)
        stack_bytes = (size_t)least;
    error = pthread_attr_setstacksize(&attributes, stack_bytes);
    (void)pthread_attr_setguardsize(&attributes, ODI_STACK_GUARD);
    if (error == 0)
        error = pthread_create(&thread, &attributes, enter, it);
    pthread_attr_destroy(&attributes);
    return error;
}

int odi_thread_start_as(odi_baton *baton, void (*body)(void *), void *argument, size_t stack_bytes,
                        const char *name)
{
    launch *it = malloc(sizeof *it);
    sigset_t before;
    int error;

    if (it == NULL)
        return ENOMEM;
    it->body = body;
    it->argument = argument;
    it->baton = baton;
    snprintf(it->name, sizeof it->name, "%s", name);

    if (stack_bytes == ODI_STACK_DEFAULT && (odi_pages_space_is_limited() || odi_pages_future_is_locked())) /* of what is left; the kernel fills it */
        stack_bytes = ODI_STACK_LOCKED;
    block_signals(&before);
    /* glibc returns EAGAIN both for a missing stack and for a thread limit. A smaller stack helps in the
     * first case, and the second fails with the smallest stack too. */
    do {
        error = create(it, stack_bytes);
        stack_bytes /= 2;
    } while (error != 0 && stack_bytes >= ODI_STACK_HALVED);
    pthread_sigmask(SIG_SETMASK, &before, NULL);

    if (error != 0)
        free(it);
    return error;
}

int odi_thread_start(void (*body)(void *), void *argument, size_t stack_bytes,
                     const char *name)
{
    odi_baton *mine = odi_control_step_out();
    int error = odi_thread_start_as(NULL, body, argument, stack_bytes, name);

    odi_control_step_in(mine);
    return error;
}

int odi_thread_start_inside(void (*body)(void *), void *argument, size_t stack_bytes, const char *name)
{
    odi_baton *baton = odi_control_thread_new(name);
    odi_baton *mine = odi_control_step_out(); /* no step before the thread exists: it is ready already */
    int error = baton == NULL ? EAGAIN : odi_thread_start_as(baton, body, argument, stack_bytes, name);

    odi_control_step_in(mine);
    if (baton != NULL && error != 0)
        odi_control_thread_failed(baton);
    else if (baton != NULL)
        odi_control_step(OD_CONTROL_STARTS, NULL);
    return error;
}

void *odi_thread_stack_in_use(size_t *bytes)
{
    char *here = __builtin_frame_address(0);
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;

    *bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return NULL;
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    *bytes = (size_t)((char *)lowest + size - here);
    return here;
}

int odi_thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

/* Caches the answer, which takes two system calls. A forked child's only thread is its first. */
static _Thread_local enum { UNASKED, FIRST, LATER } place;

bool od_thread_is_main(void)
{
    if (place == UNASKED)
        place = getpid() == odi_thread_id() ? FIRST : LATER;
    return place == FIRST;
}

static void forget_place(void)
{
    place = UNASKED;
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(NULL, NULL, forget_place);
}

int odi_thread_cpu_clock(void)
{
    clockid_t clock;

    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (int)clock : -1;
}

int odi_thread_sleeps(int id)
{
    char path[64], text[256];

    if (ODI_UNLIKELY(odi_is_controlled()))
        return odi_control_sleeps(id);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return -1;
    text[length] = '\0';

    /* The name in brackets may hold any character, so the state follows the last bracket. */
    const char *state = strrchr(text, ')');
    if (state == NULL || state[1] != ' ')
        return -1;
    return state[2] == 'S' || state[2] == 'D';
}

int od_thread_cpu(void)
{
    return ODI_UNLIKELY(odi_is_controlled()) ? 0 : sched_getcpu();
}

bool odi_thread_lock_in_time(pthread_mutex_t *lock)
{
    enum { LOCK_ROUNDS = 1000 };
    bool taken = pthread_mutex_trylock(lock) == 0;

    for (int round = 0; !taken && round < LOCK_ROUNDS; round++) {
        odi_clock_sleep(ODI_MILLISECOND);
        taken = pthread_mutex_trylock(lock) == 0;
    }
    return taken;
}

void odi_thread_stand_back(void)
{
    enum { STEPS = 5 };
    id_t self = (id_t)odi_thread_id();

    errno = 0;
    int value = getpriority(PRIO_PROCESS, self); /* of this thread: Linux keeps it per thread */
    if (value != -1 || errno == 0)
        (void)setpriority(PRIO_PROCESS, self, value + STEPS);
}

void odi_thread_yield(void)
{
    if (ODI_LIKELY(!od_control_yield()))
        sched_yield();
}

void odi_thread_give_way(int round)
{
    if (round < YIELDS)
        sched_yield();
    else
        odi_clock_sleep(NAP_NS);
}
