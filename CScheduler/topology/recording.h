/* recording.h — a machine's files in one text: for tests, and for reports from elsewhere.
 *
 * Owns     a parsed recording and its text; the sources made from it borrow both.
 * Never    touches a file. What is not in the recording is absent.
 * Threads  immutable once parsed.
 *
 * Format: lines before the first header are comments. A header names a file, and what
 * follows up to the next header is its content:
 *
 *     == /proc/self/cgroup       the content as it stands, with its last newline
 *     =- /proc/self/status       the content without its last newline
 *     =! /sys/fs/cgroup/cpu.max  a file that is there but may not be read
 *
 * Of two files with one name the first counts. Directories are what the names imply.
 */
#ifndef ODI_TOPOLOGY_RECORDING_H
#define ODI_TOPOLOGY_RECORDING_H

#include <stddef.h>

#include "os/source.h"

#pragma GCC visibility push(hidden)

typedef struct odi_recording odi_recording;

/* Copies and indexes a recording. NULL when it is none or memory is short; `problem` (may
 * be NULL) then holds one sentence. An empty text is a machine without files. */
odi_recording *odi_recording_parse(const char *text, size_t length, char *problem,
                                   size_t capacity);

/* NULL is allowed. */
void odi_recording_free(odi_recording *recording);

/* A source that reads the recording; not live. */
odi_source odi_recording_source(const odi_recording *recording);

#pragma GCC visibility pop

#endif
