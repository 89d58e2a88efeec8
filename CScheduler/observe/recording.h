/* recording.h — a file of the recorder: rings as they were in memory, and what their words mean.
 *
 *     header | texts | names | ring, events | ring, events … | end, static texts
 *
 * Numbers have the byte order of the machine. A file that breaks off has whole rings before its end.
 */
#ifndef ODI_OBSERVE_RECORDING_H
#define ODI_OBSERVE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/trace_writer.h"

#pragma GCC visibility push(hidden)

enum { ODI_RECORDING_VERSION = 1, ODI_RECORDING_STATICS = 64, ODI_RECORDING_REASON = 512 };
#define ODI_RECORDING_MAGIC "odrecrd"
#define ODI_RECORDING_RING "odrring"
#define ODI_RECORDING_END "odr-end"

typedef struct {
    char magic[8];
    uint32_t version, ticks; /* whether times are odi_clock_ticks */
    uint32_t texts, names;   /* so many follow */
    int64_t pid;
    uint64_t start_tick, tick; /* when the recorder began; the recording's moment */
    int64_t start_ns, ns;      /* the same in nanoseconds */
    odi_perfetto_times times;  /* of the recording's moment */
    char program[64], reason[ODI_RECORDING_REASON];
} odi_recording_header;

typedef struct {
    char magic[8];
    uint64_t events; /* so many follow */
    int64_t tid;
    char name[ODI_TRACE_THREAD_NAME];
} odi_recording_ring;

typedef struct {
    char magic[8];
    uint64_t texts; /* so many follow */
} odi_recording_end;

/* A text that events name by its address in the recorded process. */
typedef struct {
    uint64_t address;
    char text[ODI_TRACE_TEXT_BYTES];
} odi_recording_static;

typedef enum {
    ODI_RECORDING_CONVERTED,
    ODI_RECORDING_UNREADABLE,
    ODI_RECORDING_INVALID,
    ODI_RECORDING_UNWRITTEN
} odi_recording_status;

/* Writes the trace of a recording into a new file. `message`: why not, or a warning if the recording breaks off, or "". */
odi_recording_status odi_recording_convert(const char *recording, const char *path, char *message, size_t capacity);

#pragma GCC visibility pop

#endif
