/* watchdog.h — a test program that hangs ends with a sentence instead. */
#ifndef SUPPORT_WATCHDOG_H
#define SUPPORT_WATCHDOG_H

#include "Support/check.h"

static char watchdog_sentence[512];

static inline void watchdog_bites(int signal)
{
    ssize_t written = write(STDOUT_FILENO, watchdog_sentence, strlen(watchdog_sentence));
    (void)written;
    abort(); /* with a core, so that a debugger shows where everybody is */
}

/* From now on the process has `seconds`; `doing` and `again` (how to repeat it) are said
 * when it needs more. Calling it again begins anew. */
static inline void watchdog_allow(unsigned seconds, const char *doing, const char *again)
{
    struct sigaction action = {.sa_handler = watchdog_bites};

    snprintf(watchdog_sentence, sizeof watchdog_sentence,
             "\nno end after %u s: %s\nto repeat: %s\n", seconds, doing, again);
    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
}

static inline int run_guarded(const char *file, int count, char **names)
{
    watchdog_allow(240, file, "the same program");
    return run_listed(file, count, names);
}

/* At the end of a unit test program: its tests behind a watchdog. */
#define GUARDED_PROGRAM                                                                   \
    int main(int count, char **names) { return run_guarded(__FILE__, count, names); }

#endif
