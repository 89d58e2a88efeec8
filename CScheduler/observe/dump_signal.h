/* dump_signal.h — one signal, which OVERDRIVE_SIGNAL names, asks for a recording and a dump.
 *
 * The handler wakes a thread and then calls the handler that the program installed before. The thread writes the recording
 * and calls the layer above for the dump. Without the variable there is neither handler nor thread.
 *
 * The engine's other threads block the signal. This thread accepts it, in case the program's threads block it too.
 *
 * States   OFF -> ON    odi_dump_signal_from_environment, once in a process
 *          ON -> OFF    in a forked child, which gets the earlier handler back
 *
 * Owns     the handler and the thread.
 * Never    works in the handler, or knows pools.
 * Threads  from_environment: any, not under a lock. to: any. The handler: any.
 *
 * How the thread's wait ends: by the handler. The thread ends with the process.
 */
#ifndef ODI_OBSERVE_DUMP_SIGNAL_H
#define ODI_OBSERVE_DUMP_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* `name`: USR1 or SIGUSR1, USR2, QUIT, HUP, URG or WINCH. Call once in a process. False: why not is in `message`. */
bool odi_dump_signal_start(const char *name, char *message, size_t capacity);

/* As OVERDRIVE_SIGNAL says, once in a process. A value that cannot be used is told as a warning. */
void odi_dump_signal_from_environment(void);

/* From now on the thread calls `dump` for a signal. False: no signal is named. */
bool odi_dump_signal_to(void (*dump)(void));

/* Registered by the layer above: the dump while there is no other. */
extern void (*odi_dump_above)(void);

#pragma GCC visibility pop

#endif
