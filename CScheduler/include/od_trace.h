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

OD_END_DECLS

#endif
