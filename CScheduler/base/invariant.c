/* invariant.c — messages on stderr: traps, which end the process, and warnings. Every folder calls these
 * functions. They allocate nothing and take no lock. */
#include "base/invariant.h"

#include "base/atomic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*taker)(const char *sentence);

static odi_atomic(taker) warnings_taker; /* NULL: write to stderr */

/* Writes one line with one system call, so that sentences of several threads do not interleave. Allocates
 * nothing, because memory may be exhausted. */
static void say(const char *format, va_list arguments)
{
    char line[512] = "overdrive: ";
    size_t used = strlen(line);
    int wanted = vsnprintf(line + used, sizeof line - used - 1, format, arguments);

    if (wanted > 0)
        used += (size_t)wanted < sizeof line - used - 1 ? (size_t)wanted
                                                        : sizeof line - used - 2;
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* stderr is closed: the line is lost */
}

void odi_trap(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    abort();
}

void odi_warn_to(void (*take)(const char *sentence))
{
    odi_store_relaxed(&warnings_taker, take); /* relaxed: the pointer to a function publishes no other data */
}

void odi_warn(const char *format, ...)
{
    taker take = odi_load_relaxed(&warnings_taker); /* relaxed: see odi_warn_to */
    va_list arguments;

    va_start(arguments, format);
    if (take == NULL) {
        say(format, arguments);
    } else {
        char sentence[512] = "";

        (void)vsnprintf(sentence, sizeof sentence, format, arguments);
        take(sentence);
    }
    va_end(arguments);
}
