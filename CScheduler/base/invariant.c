/* invariant.c — messages on stderr: traps, which end the process, and warnings. Every folder calls these
 * functions. They allocate nothing and take no lock. */
#include "base/invariant.h"

#include "base/atomic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*taker)(const char *sentence);

typedef void (*recorder)(const char *sentence, bool fatal);

static odi_atomic(taker) warnings_taker; /* NULL: write to stderr */
static odi_atomic(recorder) records;     /* NULL: nothing is recorded */

enum { SENTENCE_BYTES = 512 };

/* Writes one line with one system call, so that sentences of several threads do not interleave. Allocates
 * nothing, because memory may be exhausted. */
static void say(const char *sentence)
{
    char line[SENTENCE_BYTES];
    int wanted = snprintf(line, sizeof line - 1, "overdrive: %s", sentence);
    size_t used = (size_t)wanted < sizeof line - 2 ? (size_t)wanted : sizeof line - 2;

    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* stderr is closed: the line is lost */
}

static void warn(const char *sentence)
{
    taker take = odi_load_relaxed(&warnings_taker); /* relaxed: see odi_warn_to */

    if (take == NULL)
        say(sentence);
    else
        take(sentence);
}

#define FORMAT(sentence, format)                               \
    char sentence[SENTENCE_BYTES] = "";                        \
    va_list arguments;                                         \
    va_start(arguments, format);                               \
    (void)vsnprintf(sentence, sizeof sentence, format, arguments); \
    va_end(arguments)

void odi_trap(const char *format, ...)
{
    FORMAT(sentence, format);
    say(sentence);
    odi_write_recording(sentence, true);
    abort();
}

void odi_tell(const char *format, ...)
{
    FORMAT(sentence, format);
    say(sentence);
}

void odi_warn(const char *format, ...)
{
    FORMAT(sentence, format);
    warn(sentence);
}

void odi_warn_of_hang(const char *format, ...)
{
    FORMAT(sentence, format);
    warn(sentence);
    odi_write_recording(sentence, false);
}

void odi_warn_to(void (*take)(const char *sentence))
{
    odi_store_relaxed(&warnings_taker, take); /* relaxed: the pointer to a function publishes no other data */
}

void odi_recordings_to(void (*record)(const char *sentence, bool fatal))
{
    odi_store_relaxed(&records, record); /* relaxed: as above */
}

void odi_write_recording(const char *sentence, bool fatal)
{
    recorder record = odi_load_relaxed(&records); /* relaxed: as above */

    if (record != NULL)
        record(sentence, fatal);
}
