/* control_trap.c — writes the schedule of a controlled run when a thread of the run traps. The run that names a
 * trap_line installs the handlers and removes them at its end. The process then dies as it would without them. */
#include "os/control_run.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct sigaction before[SIGNALS]; /* of the run in progress: there is one at a time */

typedef struct {
    char text[512];
    size_t used;
} output;

static void flush(output *out)
{
    ssize_t written = write(STDERR_FILENO, out->text, out->used);

    (void)written; /* stderr is closed: the line is lost */
    out->used = 0;
}

static void put(output *out, const char *text, size_t length)
{
    if (out->used + length > sizeof out->text)
        flush(out);
    memcpy(out->text + out->used, text, length);
    out->used += length;
}

static void put_number(output *out, uint32_t number)
{
    char digits[10];
    size_t first = sizeof digits;

    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(out, digits + first, sizeof digits - first);
}

/* A signal handler calls it: the thread has the baton, so nobody writes the log. */
static void write_schedule(const od_control *control)
{
    output out = {.used = 0};
    bool first = true;

    for (const char *each = control->options.trap_line; *each != '\0'; each++)
        put(&out, each, 1);
    for (size_t i = 0; i < control->report.steps; i++) {
        const od_control_step *step = &control->log[i];

        if ((step->ready & (step->ready - 1)) == 0 || step->chosen == step->usual)
            continue;
        if (!first)
            put(&out, ",", 1);
        first = false;
        put_number(&out, step->decision);
        put(&out, ":", 1);
        put_number(&out, step->chosen);
    }
    put(&out, ".\n", 2);
    flush(&out);
}

void odi_control_traps_end(void)
{
    for (int i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &before[i], NULL);
}

/* The signal comes again when this returns, to the handler that was there before. */
static void on_trap(int number, siginfo_t *info, void *unused)
{
    /* A breakpoint of x86-64 does not come again: the processor is past its instruction. */
    bool sent = info->si_code <= 0 || number == SIGTRAP;

    (void)unused;
    odi_control_traps_end();
    if (odi_control_here != NULL && odi_control_here->control->options.trap_line != NULL)
        write_schedule(odi_control_here->control);
    if (sent)
        (void)raise(number);
}

void odi_control_traps_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &action, &before[i]);
}
