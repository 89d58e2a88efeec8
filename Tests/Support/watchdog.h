/* watchdog.h — ends a hanging test program with a message. */
#ifndef SUPPORT_WATCHDOG_H
#define SUPPORT_WATCHDOG_H

#include "Support/check.h"

static char watchdog_sentence[512];

static inline void watchdog_bites(int signal)
{
    ssize_t written = write(STDOUT_FILENO, watchdog_sentence, strlen(watchdog_sentence));
    (void)written;
    abort(); /* with a core file, so that a debugger shows all threads */
}

/* Allows the process `seconds` from now on. Afterwards it prints `doing` and `again` (the command to repeat
 * it) and aborts. Another call restarts the time. */
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

/* The main function of a unit test program, with a watchdog. */
#define GUARDED_PROGRAM                                                                   \
    int main(int count, char **names) { return run_guarded(__FILE__, count, names); }

#endif
