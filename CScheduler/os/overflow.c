/* overflow.c — the SIGSEGV handler that reports stack overflows. Workers register their stacks at start. The
 * handler allocates nothing and takes no lock. */
#include "os/overflow.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"

enum { HANDLER_STACK = 32 * 1024 };

typedef struct {
    uintptr_t from, to;
} zone;

/* The handler may read only these words of its own thread. */
static _Thread_local zone below_the_stack __attribute__((tls_model("initial-exec")));
static _Thread_local void *handler_stack;

/* The arguments of `watch`. */
static odi_atomic(odi_overflow_test *) other_place;
static odi_atomic(const char *) other_sentence;

static struct sigaction before;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

static bool lies_in(zone place, uintptr_t address)
{
    return address >= place.from && address < place.to;
}

static void say(const char *sentence)
{
    ssize_t ignored = write(STDERR_FILENO, sentence, strlen(sentence));

    (void)ignored;
}

/* Returns the sentence for an address outside thread stacks, or NULL if it is unrelated. */
static const char *other_at(uintptr_t address)
{
    /* relaxed, both: constants; a late read misses the sentence only */
    const char *sentence = odi_load_relaxed(&other_sentence);
    odi_overflow_test *lies_there = odi_load_relaxed(&other_place);

    return sentence != NULL && lies_there != NULL && lies_there(address) ? sentence : NULL;
}

/* Whether a process or thread sent the signal, so that no access will be retried. */
static bool was_sent(const siginfo_t *info)
{
    return info->si_code <= 0;
}

/* Returns the sentence for a fatal access, or NULL if it is unrelated. */
static const char *sentence_about(const siginfo_t *info)
{
    uintptr_t address = (uintptr_t)info->si_addr;

    if (was_sent(info))
        return NULL;
    if (lies_in(below_the_stack, address))
        return "overdrive: a worker's stack is used up. Recurse less deeply, or give the "
               "Scheduler a larger stackSize.\n";
    return other_at(address);
}

/* Calls the previous handler, if there was one, as the kernel would. */
static bool call_before(int signal, siginfo_t *info, void *machine)
{
    static const struct sigaction fatal = {.sa_handler = SIG_DFL};
    bool takes_info = before.sa_flags & SA_SIGINFO;

    if (!takes_info && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
        return false;
    if (before.sa_flags & (int)SA_RESETHAND)
        sigaction(signal, &fatal, NULL);
    if (takes_info)
        before.sa_sigaction(signal, info, machine);
    else
        before.sa_handler(signal);
    return true;
}

static void on_fault(int signal, siginfo_t *info, void *machine)
{
    const char *sentence = sentence_about(info);

    if (sentence != NULL)
        say(sentence);
    else if (call_before(signal, info, machine))
        return;
    if (was_sent(info) && before.sa_handler == SIG_IGN)
        return;
    /* The access is retried and reaches the previous handler; a sent signal is sent again. */
    sigaction(signal, &before, NULL);
    if (was_sent(info))
        (void)raise(signal);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGSEGV, &action, &before);
}

void odi_overflow_watch(odi_overflow_test *lies_there, const char *sentence)
{
    /* relaxed, both: as in other_at */
    odi_store_relaxed(&other_place, lies_there);
    odi_store_relaxed(&other_sentence, sentence);
    pthread_once(&installed, install);
}

/* The guard is the area that glibc maps below the lowest address of a stack. */
static zone guard_of_this_thread(void)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0, guard = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return (zone){0, 0};
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    /* The version of glibc decides whether the guard counts as part of the stack. */
    return (zone){(uintptr_t)lowest - guard, (uintptr_t)lowest + guard};
}

void odi_overflow_begin(void)
{
    stack_t stack = {.ss_size = HANDLER_STACK};

    pthread_once(&installed, install);
    handler_stack = stack.ss_sp = malloc(HANDLER_STACK);
    if (handler_stack == NULL)
        return;
    if (sigaltstack(&stack, NULL) == 0)
        below_the_stack = guard_of_this_thread();
}

void odi_overflow_end(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};

    if (handler_stack != NULL) {
        (void)sigaltstack(&none, NULL);
        free(handler_stack);
        handler_stack = NULL;
    }
}
