/* recorder.h — the last seconds of every thread's events, in memory, and files of them.
 *
 * With OVERDRIVE_RECORDER threads write events all the time, and no thread drains the rings. A recording is a file with
 * the rings as they are (recording.h). It is written at a trap, at a hang that the engine reports, or on request.
 *
 * Writing allocates nothing and waits for no lock longer than a second, so a signal handler may write.
 *
 * Owns     the folder's name and the buffer of a recording.
 * Never    changes a ring.
 * Threads  anyone. Lock order: recorder, registry; recorder, names.
 */
#ifndef ODI_OBSERVE_RECORDER_H
#define ODI_OBSERVE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Keeps events from now on. Files go into the folder and have the last `most_ns`. Call once in a process, before any trace.
 * False: why not is in `message`. */
bool odi_recorder_start(const char *folder, int64_t most_ns, char *message, size_t capacity);

/* Writes a new file. `reason`: one sentence. `text`: the file's path; if false is returned, why there is none. */
bool odi_recorder_save(const char *reason, char *text, size_t capacity);

/* Whether this process records. */
bool odi_recorder_is_on(void);

#pragma GCC visibility pop

#endif
