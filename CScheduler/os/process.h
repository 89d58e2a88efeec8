/* process.h — process-wide attributes that the engine's threads take over.
 *
 * A thread inherits CPU mask, nice value, policy and signal mask from its creator, which may be any thread of
 * the program. The engine's threads take the process's attributes instead. These are the main thread's CPU
 * mask at the creation of the first pool, and the main thread's nice value and policy.
 *
 * A child that such a thread forks or spawns gets what a child of the main thread gets. For this, process.c defines
 * posix_spawn and posix_spawnp weakly, in front of the C library.
 *
 * Owns     the recorded mask, and the mark of the engine's threads.
 * Never    narrows a thread's mask: topology/placement and worker/assignment do.
 */
#ifndef ODI_OS_PROCESS_H
#define ODI_OS_PROCESS_H

#include <signal.h>
#include <stdbool.h>

#include "os/affinity.h"

#pragma GCC visibility push(hidden)

/* Records the main thread's CPU mask, once per process. Later changes affect the main thread only. */
void odi_process_record(void);

/* Gives the process's attributes to the calling thread, a new thread of the engine. A refusal by the kernel
 * is reported once. */
void odi_process_adopt(void);

/* Marks the calling thread's mask as a placement, if it is a thread of the engine. */
void odi_process_note_placement(void);

/* Whether the calling thread belongs to the engine and was never placed, so that its mask is the process's. */
bool odi_process_mask_is_own(void);

/* Reads the signals that the main thread blocks now. */
void odi_process_blocked(sigset_t *blocked);

#pragma GCC visibility pop

#endif
