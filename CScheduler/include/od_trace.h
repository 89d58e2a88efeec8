/* od_trace.h — a trace of what the schedulers of the process do, in a file that Perfetto opens. */
#ifndef OD_TRACE_H
#define OD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct {
    uint64_t events, lost, bytes;
} od_trace_report;

/* Begins a trace of all pools into a new file. The trace ends after `most_ns`, or when the file has `most_bytes`; 0 is
 * no limit. Returns false, with a sentence in `message`, if the file cannot be created or a trace is being written. A
 * forked child is not in its parent's trace. */
bool od_trace_start(const char *path, int64_t most_ns, uint64_t most_bytes, char *message, size_t capacity);

/* Ends the trace, and returns when its file is closed. Returns false if no trace was being written. `report` may be
 * NULL. */
bool od_trace_stop(od_trace_report *report);

typedef enum od_recording_status {
    OD_RECORDING_CONVERTED = 0,
    OD_RECORDING_UNREADABLE = 1,
    OD_RECORDING_INVALID = 2,
    OD_RECORDING_UNWRITTEN = 3
} od_recording_status;

/* Writes a recording into the directory of OVERDRIVE_RECORDER. It has the last events of every thread, and `reason`. Puts the
 * file's path into `text`. Returns false, with a sentence in `text`, if nothing is recorded or the file cannot be written.
 * A signal handler may call it. */
bool od_recording_save(const char *reason, char *text, size_t capacity);

/* Writes a recording if one is kept, and names its file on stderr. Call it before the process ends with this sentence. */
void od_recording_trapped(const char *sentence);

/* Converts a recording into a new trace file. `message` says why it cannot, or that the recording breaks off; otherwise it is
 * empty. */
od_recording_status od_recording_convert(const char *recording, const char *path, char *message, size_t capacity);

/* A trace that another process writes on request. */
typedef struct od_trace_remote od_trace_remote;

typedef enum od_trace_remote_status {
    OD_TRACE_REMOTE_WAITS = 0, /* the process has not answered yet */
    OD_TRACE_REMOTE_WRITES = 1,
    OD_TRACE_REMOTE_ENDED = 2,
    OD_TRACE_REMOTE_REFUSED = 3, /* the file cannot be created or written, or the process does not answer */
    OD_TRACE_REMOTE_GONE = 4     /* the process has ended */
} od_trace_remote_status;

/* Asks a process that publishes a page (od_top_publish) for a trace into a new file: FILE, FILE:10s or FILE:64M, where %p is
 * the process's number. The trace also ends with the calling process. Returns NULL, with a sentence in `message`, if the
 * process publishes no page, belongs to another user, or another process has asked for a trace of it. */
od_trace_remote *od_trace_remote_start(int process, const char *value, char *message, size_t capacity);

/* Asks for the trace's end. The file is complete at OD_TRACE_REMOTE_ENDED. */
void od_trace_remote_stop(od_trace_remote *remote);

/* Returns the state of the last request. The process looks for requests five times a second. `message` has a sentence if the
 * request is refused or the process has ended. */
od_trace_remote_status od_trace_remote_look(od_trace_remote *remote, od_trace_report *report, char *message, size_t capacity);

/* Frees the request. A trace that is being written ends. */
void od_trace_remote_close(od_trace_remote *remote);

OD_END_DECLS

#endif
