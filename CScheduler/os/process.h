/* process.h — the process's own state, which the engine's threads take over.
 *
 * A thread inherits CPU mask, nice value, policy and signal mask from its creator, which may be any
 * thread of the program. The engine's threads take the process's instead: the CPU mask that the main
 * thread had when the first pool was created, and the main thread's nice value and policy.
 *
 * Owns     the recorded mask, and the note that a thread is the engine's.
 * Never    narrows a thread: topology/placement and worker/assignment do.
 */
#ifndef ODI_OS_PROCESS_H
#define ODI_OS_PROCESS_H

#include <signal.h>
#include <stdbool.h>

#include "os/affinity.h"

#pragma GCC visibility push(hidden)

/* Records the main thread's CPU mask, once in a process. Later changes by the main thread are its own. */
void odi_process_record(void);

/* The calling thread is the engine's, and was created a moment ago: gives it the process's state. A state
 * that the kernel refuses is said once. */
void odi_process_adopt(void);

/* Notes that the calling thread's mask is a placement, if the thread is the engine's. */
void odi_process_note_placement(void);

/* Whether the calling thread is the engine's and was never placed: its mask is the process's. */
bool odi_process_mask_is_own(void);

/* The signals that the main thread blocks now. */
void odi_process_blocked(sigset_t *blocked);

#pragma GCC visibility pop

#endif
