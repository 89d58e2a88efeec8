#include "base/invariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One write, so that sentences of several threads do not interleave. Nothing is allocated:
 * this runs when memory may be short. */
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
    (void)written; /* a closed stderr: there is nobody to tell */
}

void odi_trap(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    abort();
}

void odi_warn(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}
